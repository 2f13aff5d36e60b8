"""Texts of a request in, tokens out, within the limits; and what a model's thread does with them.

Shapes: T tokens, L+1 layers, D dim.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from elmore.embed import Elmo, Substitutes
from elmore.embed.fill import Sides
from elmore.embed.layers import Layers, check_layers, select_layers
from elmore.embed.pooling import Pooling, pool
from elmore.embed.results import converter
from elmore.embed.texts import TokenizedText, tokenize
from elmore.errors import ConfigError
from elmore.serve.encoding import Floats, TextResult
from elmore.serve.limits import Limits
from elmore.serve.refusals import Refused
from elmore.serve.registry import ServedModel
from elmore.serve.threads import DaemonThreads
from elmore.text import Normalization, Tokenizer

Text = str | Sequence[str]
Tokenize = Callable[[Sequence[Text], Tokenizer, Normalization | None], list[TokenizedText]]

_MAX_IN_LOOP = 300  # characters that are tokenized in the event loop: less than a millisecond


class TextReader:
    """Tokenizes texts, long ones in threads of its own, and has models read them."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._threads = DaemonThreads(2, "elmore tokenizer")

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown()

    async def tokenize(
        self,
        texts: Sequence[Text],
        tokenizer: Tokenizer,
        normalization: Normalization | None,
        tokenize: Tokenize = tokenize,
    ) -> list[TokenizedText]:
        """Return the tokens of texts, or refuse them."""
        n_characters = self._check(texts)

        def work() -> list[TokenizedText]:
            return tokenize(texts, tokenizer, normalization)

        if n_characters <= _MAX_IN_LOOP:
            found = work()
        else:
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self._threads, work)
        n_tokens = count_tokens(found)
        if n_tokens > self.limits.max_tokens:
            raise Refused(
                422,
                f"the texts have {n_tokens:,} tokens; expected at most "
                f"{self.limits.max_tokens:,}: send fewer at a time",
            )
        return found

    async def vectors(
        self,
        model: ServedModel,
        texts: Sequence[Text],
        *,
        layers: Layers,
        pooling: Pooling | None = None,
        standardize: bool = False,
    ) -> list[TextResult]:
        """Return what `Elmo.encode_tokens` or, with `pooling`, `Elmo.encode` gives."""
        elmo = model.elmo
        finish = selection(elmo, layers, pooling, standardize=standardize)
        tokenized = await self.tokenize(texts, elmo.tokenizer, elmo.model.normalization)
        tokens = [text.tokens for text in tokenized]
        found = await model.batcher.submit(tokens, n_read(tokenized), ReadLayers(elmo), finish)
        return [
            TextResult(text.tokens, text.spans, vectors)
            for text, vectors in zip(tokenized, found, strict=True)
        ]

    def _check(self, texts: Sequence[Text]) -> int:
        """Refuse what is too much; return how many characters there are."""
        limits = self.limits
        if len(texts) > limits.max_texts:
            raise Refused(
                422, f"got {len(texts):,} texts; expected at most {limits.max_texts:,} at a time"
            )
        n_characters = sum(  # an empty token counts too
            len(text) if isinstance(text, str) else sum(len(token) or 1 for token in text)
            for text in texts
        )
        if n_characters > limits.max_characters:
            raise Refused(
                422,
                f"the texts have {n_characters:,} characters; expected at most "
                f"{limits.max_characters:,}: send fewer at a time",
            )
        return n_characters


def count_tokens(texts: Sequence[TokenizedText]) -> int:
    """Return how many tokens texts have."""
    return sum(len(text.tokens) for text in texts)


def n_read(texts: Sequence[TokenizedText]) -> int:
    """Return how many tokens a model reads: the sentence marks too."""
    return count_tokens(texts) + 2 * len(texts)


def selection(
    elmo: Elmo, layers: Layers, pooling: Pooling | None, *, standardize: bool
) -> Callable[[Floats], Floats]:
    """Return what takes the layers that are asked for out of (L + 1, T + 2, D)."""
    check_layers(layers, elmo.n_layers)
    calibration = elmo.model.calibration if standardize else None
    if standardize and calibration is None:
        raise ConfigError("this model has no calibration; leave standardize out")
    if standardize and layers == "mix":
        raise ConfigError("the mix cannot be standardized; name a layer, all, top or expected")
    convert = converter("numpy", "float32")

    def select(everything: Floats) -> Floats:
        chosen = select_layers(everything, layers, elmo.mix)
        if calibration is not None and layers != "mix":
            chosen = calibration.standardize(chosen, layers)
        found: Floats = convert(chosen if pooling is None else pool(chosen, pooling))
        return found

    return select


@dataclass(frozen=True)
class ReadLayers:
    """Runs the biLM; whatever is asked of its layers, texts are read together."""

    elmo: Elmo

    def __call__(self, texts: list[Any]) -> Sequence[Floats]:
        """Return the layers of each text, sentence marks included, (L + 1, T + 2, D)."""
        found = dict(self.elmo.reader.read(texts))
        return [found[number] for number in range(len(texts))]


@dataclass(frozen=True)
class Score:
    """Scores words."""

    elmo: Elmo

    def __call__(self, texts: list[Any]) -> Sequence[Any]:
        """Return the `Scores` of each text."""
        return self.elmo.scores(texts)


@dataclass(frozen=True)
class Fill:
    """Fills blanks, or the place of a word."""

    elmo: Elmo
    word: str | int | None
    sides: Sides
    n: int

    def __call__(self, texts: list[Any]) -> Sequence[list[Substitutes]]:
        """Return the filled places of each text."""
        found: list[list[Substitutes]] = [[] for _ in texts]
        for place in self.elmo.fill(texts, word=self.word, sides=self.sides, n=self.n):
            found[place.text].append(place)
        return found
