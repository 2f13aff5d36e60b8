"""Texts of examples in, what a task's network reads of their tokens out.

The biLM, the static vectors and the tokenizer are opened once. A frozen biLM reads each sentence
once; its layers are stored on disk (layer_cache.py), in a file without a name for the run or, with
a cache folder, for later runs too.
"""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from elmore.embed import Elmo
from elmore.static import StaticVectors
from elmore.tasks.fit import FitEvent, OnProgress
from elmore.tasks.inputs import SentenceFeatures, Sources
from elmore.tasks.layer_cache import TokenTuple, deciding_facts, stored_layers
from elmore.tasks.settings import TaskSettings
from elmore.text import CharEncoder, Tokenizer, tokenizer_by_name

Tokenize = Callable[[Any], TokenTuple]
"""Returns the tokens of a text: a string, or a sequence of tokens already."""


class ExampleTexts(NamedTuple):
    """The texts of some examples, tokenized."""

    sides: tuple[list[TokenTuple], ...]
    """One text of each example, or two."""
    marks: list[int] | None = None
    """Which word of each example is asked about, if one is."""


class FeatureExtractor:
    """Tokenizes texts, and gives their sentences with the vectors of their tokens."""

    def __init__(self, settings: TaskSettings, characters: CharEncoder | None) -> None:
        self.settings = settings
        elmo, static = settings.elmo, settings.static
        if isinstance(elmo, str | Path):
            elmo = Elmo.from_pretrained(elmo)
        if isinstance(static, str | Path):
            static = StaticVectors.load(static)
        self.sources = Sources(elmo, static, settings.freeze, characters)
        _ = self.tokenizer  # which says if there is none of its name

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of raw strings."""
        elmo, name = self.sources.elmo, self.settings.tokenizer
        if elmo is None:
            return tokenizer_by_name(name or "english")
        return tokenizer_by_name(name, elmo.model.vocab) if name else elmo.tokenizer

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the tokenizer, which may hold what cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name != "tokenizer"}

    def tokenize(self, text: Any) -> TokenTuple:
        """Return the tokens of a string; a sequence of tokens stays as it is."""
        if isinstance(text, str):
            return tuple(token.text for token in self.tokenizer(text))
        return tuple(text)

    def extract(
        self, texts: ExampleTexts, on_progress: OnProgress = lambda event: None
    ) -> tuple[SentenceFeatures, ...]:
        """Return the sentences of each side, with the biLM's layers of a frozen one.

        `on_progress` is told how many sentences the biLM has encoded.
        """
        settings, found = self.settings, []
        cache = None if settings.cache is None else Path(settings.cache)
        for side in texts.sides:
            tokens = [sentence or ("",) for sentence in side]  # a text may have no words
            layers = None
            if self.sources.elmo is not None and settings.freeze:
                layers = stored_layers(
                    self.sources.elmo, tokens, cache, settings.cache_dtype,
                    context_layer=settings.context_layer,
                    on_progress=lambda done, total: on_progress(FitEvent("encode", done, total)),
                )  # fmt: skip
            found.append(SentenceFeatures(tokens, self.sources, layers, texts.marks))
        return tuple(found)

    def fingerprint(self) -> dict[str, Any]:
        """Return all that decides the features of given texts."""
        elmo, static = self.sources.elmo, self.sources.static
        return {
            "tokenizer": self.tokenizer.name,
            "elmo": elmo and deciding_facts(elmo),
            "static": static and static.fingerprint(),
        }
