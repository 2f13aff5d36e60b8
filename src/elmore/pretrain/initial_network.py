"""A recipe in, the initial network of a run out: random by its seed, or a trained model's.

Static vectors initialize the words: all words of a new network, or those that are new to a trained
one.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from elmore.bilm_config import CharCnnConfig, LstmConfig
from elmore.corpus.shards import Corpus
from elmore.engine.parameters import row_weights
from elmore.errors import ConfigError, FormatError
from elmore.formats import Pretrained
from elmore.initial_weights import drawn_arrays
from elmore.kernels.library import Floats
from elmore.pretrain.config import Recipe
from elmore.pretrain.recipes import read_recipe
from elmore.pretrain.static_start import fill_from_static, fill_new_words
from elmore.static import StaticVectors
from elmore.text import Vocab


@dataclass(frozen=True)
class Start:
    """A trained model to start from."""

    model: Pretrained
    new_vocabulary: bool = False
    """Whether the softmax gets the words of the new text; rows of words in both are kept."""


def new_model(recipe: Recipe, vocab: Vocab, start: Start | None) -> Pretrained:
    """Initialize a model by the recipe's seed, or by a trained one with the rows it needs."""
    random = np.random.default_rng(recipe.training.seed)
    config = recipe.bilm_config(len(vocab))
    if start is not None:
        trained = start.model
        encoder = trained.config.token_encoder
        if encoder.words is not None:
            words = dataclasses.replace(encoder.words, n_words=len(vocab))
            encoder = dataclasses.replace(encoder, words=words)
        config = dataclasses.replace(
            trained.config, token_encoder=encoder, n_softmax_words=len(vocab)
        )
    arrays = drawn_arrays(config, random)
    if start is not None:
        of_rows = row_weights(arrays)
        for name, array in trained.arrays.items():
            if name not in of_rows:
                arrays[name] = np.array(array, np.float32)
        if trained.vocab is not None:
            _take_rows(of_rows, vocab, trained)
    return Pretrained(
        config, arrays, recipe.corpus.tokenizer, vocab, normalization=recipe.corpus.normalization,
        alphabet=None if start is None else start.model.alphabet,
    )  # fmt: skip


def _take_rows(of_rows: Mapping[str, Floats], vocab: Vocab, trained: Pretrained) -> None:
    """Copy the rows of the words that both vocabularies have."""
    assert trained.vocab is not None
    shared = [word for word in vocab if word in trained.vocab]
    rows, old_rows = vocab.encode(shared), trained.vocab.encode(shared)
    for name, array in of_rows.items():
        if name == "token_encoder.words.weight":
            # A word that is new to the model starts with the row that it had there until now.
            ids = trained.encoder.word_ids(vocab.words)
            array[ids > 0] = trained.arrays[name][ids[ids > 0] - 1]
        elif name in trained.arrays:
            array[rows] = trained.arrays[name][old_rows]


def recipe_of_start(name: str, changes: Mapping[str, Any], start: Start) -> Recipe:
    """Read a recipe for fine-tuning a model: with its shape and, by default, its tokenizer."""
    shape = start.model.config
    given = changes.keys() & {
        field.name for cls in (CharCnnConfig, LstmConfig) for field in dataclasses.fields(cls)
    }
    if given:
        raise ConfigError(
            f"{', '.join(sorted(given))} cannot change: the network has the shape of the model "
            "that it starts from"
        )
    tokenization = {
        "tokenizer": start.model.tokenizer,
        "normalization": start.model.normalization or "none",
    }
    if name.endswith(".json"):  # a run's own, which says what it was begun with
        tokenization = {}
    recipe = read_recipe(name, {**tokenization, **changes})
    assert shape.token_encoder.chars is not None  # held by check_start
    return dataclasses.replace(recipe, token_encoder=shape.token_encoder.chars, lstm=shape.lstm)


def check_start(start: Start, name: str) -> None:
    """Refuse a model that training cannot start from."""
    if start.model.config.token_encoder.chars is None:
        raise FormatError(f"{name} looks words up in a table; training needs a character model")
    if start.model.config.n_softmax_words is None and not start.new_vocabulary:
        raise FormatError(
            f"{name} has no softmax; give the new text's words one (--new-vocabulary)"
        )


def fill(
    model: Pretrained, corpus: Corpus, recipe: Recipe, start: Start | None, static: StaticVectors
) -> None:
    """Initialize words by static vectors: all words, or those new to a model."""
    if start is None:
        fill_from_static(model, corpus, static, recipe.static)
        return
    if start.model.vocab is not None:
        fill_new_words(model, corpus.vocab, start.model.vocab, static)
    is_new = start.model.vocab is None or start.model.config.n_softmax_words is None
    if is_new and "softmax" in recipe.static.static_fills:
        softmax_alone = dataclasses.replace(recipe.static, static_fills=("softmax",))
        fill_from_static(model, corpus, static, softmax_alone)
