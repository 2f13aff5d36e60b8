"""Readings in, what a task's network reads of their tokens out.

The inputs and the tokenizer are opened once. A frozen biLM reads each sentence once; its layers are
stored (layer_cache.py), in memory or a file without a name for the run or, with a cache folder, for
later runs too.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from elmore.embed import Elmo
from elmore.embed.texts import choose_tokenizer, given_tokens
from elmore.errors import ConfigError
from elmore.static import StaticVectors
from elmore.tasks.encoded import EncodedExamples, StoredSentences, distinct_sentences
from elmore.tasks.fit import FitEvent, OnProgress
from elmore.tasks.input_list import input_of
from elmore.tasks.input_networks import TokenInput
from elmore.tasks.inputs import Input, StaticInput, Storage
from elmore.tasks.layer_cache import TokenTuple
from elmore.tasks.layer_inputs import ElmoInput, elmo_facts
from elmore.tasks.settings import TaskSettings
from elmore.tasks.task import Reading, Words
from elmore.text import Token, Tokenizer, tokenizer_by_name


class FeatureExtractor(Words):
    """Tokenizes texts, and gives examples with what its inputs know of their tokens."""

    def __init__(
        self, settings: TaskSettings, own: Sequence[Input], adapted: Elmo | None = None
    ) -> None:
        """Open the inputs of a task, among them its `own`; with an adapted biLM, if it has one."""
        self.settings = settings
        if settings.elmo is None and settings.static is None and not settings.inputs:
            raise ConfigError("there are no vectors to train on; give elmo, static, or both")
        inputs: dict[str, Input] = {}
        if settings.static is not None:
            inputs["static"] = StaticInput(settings.static)
        if settings.elmo is not None:
            inputs["elmo"] = ElmoInput(
                adapted or settings.elmo, settings.where, settings.layers, settings.context_layer,
                settings.norm, settings.elmo_dropout, settings.freeze,
            )  # fmt: skip
        inputs |= {one.kind: one for one in own}
        more = [input_of(one) for one in settings.inputs]
        inputs |= {f"{one.kind} {number}": one for number, one in enumerate(more, start=1)}
        self.inputs = {name: one.opened() for name, one in inputs.items()}
        self.more = list(self.inputs.values())[len(inputs) - len(more) :]
        """Those of the list that a user gives."""
        shared = any(isinstance(one, ElmoInput) and one.elmo is self.elmo for one in self.more)
        if shared and not settings.freeze:
            raise ConfigError(
                "inputs has the Elmo that is fine-tuned (freeze is false), whose vectors change; "
                "give another, such as its name"
            )
        _ = self.tokenizer  # which says if there is none of its name

    @property
    def elmo(self) -> Elmo | None:
        """The biLM, if there is one."""
        found = self.inputs.get("elmo")
        return found.elmo if isinstance(found, ElmoInput) else None

    @property
    def static(self) -> StaticVectors | None:
        """The static vectors, if there are some."""
        found = self.inputs.get("static")
        return found.vectors if isinstance(found, StaticInput) else None

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of raw strings."""
        elmo, name = self.elmo, self.settings.tokenizer
        if elmo is None:
            return tokenizer_by_name(name or "english")
        return choose_tokenizer(elmo.model, name) if name else elmo.tokenizer

    @property
    def tokenizer_name(self) -> str | None:
        """What a saved task says of it; None: it is the biLM's own, or one without a known name."""
        elmo, own = self.elmo, self.settings.tokenizer
        if elmo is None or own is not None or elmo.tokenizer.name == elmo.model.tokenizer:
            return own
        with suppress(ConfigError):
            return choose_tokenizer(elmo.model, elmo.tokenizer.name).name
        return None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the tokenizer, which may hold what cannot be pickled."""
        return {name: value for name, value in vars(self).items() if name != "tokenizer"}

    def tokens(self, text: str) -> list[Token]:
        """Return the words of a string, with their character spans."""
        return self.tokenizer(text)

    def tokenize(self, text: Any, place: int) -> TokenTuple:
        """Return the words of a string; a sequence of tokens stays as it is."""
        if isinstance(text, str):
            return tuple(token.text for token in self.tokenizer(text))
        return given_tokens(text, f"example {place}")

    def network(self) -> TokenInput:
        """Return a new part of a task's network that reads the inputs."""
        return TokenInput({name: one.network() for name, one in self.inputs.items()})

    def encode(
        self,
        readings: Sequence[Reading],
        targets: Sequence[Any] | None,
        on_progress: OnProgress = lambda event: None,
    ) -> EncodedExamples:
        """Store what the inputs know of the sentences of examples.

        `on_progress` is told how many sentences a frozen biLM has encoded.
        """
        settings = self.settings
        sentences, rows = distinct_sentences(readings)
        storage = Storage(
            None if settings.cache is None else Path(settings.cache),
            settings.cache_dtype,
            lambda done, total: on_progress(FitEvent("encode", done, total)),
        )
        lookups = [one.store(sentences, storage) for one in self.inputs.values()]
        return EncodedExamples(StoredSentences(sentences, lookups), rows, readings, targets)

    def fingerprint(self) -> dict[str, Any]:
        """Return all that decides the features of given texts."""
        found: dict[str, Any] = {
            "tokenizer": self.tokenizer.name,
            "elmo": self.elmo and elmo_facts(self.elmo),
            "static": self.static and self.static.fingerprint(),
        }
        if self.more:
            found["inputs"] = [
                {"kind": one.kind, "hash": one.fingerprint(), **one.options()} for one in self.more
            ]
        return found
