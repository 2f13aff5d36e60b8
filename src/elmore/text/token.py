"""What a tokenizer is, and what it gives.

A tokenizer never loses the text: `text[token.start:token.end]` is where the token was read, so that
vectors can be laid over the original page. `token.text` is what the model sees. The two differ only
where characters inside a word are dropped (Moses drops ASCII control characters) or normalized.
"""

from typing import NamedTuple, Protocol


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
