"""The learning rate of each update: a warm-up, a constant phase, a decay."""

import math

from elmore.pretrain.config import TrainingConfig


def learning_rate(config: TrainingConfig, number: int, n_updates: int) -> float:
    """Return the learning rate of update `number` (from 0) of `n_updates`."""
    if number < config.warmup_steps:
        return config.learning_rate * (number + 1) / config.warmup_steps
    n_decay = n_updates - config.warmup_steps
    if config.decay_steps:
        n_decay = min(n_decay, config.decay_steps)
    done = max(0, number - (n_updates - n_decay)) / max(1, n_decay)
    left = {"none": 1.0, "linear": 1 - done, "cosine": (1 + math.cos(math.pi * done)) / 2}
    return config.learning_rate * left[config.decay]
