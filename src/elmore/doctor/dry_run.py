"""Some sentences of a text and a recipe in, the time that training takes on this machine out.

A few updates of the training loop itself are timed, on a network with random weights, and its own
measurement on held-out text. Where a whole update would take too long, windows of fewer steps are
timed: the time of an update is linear in its steps.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from elmore.corpus.manifest import SplitRecord
from elmore.corpus.prepare import OnStage
from elmore.corpus.shards import Corpus
from elmore.corpus.word_ids import Numbering
from elmore.doctor.corpus_stats import CorpusStats, n_tokens
from elmore.doctor.cost import TrainingState
from elmore.pretrain.batches import Streams
from elmore.pretrain.checkpoint import Checkpoint, write_checkpoint
from elmore.pretrain.config import Recipe, TrainingConfig
from elmore.pretrain.distributed import ProcessGroup
from elmore.pretrain.initial_network import new_model
from elmore.pretrain.trainer import Trainer

_NEVER = 10**9
_MOST_UPDATES = 20
_FEW_STEPS = 3
_MOST_BYTES = 2**26  # written to time the disk


@dataclass(frozen=True)
class Pace:
    """The times of the parts of a training run, in seconds."""

    update_s: float
    evaluation_s: float
    """A measurement on the held-out text, and the checkpoint of the best weights."""
    checkpoint_s: float
    numbering_s: float
    """All of the text."""


class _DryRunTrainer(Trainer):
    """A trainer that makes single updates and writes nothing."""

    def update_s(self) -> float:
        """Make an update; return its time."""
        started = time.perf_counter()
        self._make_update(None, lambda report: None, stop=False)
        return time.perf_counter() - started

    def score_s(self, max_tokens: int) -> tuple[int, float]:
        """Measure some of the held-out text; return the number of predictions and the time."""
        self.config = replace(self.config, max_held_out_tokens=max_tokens)
        started = time.perf_counter()
        n_predictions = self.score().n_predictions
        return n_predictions, time.perf_counter() - started


class DryRun:
    """Timed training steps on a corpus of sentences from all over the text."""

    def __init__(self, text: CorpusStats, folder: Path, min_tokens: int) -> None:
        """Take the sampled sentences, repeated until they have `min_tokens` tokens."""
        n_sampled = sum(map(n_tokens, text.training_sample))
        training = [*text.training_sample] * -(-min_tokens // n_sampled)
        started = time.perf_counter()
        numbering = Numbering(text.vocab, folder, lambda n_words: None)
        splits = (
            _number(numbering, folder, "train", training),
            _number(numbering, folder, "held-out", text.held_out_sample),
        )
        seconds = time.perf_counter() - started
        self.folder, self.corpus = folder, Corpus(folder, text.vocab, *splits)
        n_words = self.corpus.training.n_words + self.corpus.held_out.n_words
        self.numbering_s = seconds * text.n_words / n_words
        self.n_held_out_words = text.n_held_out_words

    def n_window_words(self, config: TrainingConfig) -> int:
        """Return the number of distinct words in a window of both directions."""
        forward = Streams(self.corpus, config, "forward").window(0)
        backward = Streams(self.corpus, config, "backward").window(0)
        return len(np.union1d(forward.inputs, backward.inputs))

    def measure(
        self, recipe: Recipe, state: TrainingState, seconds: float, on_progress: OnStage
    ) -> Pace:
        """Time each part, in about so many seconds."""
        model = new_model(recipe, self.corpus.vocab, None)

        def trainer(n_steps: int) -> _DryRunTrainer:
            config = replace(
                recipe.training, unroll_steps=n_steps, accumulate=1, n_epochs=1e6,
                patience=0, evaluate_every=_NEVER, checkpoint_every=_NEVER,
            )  # fmt: skip
            return _DryRunTrainer(model, self.corpus, config, self.folder, ProcessGroup())

        n_unrolled = recipe.training.unroll_steps
        update_s = per_step_s = _median_s(trainer(1), seconds / 10, on_progress)
        n_steps = min(n_unrolled, max(_FEW_STEPS, int(seconds / 6 / update_s)))
        if n_steps > 1:
            one_step_s, update_s = update_s, _median_s(trainer(n_steps), seconds / 2, on_progress)
            per_step_s = max(0.0, update_s - one_step_s) / (n_steps - 1)
        write_s = self._write_s(min(_MOST_BYTES, state.weights))
        last = state.weights + state.optimizer + state.states
        return Pace(
            update_s=update_s + per_step_s * (n_unrolled * recipe.training.accumulate - n_steps),
            evaluation_s=self._evaluation_s(trainer(1), seconds / 4, state.weights * write_s),
            checkpoint_s=last * write_s,
            numbering_s=self.numbering_s,
        )

    def _evaluation_s(self, trainer: _DryRunTrainer, limit_s: float, write_s: float) -> float:
        """Return the time of a measurement on the held-out text, extrapolated from parts of it."""
        n_all = min(trainer.config.max_held_out_tokens, self.n_held_out_words)
        if not n_all:
            return 0.0
        trainer.score_s(1)
        first, first_s = n, n_s = trainer.score_s(1)
        asked, spent = 64, first_s
        while n < n_all and n_s < limit_s / 8 and asked < 8 * n_all and spent < limit_s:
            n, n_s = trainer.score_s(min(asked, n_all))
            spent += n_s
            asked *= 8
        per_token = max(0.0, n_s - first_s) / (n - first) if n > first else n_s / n
        return n_s + per_token * max(0, n_all - n) + write_s

    def _write_s(self, n_bytes: int) -> float:
        """Return the time that a byte of a checkpoint takes."""
        path = self.folder / "written.safetensors"
        started = time.perf_counter()
        write_checkpoint(path, Checkpoint({"zeros": np.zeros(n_bytes // 4 or 1, np.float32)}, {}))
        seconds = time.perf_counter() - started
        path.unlink()
        return seconds / n_bytes


def _median_s(trainer: _DryRunTrainer, limit_s: float, on_progress: OnStage) -> float:
    """Return the median time of the updates that fit into the limit, at least one."""
    trainer.update_s()  # warm-up
    found: list[float] = []
    while not found or (len(found) < _MOST_UPDATES and sum(found) < limit_s):
        found.append(trainer.update_s())
        on_progress("try", trainer.tokens_per_update)
    return median(found)


def _number(
    numbering: Numbering, folder: Path, name: str, sentences: Sequence[bytes]
) -> SplitRecord:
    path = folder / f"{name}.txt"
    path.write_bytes(b"".join(sentence + b"\n" for sentence in sentences))
    return numbering.write(path, name)
