"""A recipe in, the initial network of a run out: random by its seed, or a trained model's.

Static vectors initialize the words: all words of a new network, or those that are new to a trained
one.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from elmore.bilm_config import CharCnnConfig, LstmConfig
from elmore.corpus.shards import Corpus
from elmore.engine.parameters import row_weights
from elmore.errors import ConfigError, FormatError
from elmore.formats import Pretrained
from elmore.model.bilm import BiLM
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


def new_bilm(recipe: Recipe, vocab: Vocab, start: Start | None) -> BiLM:
    """Initialize a network by the recipe's seed, or by a trained one with the rows it needs."""
    torch.manual_seed(recipe.training.seed)
    if start is None:
        return BiLM(recipe.bilm_config(len(vocab)))
    trained = start.model
    encoder = trained.config.token_encoder
    if encoder.words is not None:
        words = dataclasses.replace(encoder.words, n_words=len(vocab))
        encoder = dataclasses.replace(encoder, words=words)
    bilm = BiLM(
        dataclasses.replace(trained.config, token_encoder=encoder, n_softmax_words=len(vocab))
    )
    weights = BiLM.from_arrays(trained.config, trained.arrays).state_dict()
    new_weights = row_weights(bilm.state_dict())
    by_word = {name: weights.pop(name) for name in new_weights if name in weights}
    bilm.load_state_dict(weights, strict=False)
    if start.model.vocab is not None:
        if encoder.words is not None:
            name = "token_encoder.words.weight"
            # A word that is new to the model starts with the row that it had there until now.
            ids = torch.from_numpy(start.model.encoder.word_ids(vocab.words))
            new_weights[name][ids > 0] = by_word.pop(name)[ids[ids > 0] - 1]
        _take_rows(new_weights, vocab, by_word, start.model.vocab)
    return bilm


def _take_rows(
    weights: Mapping[str, Tensor], vocab: Vocab, old: Mapping[str, Tensor], old_vocab: Vocab
) -> None:
    """Copy the rows of the words that both vocabularies have."""
    shared = [word for word in vocab if word in old_vocab]
    rows, old_rows = (torch.from_numpy(v.encode(shared)) for v in (vocab, old_vocab))
    for name, weight in old.items():
        weights[name][rows] = weight[old_rows]


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
    bilm: BiLM, corpus: Corpus, recipe: Recipe, start: Start | None, static: StaticVectors
) -> None:
    """Initialize words by static vectors: all words, or those new to a model."""
    if start is None:
        fill_from_static(bilm, corpus, static, recipe.static)
        return
    if start.model.vocab is not None:
        fill_new_words(bilm, corpus.vocab, start.model.vocab, static)
    is_new = start.model.vocab is None or start.model.config.n_softmax_words is None
    if is_new and "softmax" in recipe.static.static_fills:
        softmax_alone = dataclasses.replace(recipe.static, static_fills=("softmax",))
        fill_from_static(bilm, corpus, static, softmax_alone)
