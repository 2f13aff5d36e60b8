"""Text files in, a model folder out: the whole of `elmore pretrain`.

A run is a folder: corpus/ (shards and vocabulary), run.json (what decides the result), checkpoints,
metrics.jsonl, curve.png, tensorboard/ and, when it is done, model/. The same call on the same
folder goes on where it stopped.
"""

import dataclasses
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from elmore.errors import ConfigError, FormatError
from elmore.folders import is_format, read_json, remove_unfinished, write_json
from elmore.formats import Pretrained, write_native
from elmore.formats.checkpoint import read_checkpoint
from elmore.formats.native import CONFIG
from elmore.formats.native import FORMAT as MODEL_FORMAT
from elmore.locks import locked_folder
from elmore.model import BiLM, BiLMConfig, CharCnnConfig, LstmConfig
from elmore.model.softmax import Softmax
from elmore.pretrain.config import Recipe
from elmore.pretrain.loop import BEST, LAST, Report, Trainer
from elmore.pretrain.metrics import CURVE, METRICS, TENSORBOARD, draw_curve
from elmore.pretrain.perplexity import Score
from elmore.pretrain.prepare import Progress, prepare
from elmore.pretrain.processes import Processes
from elmore.pretrain.recipes import read_recipe, recipe_to
from elmore.pretrain.shards import Corpus
from elmore.text import Vocab

CORPUS, MODEL, NEW_MODEL, RUN = "corpus", "model", "model.new", "run.json"

# All that a run writes and replaces, apart from its corpus, which is never replaced.
_WRITTEN = (MODEL, NEW_MODEL, RUN, LAST, BEST, METRICS, CURVE, TENSORBOARD)

# These decide how long a run is and how it is watched; to change them is to go on differently.
_MAY_CHANGE = ("n_epochs", "patience", "evaluate_every", "max_held_out_tokens", "checkpoint_every")


@dataclass(frozen=True)
class Run:
    """What a training run came to."""

    model: Pretrained
    """With the weights that did best on the held-out text, or the last where there is none."""
    held_out: Score | None
    """How well they did."""
    seconds: float
    """Spent on training, over all calls."""


@dataclass(frozen=True)
class Start:
    """A trained model to go on from."""

    model: Pretrained
    new_vocabulary: bool = False
    """Whether the softmax gets the words of the new text; rows of known words are kept."""


def pretrain(
    paths: Sequence[Path],
    folder: Path,
    recipe: Recipe,
    *,
    start: Start | None = None,
    n_processes: int = 1,
    progress: Progress = lambda stage, n_words: None,
    tell: Callable[[Report], None] = lambda report: None,
) -> Run:
    """Train a biLM on the text in `paths`, or go on with the run in `folder`."""
    processes = Processes()
    try:
        with locked_folder(folder) if processes.is_first else nullcontext():
            if processes.is_first:
                prepare_run(
                    paths, folder, recipe, start, n_processes=n_processes, progress=progress
                )
            processes.wait()
            corpus = Corpus.open(folder / CORPUS)
            bilm = new_bilm(recipe, corpus.vocab, start)
            trainer = Trainer(bilm, corpus, recipe.training, folder, processes)
            trainer.train(tell)
            run = _finish(trainer, recipe)
            if processes.is_first:
                _write_model(run.model, folder / MODEL)
                if find_spec("matplotlib"):  # an extra
                    draw_curve(folder)
            processes.wait()
            return run
    finally:
        processes.close()


def _check_ours(folder: Path) -> None:
    """Refuse a folder in which a run would overwrite what is not its own."""
    begun = folder / RUN
    if begun.exists() and {"recipe", "start"} <= read_json(begun).keys():
        names = [
            name
            for name in (MODEL, NEW_MODEL)
            if (folder / name).exists() and not is_format(folder / name / CONFIG, MODEL_FORMAT)
        ]
    else:
        names = [name for name in _WRITTEN if (folder / name).exists()]
    if names:
        raise ConfigError(
            f"{folder} holds {', '.join(names)}, which no training run made; move it, or choose "
            "another --out"
        )


def prepare_run(
    paths: Sequence[Path],
    folder: Path,
    recipe: Recipe,
    start: Start | None,
    *,
    n_processes: int,
    progress: Progress,
) -> Corpus:
    """Make or find the corpus of a run, and see that the run is the one that was begun."""
    _check_ours(folder)
    begun = folder / RUN
    content = {
        "recipe": recipe_to(recipe),
        "start": start and start.model.fingerprint(),
    }
    if begun.exists() and (folder / LAST).exists():  # until then nothing depends on it
        _check_same(read_json(begun), content, folder)
    for made in (CORPUS, NEW_MODEL):
        remove_unfinished(folder / made)  # by a run that was killed
    vocab = start.model.vocab if start and not start.new_vocabulary else None
    if not paths and (folder / CORPUS).is_dir():
        corpus = Corpus.open(folder / CORPUS)  # only going on
    else:
        corpus = prepare(
            paths, folder / CORPUS, recipe.corpus, vocab=vocab, n_processes=n_processes,
            progress=progress,
        )  # fmt: skip
    write_json(begun, content)
    return corpus


def new_bilm(recipe: Recipe, vocab: Vocab, start: Start | None) -> BiLM:
    """Draw a network by the recipe's seed, or take a trained one with the rows that it needs."""
    torch.manual_seed(recipe.training.seed)
    if start is None:
        return BiLM(BiLMConfig(recipe.token_encoder, recipe.lstm, len(vocab)))
    trained = start.model.bilm
    assert isinstance(trained.config.token_encoder, CharCnnConfig)
    bilm = BiLM(dataclasses.replace(trained.config, n_softmax_words=len(vocab)))
    weights = {
        name: tensor
        for name, tensor in trained.state_dict().items()
        if not name.startswith("softmax.")
    }
    bilm.load_state_dict(weights, strict=False)
    if trained.softmax is not None and start.model.vocab is not None:
        _take_rows(bilm.softmax, vocab, trained.softmax, start.model.vocab)
    return bilm


def _take_rows(softmax: Softmax | None, vocab: Vocab, old: Softmax, old_vocab: Vocab) -> None:
    """Copy the rows of the words that both vocabularies have."""
    assert softmax is not None
    shared = [word for word in vocab if word in old_vocab]
    rows, old_rows = (torch.from_numpy(v.encode(shared)) for v in (vocab, old_vocab))
    with torch.no_grad():
        softmax.weight[rows] = old.weight[old_rows]
        softmax.bias[rows] = old.bias[old_rows]


def recipe_of_start(name: str, changes: Mapping[str, Any], start: Start) -> Recipe:
    """Read a recipe for going on from a model, with its shape and, if not given, its reading."""
    shape = start.model.bilm.config
    given = changes.keys() & {
        field.name for cls in (CharCnnConfig, LstmConfig) for field in dataclasses.fields(cls)
    }
    if given:
        raise ConfigError(
            f"{', '.join(sorted(given))} cannot change: the network has the shape of the model "
            "that it goes on from"
        )
    assert isinstance(shape.token_encoder, CharCnnConfig)  # held by check_start
    reading = {
        "tokenizer": start.model.tokenizer,
        "normalization": start.model.normalization or "none",
    }
    recipe = read_recipe(name, {**reading, **changes})
    return dataclasses.replace(recipe, token_encoder=shape.token_encoder, lstm=shape.lstm)


def check_start(start: Start, name: str) -> None:
    """Refuse a model that training cannot go on from."""
    if not isinstance(start.model.bilm.config.token_encoder, CharCnnConfig):
        raise FormatError(f"{name} looks words up in a table; training needs a character model")
    if start.model.bilm.softmax is None and not start.new_vocabulary:
        raise FormatError(
            f"{name} has no softmax; give the new text's words one (--new-vocabulary)"
        )


def _check_same(begun: dict[str, Any], wanted: dict[str, Any], folder: Path) -> None:
    """Refuse to go on with another recipe than the one that the run was begun with."""
    if begun.get("start") != wanted["start"]:
        raise ConfigError(
            f"{folder} was begun from another model; choose another --out, or remove it"
        )
    recipe = begun.get("recipe")
    for table, fields in json.loads(json.dumps(wanted["recipe"])).items():
        for name, value in fields.items():
            before = recipe.get(table, {}).get(name) if isinstance(recipe, dict) else None
            if before != value and name not in _MAY_CHANGE:
                raise ConfigError(
                    f"{folder} was begun with {name} = {before}, now it is {value}; choose "
                    "another --out, or the same settings to go on"
                )


def _finish(trainer: Trainer, recipe: Recipe) -> Run:
    """Put the best weights into the network, and say what they came to."""
    best = trainer.folder / BEST
    update, score = trainer.update, trainer.held_out
    if trainer.best is not None and best.exists():
        checkpoint = read_checkpoint(best)
        trainer.bilm.load_state_dict(dict(checkpoint.tensors))
        update, score = checkpoint.facts["update"], Score(**checkpoint.facts["held_out"])
    training: dict[str, Any] = {
        "recipe": recipe_to(recipe),
        "updates": update,
        "tokens": update * trainer.tokens_per_update,
        "training_words": trainer.corpus.training.n_words,
        "texts": [text["name"] for text in trainer.corpus.manifest["texts"]],
    }
    if score is not None:
        training["held_out"] = {
            "softmax": "full",
            "forward_perplexity": score.forward,
            "backward_perplexity": score.backward,
            "mean_perplexity": score.mean,
            "unknown_rate": score.unknown_rate,
            "predictions": score.n_predictions,
        }
    bilm = trainer.bilm.to("cpu").eval()
    model = Pretrained(
        bilm,
        recipe.corpus.tokenizer,
        trainer.corpus.vocab,
        training,
        recipe.corpus.normalization,
    )
    return Run(model, score, trainer.seconds)


def _write_model(model: Pretrained, folder: Path) -> None:
    """Write the model folder, in the place of an earlier one of the same run."""
    beside = folder.with_name(NEW_MODEL)
    _check_ours(folder.parent)  # again: training is long
    shutil.rmtree(beside, ignore_errors=True)  # of a run that was killed
    write_native(model, beside)
    shutil.rmtree(folder, ignore_errors=True)
    beside.rename(folder)
