"""Text files in, a model folder out: the whole of `elmore pretrain`.

A run is a folder: corpus/ (shards and vocabulary), run.json (recipe, starting model, static
vectors), checkpoints, metrics.jsonl, curve.png, tensorboard/ and, when it is done, model/. The same
call on the same folder resumes where it stopped.
"""

import dataclasses
import json
import shutil
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from elmore.bilm_config import array_shapes
from elmore.corpus.files import fingerprint
from elmore.corpus.lines import MAX_LINE_BYTES
from elmore.corpus.manifest import MANIFEST, CorpusFile
from elmore.corpus.prepare import OnStage, prepare
from elmore.corpus.shards import Corpus
from elmore.errors import ConfigError
from elmore.folders import (
    is_format,
    read_json,
    remove_unfinished,
    replaced_folder,
    write_json,
)
from elmore.formats import Pretrained, write_native
from elmore.formats.arrays import check_arrays
from elmore.formats.native import CONFIG, FILES
from elmore.formats.native import FORMAT as MODEL_FORMAT
from elmore.locks import locked_folder
from elmore.metadata import convert_metadata
from elmore.pretrain.checkpoint import read_checkpoint, remove_unfinished_checkpoint
from elmore.pretrain.config import Recipe
from elmore.pretrain.distributed import ProcessGroup
from elmore.pretrain.initial_network import Start, fill, new_model
from elmore.pretrain.memory import check_memory
from elmore.pretrain.metrics import CURVE, METRICS, TENSORBOARD, draw_curve
from elmore.pretrain.perplexity import Score, calibration_of
from elmore.pretrain.recipes import (
    TABLES,
    RunFile,
    StaticRecord,
    read_run,
    recipe_to,
    static_name,
)
from elmore.pretrain.static_start import (
    SKIPGRAM,
    STATIC,
    describe_static,
    prepare_static,
)
from elmore.pretrain.trainer import BEST, LAST, BestFacts, OnUpdate, Trainer
from elmore.static import StaticVectors
from elmore.stores import AnyPath, as_paths

CORPUS, MODEL, RUN = "corpus", "model", "run.json"

# All that a run writes and replaces; its corpus is never replaced.
_WRITTEN = (
    MODEL, RUN, LAST, BEST, METRICS, CURVE, TENSORBOARD, STATIC, SKIPGRAM,
)  # fmt: skip

# The length of a run and how it is measured: these may change when it is resumed.
_MAY_CHANGE = (
    "n_epochs", "decay_steps", "patience", "evaluate_every", "max_held_out_tokens",
    "checkpoint_every",
)  # fmt: skip


@dataclass(frozen=True)
class PretrainResult:
    """The result of a training run."""

    model: Pretrained
    """With the weights of the best held-out perplexity, or the last without held-out text."""
    held_out: Score | None
    """The perplexity of these weights."""
    seconds: float
    """Spent on training, over all calls."""


def pretrain(
    paths: Sequence[str | AnyPath],
    folder: str | Path,
    recipe: Recipe,
    *,
    start: Start | None = None,
    n_processes: int = 1,
    max_line_bytes: int = MAX_LINE_BYTES,
    on_progress: OnStage = lambda stage, n_words: None,
    on_update: OnUpdate = lambda report: None,
) -> PretrainResult:
    """Train a biLM on the text in `paths`, or resume the run in `folder`.

    `on_progress` follows the preparation of the text, `on_update` the training.
    """
    if recipe.static.static is not None and start is not None and not start.new_vocabulary:
        raise ConfigError(
            "with --from, --static gives vectors to words that are new to the model; "
            "add --new-vocabulary"
        )
    texts, folder = as_paths(paths), Path(folder)
    processes = ProcessGroup()
    try:
        with locked_folder(folder) if processes.is_first else nullcontext():
            corpus = None
            if processes.is_first:
                corpus = prepare_run(
                    texts, folder, recipe, start, n_processes=n_processes,
                    max_line_bytes=max_line_bytes, on_progress=on_progress,
                )  # fmt: skip
            processes.wait()
            corpus = corpus or Corpus.load(folder / CORPUS)
            if start is None:
                check_memory(recipe.bilm_config(len(corpus.vocab)))
            model = new_model(recipe, corpus.vocab, start)
            if recipe.static.static is not None:
                fill(model, corpus, recipe, start, StaticVectors.load(folder / STATIC))
            trainer = Trainer(model, corpus, recipe.training, folder, processes)
            trainer.train(on_update)
            run = _finish(trainer, recipe)
            if processes.is_first:
                _write_model(run.model, folder / MODEL)
                draw_curve(folder)
            processes.wait()
            return run
    finally:
        processes.close()


def recipe_of_run(folder: Path) -> str | None:
    """Return the file with the recipe of the run in `folder`, None if there is no run."""
    path = folder / RUN
    is_run = path.is_file() and {"recipe", "start"} <= read_json(path).keys()
    return str(path) if is_run else None


def _check_is_run(folder: Path) -> None:
    """Refuse a folder in which a run would overwrite files that no run made."""
    if recipe_of_run(folder) is not None:
        model = folder / MODEL
        is_own = not model.is_symlink() and is_format(model / CONFIG, MODEL_FORMAT)
        names = [MODEL] if model.exists() and not is_own else []
    else:
        names = [name for name in _WRITTEN if (folder / name).exists()]
    if names:
        raise ConfigError(
            f"{folder} holds {', '.join(names)}, which no training run made; move it, or choose "
            "another --out"
        )


def prepare_run(
    paths: Sequence[AnyPath],
    folder: Path,
    recipe: Recipe,
    start: Start | None,
    *,
    n_processes: int,
    max_line_bytes: int,
    on_progress: OnStage,
) -> Corpus:
    """Prepare or load the corpus of a run; refuse other settings than it was begun with."""
    remove_unfinished(folder / MODEL)  # by a run that was killed, as others below
    _check_is_run(folder)
    path = folder / RUN
    begun = read_run(path) if path.exists() else None
    content = RunFile(
        recipe=_as_json(recipe_to(recipe)),
        start=start.model.fingerprint() if start else None,
        static=_describe_static(recipe, begun),
    )
    has_checkpoint = (folder / LAST).exists()  # until then nothing depends on run.json
    if begun and (has_checkpoint or not paths):
        _check_same(begun, content, folder)
    for made in (CORPUS, STATIC):
        remove_unfinished(folder / made)
    for made in (LAST, BEST):
        remove_unfinished_checkpoint(folder / made)
    vocab = start.model.vocab if start and not start.new_vocabulary else None
    if begun and not paths:
        corpus = Corpus.load(folder / CORPUS)  # only resuming
    elif not paths:
        raise ConfigError(f"{folder} holds no run to resume; name text files to begin one")
    else:
        corpus = prepare(
            paths, folder / CORPUS, recipe.corpus, vocab=vocab, n_processes=n_processes,
            max_line_bytes=max_line_bytes, on_progress=on_progress,
        )  # fmt: skip
    if content.static is not None:
        manifest = CorpusFile(**fingerprint(folder / CORPUS / MANIFEST))
        content = msgspec.structs.replace(content, corpus=manifest)
    if not has_checkpoint and not _is_same_static(begun, content):
        for made in (STATIC, SKIPGRAM):
            shutil.rmtree(folder / made, ignore_errors=True)
    write_json(path, content)
    prepare_static(
        corpus, folder, recipe.static, seed=recipe.training.seed, on_progress=on_progress
    )
    return corpus


def _describe_static(recipe: Recipe, begun: RunFile | None) -> StaticRecord | None:
    """Describe the static vectors, by run.json if the file is gone since."""
    name, before = recipe.static.static, begun and begun.static
    if name and before and before.name == static_name(name) and not Path(name).exists():
        return before
    return describe_static(recipe.static)


def _check_same(begun: RunFile, wanted: RunFile, folder: Path) -> None:
    """Refuse to resume with another recipe than the one that the run was begun with."""
    if begun.start != wanted.start:
        raise ConfigError(
            f"{folder} was begun from another model; choose another --out, or remove it"
        )
    if begun.static != wanted.static:
        raise ConfigError(
            f"{folder} was begun with other static vectors; choose another --out, or give the same"
        )
    for table, fields in wanted.recipe.items():
        # A run of an earlier version does not have newer fields.
        recipe = _defaults(table) | begun.recipe.get(table, {})
        for name, value in fields.items():
            before = recipe.get(name)
            if before != value and name not in _MAY_CHANGE:
                raise ConfigError(
                    f"{folder} was begun with {name} = {before}, now it is {value}; choose "
                    "another --out, or the same settings to resume"
                )


def _is_same_static(begun: RunFile | None, wanted: RunFile) -> bool:
    """Return whether the static vectors of a run are the ones that are wanted."""
    if begun is None:
        return False
    deciding = [
        (content.static, content.corpus, content.recipe.get("static"), _seed(content))
        for content in (begun, wanted)
    ]
    return deciding[0] == deciding[1]


def _seed(content: RunFile) -> Any:
    """Return the random seed, which is skip-gram's too."""
    return content.recipe.get("training", {}).get("seed")


def _defaults(table: str) -> dict[str, Any]:
    """Return the fields of a recipe's table that have a default, as JSON has them."""
    fields = dataclasses.fields(TABLES[table])
    return {
        field.name: _as_json(field.default)
        for field in fields
        if field.default is not dataclasses.MISSING
    }


def _as_json(value: Any) -> Any:
    """Return a value as JSON reads it back: a tuple is a list."""
    return json.loads(json.dumps(value))


def _finish(trainer: Trainer, recipe: Recipe) -> PretrainResult:
    """Load the best weights, and describe them."""
    best = trainer.folder / BEST
    update, score = trainer.update, trainer.held_out
    if trainer.best is not None and best.exists():
        checkpoint = read_checkpoint(best, fix="remove it to have the last weights instead")
        facts = convert_metadata(checkpoint.facts, BestFacts, best)
        check_arrays(
            {name: array.shape for name, array in checkpoint.arrays.items()},
            array_shapes(trainer.model.config),
            best,
        )
        for name, array in trainer.parameters.arrays.items():
            array[...] = checkpoint.arrays[name]
        update, score = facts.update, facts.held_out
    training: dict[str, Any] = {
        "recipe": recipe_to(recipe),
        "updates": update,
        "tokens": update * trainer.tokens_per_update,
        "training_words": trainer.corpus.training.n_words,
        "texts": trainer.corpus.text_names,
    }
    if (static := read_run(trainer.folder / RUN).static) is not None:
        training["static"] = msgspec.to_builtins(static)
    if score is not None:
        training["held_out"] = {
            "softmax": "full",
            "forward_perplexity": score.forward,
            "backward_perplexity": score.backward,
            "mean_perplexity": score.mean,
            "unknown_rate": score.unknown_rate,
            "predictions": score.n_predictions,
        }
    model = replace(trainer.model, training=training)
    model = replace(model, calibration=calibration_of(model, trainer.corpus))
    return PretrainResult(model, score, trainer.seconds)


def _write_model(model: Pretrained, folder: Path) -> None:
    """Write the model folder, replacing an earlier one of the same run but for a user's files."""
    _check_is_run(folder.parent)  # again: training is long
    with replaced_folder(folder, FILES) as beside:
        write_native(model, beside)
