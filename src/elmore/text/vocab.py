"""A list of words in, word <-> row number out: the rows of a softmax or of a table of vectors."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from elmore.errors import DataError, FormatError, shown
from elmore.metadata import read_limited
from elmore.text.chars import UNKNOWN

_BOM = "\ufeff"  # the byte order mark
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_BYTES, _MAX_LINES = 2**28, 2**24  # what no softmax has rows for


class Vocab:
    """Words in a fixed order; row i is word i, and no row is reserved for padding."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(words)
        self._ids = {word: i for i, word in enumerate(self.words)}
        if len(self._ids) != len(self.words):
            twice = next(word for i, word in enumerate(self.words) if self._ids[word] != i)
            raise DataError(f"the vocabulary has {shown(twice)} twice; each word may occur once")

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self._ids

    def row(self, word: str) -> int | None:
        """Return the row of a word, None if it has none."""
        return self._ids.get(word)

    def zipf(self) -> npt.NDArray[np.float32]:
        """Return the probability of each word by Zipf's law, (V,): as 1 / rank.

        A vocabulary is sorted by frequency.
        """
        shares = 1 / np.arange(1, len(self) + 1)
        return np.asarray(shares / shares.sum(), np.float32)

    def encode(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the rows of `words`, (words,); a word without one gets the row of `<UNK>`."""
        unknown = self._ids.get(UNKNOWN, -1)
        rows = np.array([self._ids.get(word, unknown) for word in words], dtype=np.int64)
        if unknown < 0 and (rows < 0).any():
            missing = words[int(np.argmin(rows))]
            raise DataError(
                f"the word {shown(missing)} is not in the vocabulary of {len(self)} words, "
                f"and it has no {UNKNOWN}; add that line or use words that it has"
            )
        return rows

    @classmethod
    def load(cls, path: Path) -> "Vocab":
        """Load a vocabulary file: UTF-8, a word a line."""
        return cls.parse(read_limited(path, _MAX_BYTES), path)

    @classmethod
    def parse(cls, content: bytes, path: Path) -> "Vocab":
        """Return the vocabulary that a file's bytes are."""
        if len(content) > _MAX_BYTES:
            raise FormatError(f"{path} has {len(content):,} bytes; expected a vocabulary")
        if content.count(b"\n") > _MAX_LINES:
            raise FormatError(f"{path} has more than {_MAX_LINES:,} lines; expected a vocabulary")
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            raise FormatError(f"{path} is not UTF-8 in line {line}; a vocabulary must be") from None
        words = [line.removesuffix("\r") for line in text.removeprefix(_BOM).split("\n")]
        if words[-1] == "":
            words.pop()
        if "" in words:
            raise FormatError(
                f"{path} has no word in line {words.index('') + 1}; expected one each"
            )
        try:
            return cls(words)
        except DataError as error:
            raise FormatError(f"{path}: {error}") from None

    def save(self, path: Path) -> None:
        """Save the words, one a line."""
        for word in self.words:
            if word == "" or "\n" in word or word.endswith("\r") or _LONE_SURROGATE.search(word):
                raise DataError(
                    f"the word {shown(word)} cannot be saved in a file of one word a line, in UTF-8"
                )
        text = "".join(f"{word}\n" for word in self.words)
        if text.startswith(_BOM):
            text = _BOM + text  # loading removes one
        path.write_bytes(text.encode("utf-8"))
