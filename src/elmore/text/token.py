"""The interface of tokenizers: text in, tokens with their spans out.

Tokens keep their spans: `text[token.start:token.end]` is the raw text of a token, so that vectors
can be aligned with it. `token.text` is what the model sees. The two differ only where characters
inside a word are dropped (Moses drops ASCII control characters) or normalized.
"""

from typing import NamedTuple, Protocol


class Token(NamedTuple):
    """One word of a text and its character span in it."""

    text: str
    start: int
    end: int


class Tokenizer(Protocol):
    """The interface of all tokenizers. `name` is what a model's config.json stores."""

    name: str

    def __call__(self, text: str) -> list[Token]:
        """Return the tokens of `text`, in order."""
        ...
