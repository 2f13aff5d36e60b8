"""Raw text in, tokens with their place in that text out.

A tokenizer never loses the text: `text[token.start:token.end]` is where the token was read, so that
vectors can be laid over the original page. `token.text` is what the model sees. The two differ only
where a tokenizer drops characters inside a word (Moses drops ASCII control characters).
"""

import re
from functools import cached_property
from typing import NamedTuple, Protocol

from elmore.errors import ConfigError
from elmore.text.moses import MosesWords


class Token(NamedTuple):
    """One word of a text and its character span in it."""

    text: str
    start: int
    end: int


class Tokenizer(Protocol):
    """What every tokenizer does. `name` is what a model's config.json stores."""

    name: str

    def __call__(self, text: str) -> list[Token]:
        """Return the tokens of `text`, in order."""
        ...


class WhitespaceTokenizer:
    """Splits at white space and nowhere else: for text that is tokenized already."""

    name = "whitespace"

    def __call__(self, text: str) -> list[Token]:
        """Return the runs of non-space characters."""
        return [Token(m.group(), m.start(), m.end()) for m in re.finditer(r"\S+", text)]


class EnglishTokenizer:
    """The Moses tokenizer, by sacremoses: what the published English models were trained on."""

    name = "english"

    @cached_property
    def _words(self) -> MosesWords:
        return MosesWords()

    def __call__(self, text: str) -> list[Token]:
        """Return the Moses tokens, unescaped."""
        return list(map(Token._make, self._words(text)))


_TOKENIZERS: dict[str, type[WhitespaceTokenizer] | type[EnglishTokenizer]] = {
    tokenizer.name: tokenizer for tokenizer in (WhitespaceTokenizer, EnglishTokenizer)
}


def tokenizer_by_name(name: str) -> Tokenizer:
    """Return the tokenizer that a config, a flag or a user names."""
    if name not in _TOKENIZERS:
        raise ConfigError(f"no tokenizer is called {name!r}; known: {', '.join(_TOKENIZERS)}")
    return _TOKENIZERS[name]()
