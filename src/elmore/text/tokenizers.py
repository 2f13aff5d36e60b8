"""Raw text in, tokens with their place in that text out.

A tokenizer never loses the text: `text[token.start:token.end]` is where the token was read, so that
vectors can be laid over the original page. `token.text` is what the model sees. The two differ only
where a tokenizer drops characters inside a word (Moses drops ASCII control characters).
"""

import re
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from elmore.errors import ConfigError


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

    # sacremoses writes "..." as DOTMULTI while it works, and so turns that word into dots.
    _placeholder, _stand_in = "DOTMULTI", "DOTMULTX"
    # All that Moses drops: white space and ASCII control characters.
    _dropped = re.compile(r"[\s\x00-\x1f]*")

    @cached_property
    def _moses(self) -> Any:
        from sacremoses import MosesTokenizer  # noqa: PLC0415  0.1 s of tables, only if used

        return MosesTokenizer(lang="en")

    def __call__(self, text: str) -> list[Token]:
        """Return the Moses tokens, unescaped."""
        safe = text.replace(self._placeholder, self._stand_in)
        tokens = []
        position = 0
        for word in self._moses.tokenize(safe, escape=False):
            start = position = self._skip(safe, position)
            for character in word:
                position = self._skip(safe, position)
                assert safe[position] == character, (word, safe[start : position + 1])
                position += 1
            surface = text[start:position]
            tokens.append(Token(self._dropped.sub("", surface), start, position))
        return tokens

    def _skip(self, text: str, position: int) -> int:
        match = self._dropped.match(text, position)
        assert match is not None  # the pattern matches the empty string
        return match.end()


_TOKENIZERS: dict[str, type[WhitespaceTokenizer] | type[EnglishTokenizer]] = {
    tokenizer.name: tokenizer for tokenizer in (WhitespaceTokenizer, EnglishTokenizer)
}


def tokenizer_by_name(name: str) -> Tokenizer:
    """Return the tokenizer that a config, a flag or a user names."""
    if name not in _TOKENIZERS:
        raise ConfigError(f"no tokenizer is called {name!r}; known: {', '.join(_TOKENIZERS)}")
    return _TOKENIZERS[name]()
