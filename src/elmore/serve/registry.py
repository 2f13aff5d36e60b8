"""What a server has: models, indexes and tasks by name, loaded once, before it listens."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from elmore.embed import Elmo
from elmore.errors import ConfigError
from elmore.extras import import_with_torch
from elmore.senses.index import OccurrenceIndex
from elmore.serve.batching import Batcher
from elmore.serve.limits import Limits
from elmore.serve.metrics import Metrics
from elmore.serve.refusals import Refused

T = TypeVar("T")

SERVED_TASKS = ("classify", "tag", "pair")


@dataclass(frozen=True)
class ServedModel:
    """A model and the thread that runs it."""

    name: str
    elmo: Elmo
    batcher: Batcher


@dataclass(frozen=True)
class ServedIndex:
    """An index and the model that it was built with."""

    name: str
    index: OccurrenceIndex
    model: str
    elmo: Elmo
    """Tokenizes as the index was tokenized."""
    counts: dict[str, int]
    """How often each word occurs, the most frequent first."""


@dataclass(frozen=True)
class ServedTask:
    """A trained task and the thread that runs it."""

    name: str
    task: Any
    model: str | None
    batcher: Batcher


@dataclass(frozen=True)
class Registry:
    """All that a server has, by name."""

    models: dict[str, ServedModel]
    indexes: dict[str, ServedIndex]
    tasks: dict[str, ServedTask]

    @property
    def batchers(self) -> list[Batcher]:
        """All threads."""
        served: list[ServedModel | ServedTask] = [*self.models.values(), *self.tasks.values()]
        return [one.batcher for one in served]

    def model(self, name: str | None) -> ServedModel:
        """Return a model; None: the first."""
        return _find(self.models, next(iter(self.models)) if name is None else name, "model")

    def index(self, name: str) -> ServedIndex:
        """Return an index."""
        return _find(self.indexes, name, "index")

    def task(self, name: str) -> ServedTask:
        """Return a task."""
        return _find(self.tasks, name, "task")


def load_registry(
    models: Sequence[str],
    indexes: Sequence[str],
    tasks: Sequence[str],
    *,
    limits: Limits,
    metrics: Metrics,
) -> Registry:
    """Load everything; each is given as NAME=FOLDER, or as a folder (or a bundled model) alone."""
    if not models:
        raise ConfigError("there is no model to serve; name at least one")
    registry = Registry({}, {}, {})
    for name, source in _named(models, "model").items():
        elmo = _open_model(source, limits)
        registry.models[name] = serve_model(name, elmo, limits=limits, metrics=metrics)
    hashes = {one.elmo.model.fingerprint(): one for one in registry.models.values()}
    for name, folder in _named(indexes, "index").items():
        registry.indexes[name] = _load_index(name, folder, hashes)
    for name, folder in _named(tasks, "task").items():
        task, model = _load_task(name, folder, hashes, limits)
        batcher = _new_batcher(f"task {name}", limits, metrics)
        registry.tasks[name] = ServedTask(name, task, model, batcher)
    return registry


def serve_model(name: str, elmo: Elmo, *, limits: Limits, metrics: Metrics) -> ServedModel:
    """Give a model its thread."""
    metrics.watch_cache(name, lambda: len(elmo.cache))
    return ServedModel(name, elmo, _new_batcher(name, limits, metrics))


def _new_batcher(name: str, limits: Limits, metrics: Metrics) -> Batcher:
    batcher = Batcher(name, limits, metrics.on_batch(name))
    metrics.watch_queue(name, lambda: batcher.n_waiting)
    return batcher


def _load_index(name: str, folder: str, hashes: dict[str, ServedModel]) -> ServedIndex:
    index = OccurrenceIndex.load(folder)
    served = _model_of(f"index {name}", index.model.hash, index.model.source, hashes)
    return serve_index(name, index, served)


def serve_index(name: str, index: OccurrenceIndex, served: ServedModel) -> ServedIndex:
    """Give an index its model."""
    tokenizer = index.model.tokenizer
    index.check_model(served.elmo)
    # Where MeCab is missing, the model's own tokenizer has a stand-in, which does here too.
    is_own = tokenizer in (served.elmo.tokenizer.name, served.elmo.model.tokenizer)
    elmo = served.elmo if is_own else Elmo(served.elmo.model, tokenizer=tokenizer)
    counts = {word: len(index.rows(word)) for word in index.words}
    ordered = dict(sorted(counts.items(), key=lambda one: -one[1]))
    return ServedIndex(name, index, served.name, elmo, ordered)


def _open_model(source: str | Path, limits: Limits) -> Elmo:
    elmo = Elmo.from_pretrained(source, max_batch_tokens=limits.max_batch_tokens)
    elmo.encode_tokens([[]])  # the engine is made and compiled now, not by a request
    return elmo


def _load_task(
    name: str, folder: str, hashes: dict[str, ServedModel], limits: Limits
) -> tuple[Any, str | None]:
    catalogue = import_with_torch("elmore.tasks.catalogue", "serving a task", "tasks")
    from elmore.tasks.saved import adapted_bilm, read_task_config  # noqa: PLC0415

    content = read_task_config(Path(folder))
    if content.task not in SERVED_TASKS:
        raise ConfigError(
            f"the task {name} is of the kind {content.task!r}; a server takes "
            f"{', '.join(SERVED_TASKS)}"
        )
    cls = catalogue.TASKS[content.task].model
    if content.elmo is None:
        return cls.load(folder), None
    origin, adapted = content.elmo, adapted_bilm(Path(folder))
    if adapted is not None and origin.hash not in hashes:
        return cls.load(folder, elmo=_open_model(adapted, limits)), None
    served = _model_of(f"task {name}", origin.hash, origin.source, hashes)
    return cls.load(folder, elmo=served.elmo), served.name


def _model_of(
    what: str, hashed: str, source: str | None, hashes: dict[str, ServedModel]
) -> ServedModel:
    if hashed not in hashes:
        raise ConfigError(
            f"the {what} needs the model {source or 'it was made with'}, which is not served; "
            f"add --model {source or 'FOLDER'}"
        )
    return hashes[hashed]


def _named(given: Sequence[str], what: str) -> dict[str, str]:
    """Return what was given by name, which is the last part of the path if none is said."""
    found: dict[str, str] = {}
    for one in given:
        name, equals, source = one.partition("=")
        if not equals:
            name, source = one.rstrip("/").rpartition("/")[2], one
        if not re.fullmatch(r"[\w.-]+", name):
            raise ConfigError(
                f"{one!r} gives the {what} the name {name!r}; expected letters, digits, - . _: "
                "name it with NAME=FOLDER"
            )
        if name in found:
            raise ConfigError(f"two of them are the {what} {name!r}; name them with NAME=FOLDER")
        found[name] = source
    return found


def _find(found: dict[str, T], name: str, what: str) -> T:
    if name not in found:
        have = ", ".join(found) or "none"
        raise Refused(404, f"there is no {what} {name!r}; this server has {have}")
    return found[name]
