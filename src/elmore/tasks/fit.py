"""The training loop of all tasks.

Adam, gradients clipped, the learning rate halved when the dev score stops improving, early
stopping, the best weights kept. A biLM that is fine-tuned learns more slowly than the task's own
weights, and its lower layers more slowly and later still. All randomness is a function of the seed
and the epoch, and a checkpoint is written after each epoch, so that a run that was stopped resumes
to the same result.
"""

import math
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from elmore.errors import DataError, FormatError
from elmore.folders import begin_job, is_format
from elmore.formats.arrays import check_arrays
from elmore.locks import locked_folder
from elmore.metadata import convert_metadata
from elmore.pretrain.checkpoint import (
    Checkpoint,
    read_checkpoint,
    remove_unfinished_checkpoint,
    write_checkpoint,
)
from elmore.tasks.encoded import EncodedExamples
from elmore.tasks.settings import FitConfig
from elmore.tasks.task import Batch

LAST, RUN = "last.safetensors", "run.json"
ADAPTED = "adapted"  # the folder in which the biLM learns the texts (adapt.py)
FORMAT = "elmore-fit-1"

_FEWEST_UPDATES = 20  # in an epoch, if batches of _SMALLEST_BATCH allow it
_SMALLEST_BATCH = 4
_EPOCHS_TO_HALVE = 2  # the learning rate, each time so many have brought no new best


@dataclass
class FitProgress:
    """How far a fit has come."""

    epoch: int = 0
    """Finished epochs."""
    best: float | None = None
    """The best dev score."""
    best_epoch: int = 0
    learning_rate: float = 0.0
    losses: list[float] = field(default_factory=list)
    """The mean loss of each epoch."""
    scores: list[float] = field(default_factory=list)
    """The dev score after each epoch."""


class FitEvent(NamedTuple):
    """How far one stage of a fit has come."""

    stage: Literal["adapt", "encode", "train"]
    """adapt: the biLM learns the texts; encode: a frozen biLM reads the sentences; train: an
    epoch."""
    done: int
    """Updates of the biLM, sentences, or batches of this epoch."""
    total: int
    loss: float | None = None
    """That of the last batch."""


OnProgress = Callable[[FitEvent], None]


def fit(
    network: Any,
    train: Callable[[str], EncodedExamples],
    score: Callable[[], float],
    config: FitConfig,
    *,
    folder: Path | None = None,
    on_progress: OnProgress = lambda event: None,
) -> FitProgress:
    """Train `network`, and leave the weights in it for which `score` was highest.

    `train` takes a seed, and returns what an epoch learns from.
    With a folder (`run_folder`), a checkpoint is kept there, and a run that was stopped resumes.
    """
    learner = _Learner(network, config)
    progress = FitProgress(learning_rate=config.learning_rate)
    best = _weights(network)
    if folder is not None and (folder / LAST).exists():
        progress, best = learner.load(read_checkpoint(folder / LAST), folder / LAST)
    while progress.epoch < config.n_epochs and (
        progress.epoch - progress.best_epoch < config.patience
    ):
        examples = train(f"{config.seed}/{progress.epoch}")
        progress.losses.append(learner.train_epoch(examples, progress, on_progress))
        progress.epoch += 1
        found = score()
        progress.scores.append(found)
        if not progress.best or found > progress.best:  # a score of 0 is no best yet
            progress.best, progress.best_epoch = found, progress.epoch
            best = _weights(network)
        elif (progress.epoch - progress.best_epoch) % _EPOCHS_TO_HALVE == 0:
            progress.learning_rate /= 2
        if folder is not None:
            write_checkpoint(folder / LAST, learner.checkpoint(progress, best))
    network.load_state_dict(best)
    network.eval()
    return progress


@contextmanager
def run_folder(folder: Path, facts: Mapping[str, Any]) -> Iterator[None]:
    """Lock the folder of a run's checkpoint; refuse that of a run with other `facts`."""
    with locked_folder(folder):
        begin_job(folder / RUN, {"format": FORMAT, **facts})
        try:
            yield
        finally:
            if not any((folder / name).exists() for name in (LAST, ADAPTED)):
                remove_run(folder)  # there is nothing to resume from


def remove_run(folder: Path) -> None:
    """Remove a run that is no longer needed, and nothing else that may be in its folder."""
    if is_format(folder / RUN, FORMAT):
        (folder / LAST).unlink(missing_ok=True)
        remove_unfinished_checkpoint(folder / LAST)
        shutil.rmtree(folder / ADAPTED, ignore_errors=True)
        (folder / RUN).unlink()  # last: without it, the rest would not be known as a run's
    with suppress(OSError):  # where something else is in it
        folder.rmdir()


def _weights(network: Any) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in network.state_dict().items()}


class _Learner:
    """A network and its optimizer."""

    def __init__(self, network: Any, config: FitConfig) -> None:
        self.network, self.config = network, config
        bilm = network.tokens.bilm_parameters()
        known = {id(weight) for layer in bilm for weight in layer}
        own = [p for p in network.parameters() if p.requires_grad and id(p) not in known]
        self.groups = [own, *bilm]
        self.parameters = [weight for group in self.groups for weight in group]
        self.optimizer = torch.optim.Adam([{"params": group} for group in self.groups])

    def train_epoch(
        self, train: EncodedExamples, progress: FitProgress, on_progress: OnProgress
    ) -> float:
        """Train on all examples once; return their mean loss."""
        config = self.config
        torch.manual_seed(1_000_003 * config.seed + progress.epoch)  # for dropout
        self.network.train()
        self._unfreeze(progress)
        few = max(_SMALLEST_BATCH, len(train) // _FEWEST_UPDATES)
        size = min(config.batch_size, few)
        batches = list(train.shuffled_batches(size, f"{config.seed}/{progress.epoch}"))
        total = 0.0
        for number, rows in enumerate(batches, start=1):
            loss = self._update(train.batch(rows), progress)
            total += loss * len(rows)
            on_progress(FitEvent("train", number, len(batches), loss))
        return total / len(train)

    def _unfreeze(self, progress: FitProgress) -> None:
        """Set each layer's learning rate, and whether it learns in this epoch.

        Discriminative fine-tuning and gradual unfreezing (Howard and Ruder 2018): the first epoch
        trains the task's own weights, each later one a layer more of the biLM, from the top.
        """
        config = self.config
        top = config.bilm_learning_rate * progress.learning_rate / config.learning_rate
        for depth, group in enumerate(self.optimizer.param_groups):
            rate = top / config.layer_decay ** (depth - 1) if depth else progress.learning_rate
            group["lr"] = rate
            for weight in group["params"]:
                weight.requires_grad_(config.unfreeze == "all" or depth <= progress.epoch)

    def _update(self, batch: Batch, progress: FitProgress) -> float:
        loss = self.network.loss(batch)
        self.optimizer.zero_grad()
        (loss + self.config.mix_l2 * self.network.tokens.penalty()).backward()
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.config.clip_norm)
        if not math.isfinite(loss.item() + norm.item()):
            smaller = " or bilm_learning_rate" if len(self.groups) > 1 else ""
            raise DataError(
                f"the loss is {loss.item()} and the gradient's norm {norm.item()} in epoch "
                f"{progress.epoch + 1}; start again with a smaller learning_rate{smaller}"
            )
        self.optimizer.step()
        return float(loss.item())

    def checkpoint(self, progress: FitProgress, best: dict[str, Tensor]) -> Checkpoint:
        """Return all that resuming needs."""
        tensors = {f"network.{name}": value for name, value in _weights(self.network).items()}
        tensors |= {f"best.{name}": value for name, value in best.items()}
        for number, state in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{name}": value for name, value in state.items()}
        arrays = {name: tensor.detach().numpy() for name, tensor in tensors.items()}
        return Checkpoint(arrays, asdict(progress))

    def load(self, checkpoint: Checkpoint, path: Path) -> tuple[FitProgress, dict[str, Tensor]]:
        """Restore a checkpoint; return the progress of the run and its best weights."""
        fix = "remove it to begin this run again"
        progress = convert_metadata(checkpoint.facts, FitProgress, path, at="facts", fix=fix)
        expected: dict[str, tuple[int, ...]] = {}
        for name, weight in self.network.state_dict().items():
            expected |= {
                f"network.{name}": tuple(weight.shape),
                f"best.{name}": tuple(weight.shape),
            }
        for place, parameter in enumerate(self.parameters):
            if f"optimizer.{place}.step" in checkpoint.arrays:  # one without a gradient has none
                shape = tuple(parameter.shape)
                state = {"step": (), "exp_avg": shape, "exp_avg_sq": shape}
                expected |= {f"optimizer.{place}.{name}": of for name, of in state.items()}
        found = {name: array.shape for name, array in checkpoint.arrays.items()}
        try:
            check_arrays(found, expected, path)
        except FormatError as error:
            raise FormatError(f"{error}, or {fix}") from None
        parts: dict[str, dict[str, Tensor]] = {"network": {}, "best": {}, "optimizer": {}}
        for name, array in checkpoint.arrays.items():
            part, _, rest = name.partition(".")
            parts[part][rest] = torch.from_numpy(array)
        self.network.load_state_dict(parts["network"])
        states: dict[int, dict[str, Tensor]] = {}
        for name, tensor in parts["optimizer"].items():
            number, _, rest = name.partition(".")
            states.setdefault(int(number), {})[rest] = tensor
        self.optimizer.load_state_dict({**self.optimizer.state_dict(), "state": states})
        return progress, parts["best"]
