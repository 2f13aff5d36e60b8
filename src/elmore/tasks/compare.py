"""The same task with different inputs, several seeds each: how much does ELMo help?

The result of each run is written as soon as it is done, so that a comparison that was stopped
resumes. All runs read the same tokens, and share one cache of the biLM's vectors.
"""

import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from elmore.checks import MAX_SEED, at_least
from elmore.errors import ConfigError, ElmoreError
from elmore.folders import as_json, new_file, write_json
from elmore.locks import LOCK, locked_folder
from elmore.metadata import read_metadata
from elmore.tasks.estimator import TaskModel
from elmore.tasks.examples import Examples
from elmore.tasks.fit import FitEvent, OnProgress

RESULTS, CACHE = "results.json", "cache"

VARIANTS: dict[str, dict[str, Any]] = {
    "static": {"elmo": None},
    "elmo": {"static": None},
    "static+elmo": {},
    "context": {"context_layer": True},
    "top": {"layers": "top"},
    "uniform": {"mix_l2": 1.0},
    "input": {"where": "input"},
    "output": {"where": "output"},
    "both": {"where": "both"},
    "adapted": {"adapt_epochs": 3.0},
    "fine-tuned": {"freeze": False},
    "adapted+fine-tuned": {"adapt_epochs": 3.0, "freeze": False},
}
"""The settings that each changes: static vectors alone, ELMo alone, both; then both with the states
that predict each word as one more layer of the mix, with the top layer only, with almost uniform
layer weights, with ELMo at the input of the RNN alone, at its output, and at both; then with a biLM
that has learned the training texts as a language model first, that is fine-tuned with the task, and
both."""

_NEED_STATIC = ("static", "static+elmo")
_RENAMED = {"even": "uniform"}  # variants of comparisons that earlier versions began


@dataclass(frozen=True)
class VariantRun:
    """One training run."""

    variant: str
    seed: Annotated[int, Meta(ge=0, le=MAX_SEED)]
    score: float
    """The best dev score."""
    n_epochs: int
    mixes: dict[str, dict[str, float]]
    """The learned weights of the layers and gamma, by where the mix is."""
    epochs_s: list[float] | None = None
    """Seconds of each epoch, with the scoring of the one before it; None: not measured."""
    before_s: float | None = None
    """Seconds before the first epoch: the biLM learns the texts, and reads what is not cached."""


class ResultsFile(Struct, frozen=True, forbid_unknown_fields=True):
    """results.json: what is compared, and the runs that are finished."""

    task: str
    settings: dict[str, Any]
    tokenizer: str
    elmo: dict[str, str] | None
    static: str | None
    examples: str
    """A hash of them."""
    n_train: int
    n_dev: int
    runs: list[VariantRun]
    inputs: list[dict[str, Any]] | None = None
    """Those of the list that all variants have."""
    checksum: str | None = None


@dataclass(frozen=True)
class VariantSummary:
    """All seeds of a variant."""

    variant: str
    scores: list[float]
    mean: float
    sd: float
    error_reduction: float | None
    """Relative to the baseline, the first variant; the mean over seeds."""
    error_reduction_sd: float | None


def compare(
    model: TaskModel,
    train: Examples,
    dev: Examples,
    folder: Path,
    *,
    variants: Sequence[str],
    n_seeds: int,
    on_progress: Callable[[str, int, FitEvent | None], None] = lambda variant, seed, event: None,
) -> list[VariantRun]:
    """Train every variant of `model` with every seed.

    `on_progress` is told the variant and the seed: without an event when a run begins, then with
    each event of its `fit`.
    """
    for variant in variants:
        if variant not in VARIANTS:
            raise ConfigError(f"no variant is called {variant!r}; known: {', '.join(VARIANTS)}")
        if model.static is None and variant in _NEED_STATIC:
            raise ConfigError(f"variant {variant!r} needs static vectors; name a file (--static)")
        if model.elmo is None and not model.inputs and variant != "static":
            raise ConfigError(f"variant {variant!r} needs a biLM; name a model (--elmo)")
    at_least(1, n_seeds=n_seeds)
    features = model.open_vectors()  # once for all runs, so that all have the same
    opened = {"static": features.static, "inputs": features.more}
    model = type(model)(**{**model.get_params(), **opened})
    train, dev = (model.tokenized(examples, features) for examples in (train, dev))
    facts = model.facts(features, train, dev)
    del facts["settings"]["seed"]
    asked = ResultsFile(**facts, n_train=len(train), n_dev=len(dev), runs=[])
    path = folder / RESULTS
    with locked_folder(folder):
        runs = _read(path, asked)
        for unfinished in (folder / CACHE).glob("*.part"):  # of a killed run
            unfinished.unlink()
        with _nothing_left(folder, runs):
            done = {(run.variant, run.seed) for run in runs}
            for seed in range(1, n_seeds + 1):
                for variant in variants:
                    if (variant, seed) in done:
                        continue
                    made = type(model)(**{
                        **model.get_params(), **VARIANTS[variant], "seed": seed,
                        "cache": folder / CACHE,
                    })  # fmt: skip
                    on_progress(variant, seed, None)
                    clock = _Clock(partial(on_progress, variant, seed))
                    made.fit(train, dev=dev, on_progress=clock.on_progress)
                    mixes = {place: mix.weights() for place, mix in made.mixes.items()}
                    progress = made.progress_
                    assert progress.best is not None
                    runs.append(
                        VariantRun(
                            variant, seed, progress.best, progress.epoch, mixes,
                            clock.epochs_s, clock.before_s,
                        )
                    )  # fmt: skip
                    write_json(path, msgspec.structs.replace(asked, runs=runs))
    return [run for run in runs if run.variant in variants and run.seed <= n_seeds]


class _Clock:
    """Measures the epochs of a fit by its events."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._on_progress = on_progress
        self._begin = time.perf_counter()
        self.before_s = 0.0
        self.epochs_s: list[float] = []

    def on_progress(self, event: FitEvent) -> None:
        now = time.perf_counter()
        if event.stage != "train":
            self.before_s += now - self._begin
            self._begin = now
        elif event.done == event.total:
            self.epochs_s.append(now - self._begin)
            self._begin = now
        self._on_progress(event)


@contextmanager
def _nothing_left(folder: Path, runs: Sequence[VariantRun]) -> Iterator[None]:
    """Remove what a comparison has written that is refused before its first run is finished."""
    try:
        yield
    except ElmoreError:
        if not runs:
            (folder / RESULTS).unlink()
            shutil.rmtree(folder / CACHE, ignore_errors=True)
        raise


def _read(path: Path, asked: ResultsFile) -> list[VariantRun]:
    """Return the finished runs, if they are of the same comparison; begin a new one."""
    if not path.exists():
        if {file.name for file in path.parent.iterdir()} - {LOCK, f"{path.name}.part"}:
            raise ConfigError(
                f"{path.parent} is not empty and holds no comparison; choose another --out"
            )
        write_json(path, asked)
        return []
    found = read_metadata(path, ResultsFile, fix="remove the folder to begin again")
    if not found.runs:
        write_json(path, asked)  # no run depends on what was asked before
        return []
    wanted = as_json(msgspec.to_builtins(asked))
    for name in ResultsFile.__struct_fields__:
        if name not in ("runs", "checksum") and getattr(found, name) != wanted[name]:
            raise ConfigError(
                f"{path} holds another comparison ({name} differs); choose another --out"
            )
    return [replace(run, variant=_RENAMED.get(run.variant, run.variant)) for run in found.runs]


def summarize(runs: Sequence[VariantRun]) -> list[VariantSummary]:
    """Return a summary of each variant, in their order; the first is the baseline."""
    by_variant: dict[str, dict[int, float]] = {}
    for run in runs:
        by_variant.setdefault(run.variant, {})[run.seed] = run.score
    first = next(iter(by_variant.values()))
    found = []
    for variant, scores in by_variant.items():
        reductions = [
            1 - (1 - score) / (1 - first[seed])
            for seed, score in scores.items()
            if scores is not first and first.get(seed, 1.0) < 1
        ]
        values = list(scores.values())
        found.append(
            VariantSummary(
                variant,
                values,
                statistics.mean(values),
                _sd(values),
                statistics.mean(reductions) if reductions else None,
                _sd(reductions) if reductions else None,
            )
        )
    return found


def _sd(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def draw(summaries: Sequence[VariantSummary], metric: str, path: Path) -> None:
    """Draw the scores of all variants with their spread."""
    from matplotlib.figure import Figure  # noqa: PLC0415  an extra

    figure = Figure(figsize=(1.6 + 1.1 * len(summaries), 3.6), layout="constrained")
    axes = figure.subplots()
    colors = ["#9aa5b1", *["#1b4f9c"] * (len(summaries) - 1)]
    means, spreads = [100 * s.mean for s in summaries], [100 * s.sd for s in summaries]
    axes.bar([s.variant for s in summaries], means, yerr=spreads, color=colors, capsize=4)
    lowest = min(mean - spread for mean, spread in zip(means, spreads, strict=True))
    axes.set_ylim(bottom=max(0.0, lowest - 5))
    axes.set_ylabel(f"{metric}, %")
    axes.grid(axis="y", alpha=0.3)
    with new_file(path) as beside:  # in the folder of the comparison
        figure.savefig(beside, dpi=130, format="png")
