"""The training loop of pretraining.

In: a prepared corpus, a network and the training settings. Out: checkpoints, metrics and, at the
end, the weights with the best held-out perplexity. Stopped at any moment, it resumes to the very
same result: whatever an update needs is a function of its number or is in the checkpoint.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
import numpy.typing as npt

from elmore.corpus.manifest import Count
from elmore.corpus.shards import Corpus
from elmore.engine.parameters import Parameters, row_weights
from elmore.engine.training.optimizers import Optimizer
from elmore.engine.training.token_encoder import RowGradient
from elmore.errors import ConfigError, DataError
from elmore.formats import Pretrained
from elmore.kernels.gradients import norm
from elmore.kernels.library import Array
from elmore.metadata import convert_metadata
from elmore.pretrain.batches import Streams
from elmore.pretrain.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from elmore.pretrain.config import TrainingConfig
from elmore.pretrain.distributed import ProcessGroup
from elmore.pretrain.interrupts import stop_signal
from elmore.pretrain.learning_rate import learning_rate
from elmore.pretrain.metrics import Metrics, draw_curve
from elmore.pretrain.perplexity import Score, score_split
from elmore.pretrain.step import (
    DIRECTIONS,
    WORD_TABLE,
    Step,
    StreamState,
    TrainingStep,
    Update,
    zero_states,
)

LAST, BEST = "last.safetensors", "best.safetensors"
_CURVE_EVERY_S = 10


class LastFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers in the header of `LAST`."""

    update: Count
    n_since_best: Count
    held_out: Score | None
    best: Score | None
    best_update: Count | None
    """When `best` was measured; its weights are in `BEST`."""
    metrics_length: Count
    seconds: Annotated[float, msgspec.Meta(ge=0)]


class BestFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers in the header of `BEST`."""

    update: Count
    held_out: Score


@dataclass(frozen=True)
class Report:
    """The progress of a run after an update."""

    update: int
    """Updates done."""
    n_updates: int
    """Updates in all."""
    n_tokens: int
    """Tokens read in each direction."""
    losses: tuple[float, float]
    """Forward and backward loss of this update, by the (sampled) softmax of training."""
    learning_rate: float
    gradient_norm: float
    """Before clipping."""
    tokens_per_second: float
    held_out: Score | None
    """The last measurement."""


OnUpdate = Callable[[Report], None]
"""Is called after each update."""


class Trainer:
    """Trains a biLM on a corpus; files go to `folder`."""

    def __init__(
        self,
        model: Pretrained,
        corpus: Corpus,
        config: TrainingConfig,
        folder: Path,
        processes: ProcessGroup,
    ) -> None:
        """Take the initial model, whose arrays stay as they are."""
        shape = model.config
        self.corpus, self.config, self.folder, self.processes = corpus, config, folder, processes
        streams = processes.streams(config.batch_size)
        self.forward = Streams(corpus, config, "forward", streams)
        self.backward = Streams(corpus, config, "backward", streams)
        n_windows = config.n_epochs * self.forward.n_windows
        if config.accumulate > math.ceil(n_windows):
            raise DataError(
                f"accumulate is {config.accumulate}, and the run has {math.ceil(n_windows)} "
                "batches; accumulate fewer, or use more text or more epochs"
            )
        self.n_updates = max(1, int(n_windows / config.accumulate))
        arrays = {name: np.array(array, np.float32) for name, array in model.arrays.items()}
        self.parameters = Parameters(arrays, config.frozen)
        self.model = replace(model, arrays=self.parameters.arrays)
        """The model with the current weights."""
        self.step = _step(processes.device)(
            shape, self.parameters, config, corpus.id_encoder(shape, model.alphabet),
            unknown=corpus.unknown, streams=streams, gather=processes.gather,
        )  # fmt: skip
        self.weights = {
            "weights": self.parameters.values,
            **row_weights(self.parameters.arrays, config.frozen),
        }
        self.optimizer = Optimizer(self.weights, config.optimizer, weight_decay=config.weight_decay)
        self.states = zero_states(shape, streams.stop - streams.start)
        self.update = 0
        self.n_since_best = 0
        self.held_out: Score | None = None
        self.best: Score | None = None
        self.best_update: int | None = None
        self.seconds = 0.0
        self._next_curve_s = 0.0
        self._metrics_length = 0
        if (folder / LAST).exists():
            self._load(read_checkpoint(folder / LAST))
            if processes.is_first and self.update == self.best_update:
                self._keep_best()

    @property
    def tokens_per_update(self) -> int:
        """Tokens of an update in each direction, over all processes."""
        return self.config.batch_size * self.config.unroll_steps * self.config.accumulate

    @property
    def is_done(self) -> bool:
        """Whether training is complete or stopped early."""
        out_of_patience = 0 < self.config.patience <= self.n_since_best
        return out_of_patience or self.update >= self.n_updates

    def train(self, on_update: OnUpdate = lambda report: None) -> None:
        """Make the updates that are left."""
        metrics = Metrics(self.folder, self._metrics_length) if self.processes.is_first else None
        try:
            with stop_signal() as stopped:
                while not self.is_done:
                    started = time.perf_counter()
                    stop = self._make_update(metrics, on_update, stop=bool(stopped))
                    self.seconds += time.perf_counter() - started
                    if stop:
                        self._save(metrics)
                        raise KeyboardInterrupt(
                            f"{self.folder} holds all {self.update:,} updates; "
                            "the same command resumes from here"
                        )
            self._save(metrics)
        finally:
            if metrics is not None:
                metrics.close()

    def _make_update(self, metrics: Metrics | None, on_update: OnUpdate, *, stop: bool) -> bool:
        """Make one update; return whether any process received a stop signal."""
        started = time.perf_counter()
        first = self.update * self.config.accumulate
        windows = [
            (self.forward.window(number), self.backward.window(number))
            for number in range(first, first + self.config.accumulate)
        ]
        found = self.step(windows, self.states, self.update)
        losses, stop = self._agree(found, stop=stop)
        norm = self._norm(found)
        if not math.isfinite(sum(losses) + norm):
            raise _diverged(
                f"the loss is {sum(losses) / 2} and the gradient's norm {norm} at update "
                f"{self.update + 1}"
            )
        rate = learning_rate(self.config, self.update, self.n_updates)
        self._apply(found, norm, rate)
        self.states = found.states
        self.update += 1
        n_tokens = self.update * self.tokens_per_update
        speed = self.tokens_per_update / (time.perf_counter() - started)
        if metrics is not None:
            metrics.write(
                {
                    "update": self.update,
                    "tokens": n_tokens,
                    "forward_loss": losses[0],
                    "backward_loss": losses[1],
                    "learning_rate": rate,
                    "gradient_norm": norm,
                },
                speed=speed,
            )
        is_last = self.update >= self.n_updates
        if self.update % self.config.evaluate_every == 0 or is_last:
            self._evaluate(metrics)
        is_saved = self.update == self.best_update
        if self.update % self.config.checkpoint_every == 0 and not is_saved:
            self._save(metrics)
        on_update(
            Report(self.update, self.n_updates, n_tokens, losses, rate, norm, speed, self.held_out)
        )
        return stop

    def _agree(self, found: Update, *, stop: bool) -> tuple[tuple[float, float], bool]:
        """Sum the gradients of all processes; return the mean losses and whether one must stop."""
        shared = _numbers([*found.losses, float(stop)])
        self.processes.sum(shared)
        self.processes.sum(self.step.gradients.values)
        for gradient in found.rows.values():
            self.processes.sum(gradient.values)
        forward, backward = (shared[:2] / self.processes.size).tolist()
        return (forward, backward), bool(shared[2] > 0)

    def _norm(self, found: Update) -> float:
        gradients = self._gradients(found)
        return norm([gradients[name].values for name in self.weights])

    def _apply(self, found: Update, norm: float, rate: float) -> None:
        gradients = self._gradients(found)
        scale = min(1.0, self.config.clip_norm / norm) if norm else 1.0
        for name in self.weights:
            gradient, rows = gradients[name].values, gradients[name].rows
            of_name = rate * self.config.word_table_rate if name == WORD_TABLE else rate
            self.optimizer.update(
                name, gradient, rows, number=self.update, rate=of_name, scale=scale
            )

    def _gradients(self, found: Update) -> Mapping[str, RowGradient]:
        return {"weights": RowGradient(None, self.step.gradients.values), **found.rows}

    def _evaluate(self, metrics: Metrics | None) -> None:
        """Measure held-out perplexity in the first process, and share it with all.

        The best weights are written after the checkpoint of the same update: were they of a later
        one, a run that is resumed with another length would find a best that it never reached.
        """
        if not self.corpus.held_out.n_words:
            return
        shared = _numbers([0.0] * 5)
        if metrics is not None:
            shared = _numbers(list(asdict(self.score()).values()))
        n_predictions, n_unknown, n_words, forward, backward = self.processes.sum(shared).tolist()
        if not math.isfinite(forward + backward):
            raise _diverged(f"the held-out loss is {forward + backward} after update {self.update}")
        score = Score(int(n_predictions), int(n_unknown), int(n_words), forward, backward)
        self.held_out = score
        self.n_since_best += 1
        best = self.best
        if best is None or score.n_predictions != best.n_predictions or score.mean < best.mean:
            self.best, self.n_since_best = score, 0  # of other text: nothing to compare it with
            self.best_update = self.update
        if metrics is not None:
            metrics.write(
                {
                    "update": self.update,
                    "tokens": self.update * self.tokens_per_update,
                    "held_out_forward": score.forward,
                    "held_out_backward": score.backward,
                    "held_out_mean": score.mean,
                    "held_out_unknown_rate": score.unknown_rate,
                }
            )
            if self.seconds >= self._next_curve_s:  # a plot takes as long as many small updates
                draw_curve(self.folder)
                self._next_curve_s = self.seconds + _CURVE_EVERY_S
        if self.best is score:
            self._save(metrics)
            if metrics is not None:
                self._write_best()

    def _keep_best(self) -> None:
        """Write the best weights, which are the current ones, if a kill came before it."""
        path = self.folder / BEST
        if not path.exists() or read_checkpoint(path).facts.get("update") != self.update:
            self._write_best()

    def _write_best(self) -> None:
        assert self.best is not None
        facts = msgspec.to_builtins(BestFacts(self.update, self.best))
        write_checkpoint(self.folder / BEST, Checkpoint(self.parameters.arrays, facts))

    def score(self) -> Score:
        """Measure held-out perplexity with the current weights."""
        n_words = self.config.max_held_out_tokens
        return score_split(self.model, self.corpus, self.corpus.held_out, n_words)

    def _save(self, metrics: Metrics | None) -> None:
        """Write the last checkpoint, in the first process."""
        states = {
            f"state.{direction}.{name}": self.processes.gather(getattr(state, name), axis=1)
            for direction, state in zip(DIRECTIONS, self.states, strict=True)
            for name in ("h", "c")
        }
        if metrics is not None:
            arrays: Mapping[str, Array] = {
                **states,
                **{f"bilm.{name}": array for name, array in self.parameters.arrays.items()},
                **{f"optimizer.{name}": array for name, array in self.optimizer.state()},
            }
            facts = LastFacts(
                update=self.update,
                n_since_best=self.n_since_best,
                held_out=self.held_out,
                best=self.best,
                best_update=self.best_update,
                metrics_length=metrics.sync(),
                seconds=self.seconds,
            )
            write_checkpoint(self.folder / LAST, Checkpoint(arrays, msgspec.to_builtins(facts)))

    def _load(self, checkpoint: Checkpoint) -> None:
        path, arrays = self.folder / LAST, checkpoint.arrays
        facts = convert_metadata(checkpoint.facts, LastFacts, path)
        targets = {f"bilm.{name}": array for name, array in self.parameters.arrays.items()}
        targets |= {f"optimizer.{name}": array for name, array in self.optimizer.state()}
        expected = {name: (array.dtype, array.shape) for name, array in targets.items()}
        for direction, state in zip(DIRECTIONS, self.states, strict=True):
            for name, one in (("h", state.h), ("c", state.c)):
                n_layers, _, dim = one.shape
                shape = (n_layers, self.config.batch_size, dim)
                expected[f"state.{direction}.{name}"] = (one.dtype, shape)
        found = {name: (array.dtype, array.shape) for name, array in arrays.items()}
        if found != expected:
            raise ConfigError(
                f"{path} belongs to another network, batch_size or optimizer; choose another "
                "--out, or remove it to begin again"
            )
        for name, array in targets.items():
            array[...] = arrays[name]
        some = self.processes.streams(self.config.batch_size)
        forward, backward = (
            StreamState(*(arrays[f"state.{direction}.{name}"][:, some] for name in "hc"))
            for direction in DIRECTIONS
        )
        self.states = forward, backward
        self.update, self.n_since_best = facts.update, facts.n_since_best
        self.held_out, self.best = facts.held_out, facts.best
        self.best_update = facts.best_update
        self.seconds, self._metrics_length = facts.seconds, facts.metrics_length


def _step(device: str) -> Callable[..., Step]:
    """Return what computes gradients: kernels, or autograd on a GPU."""
    if device == "cpu":
        return TrainingStep
    from elmore.pretrain.autograd_step import AutogradStep  # noqa: PLC0415  needs torch

    return partial(AutogradStep, device=device)


def _numbers(numbers: list[float]) -> npt.NDArray[np.float64]:
    """Return numbers as an array that the processes can exchange."""
    return np.array(numbers, np.float64)


def _diverged(what: str) -> DataError:
    return DataError(
        f"{what}; begin again in another --out with a smaller learning_rate or a longer warm-up"
    )
