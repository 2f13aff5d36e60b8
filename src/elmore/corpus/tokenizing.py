"""Lines of text in, tokenized sentences out, a piece of about a megabyte at a time.

Pieces are tokenized by several processes and come back in order, so the number of processes does
not change the result. They import this module, which therefore does not import torch.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from multiprocessing import get_context

from elmore.corpus.sentence_reader import SentenceReader
from elmore.corpus.workers import end_with_parent
from elmore.errors import DataError
from elmore.text import BEGIN_SENTENCE, END_SENTENCE, UNKNOWN

MARKS = (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN)

_PIECE_CHARACTERS = 2**20


@dataclass(frozen=True)
class Piece:
    """Some lines of the text."""

    training: list[str]
    held_out: list[str]


@dataclass(frozen=True)
class TokenizedPiece:
    """The sentences of these lines in UTF-8, one per line, words separated by spaces."""

    training: bytes
    held_out: bytes
    counts: dict[str, int]
    """How often each word occurs in `training`, marks left out."""
    n_lines: int
    n_words: int


def draw_held_out(lines: Iterable[str], share: float) -> Iterator[tuple[str, bool]]:
    """Yield each line and whether it is held out: drawn by its number, all over the text.

    The first line never is, so that there is training text. If none of several lines is drawn,
    the last one is held out.
    """
    waiting: str | None = None
    is_held_out = any_held_out = False
    number = -1
    for number, line in enumerate(lines):
        if waiting is not None:
            yield waiting, is_held_out
        waiting = line
        is_held_out = number > 0 and _random(number) < share
        any_held_out |= is_held_out
    if waiting is not None:
        yield waiting, is_held_out or (share > 0 and number > 0 and not any_held_out)


def lower_some(lines: Iterable[tuple[str, bool]], share: float) -> Iterator[tuple[str, bool]]:
    """Lowercase this share of the lines that are not held out."""
    for number, (line, is_held_out) in enumerate(lines):
        lower = not is_held_out and _random(number, b"lower case") < share
        yield line.lower() if lower else line, is_held_out


def _random(number: int, what: bytes = b"") -> float:
    """Return a number from 0 to 1 that is always the same for the same `number` and `what`."""
    digest = blake2b(number.to_bytes(8, "little"), digest_size=8, person=what).digest()
    return int.from_bytes(digest, "little") / 2**64


def cut_pieces(lines: Iterable[tuple[str, bool]]) -> Iterator[Piece]:
    """Group lines into pieces, held-out lines apart."""
    piece, n_characters = Piece([], []), 0
    for line, is_held_out in lines:
        (piece.held_out if is_held_out else piece.training).append(line)
        n_characters += len(line)
        if n_characters >= _PIECE_CHARACTERS:
            yield piece
            piece, n_characters = Piece([], []), 0
    if n_characters:
        yield piece


def tokenize_pieces(
    pieces: Iterable[Piece], reader: SentenceReader, n_processes: int
) -> Iterator[TokenizedPiece]:
    """Tokenize the pieces, in order."""
    tokenize = partial(_tokenize, reader)
    if n_processes == 1:
        yield from map(tokenize, pieces)
        return
    waiting: deque[Future[TokenizedPiece]] = deque()
    try:
        with ProcessPoolExecutor(
            n_processes, mp_context=get_context("spawn"), initializer=end_with_parent
        ) as pool:
            for piece in pieces:
                waiting.append(pool.submit(tokenize, piece))
                if len(waiting) > 2 * n_processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
    except BrokenProcessPool:
        raise DataError(
            "a worker process was killed, perhaps because memory ran out; use fewer --processes"
        ) from None


def _tokenize(reader: SentenceReader, piece: Piece) -> TokenizedPiece:
    training = list(reader.sentences(piece.training))
    held_out = list(reader.sentences(piece.held_out))
    counts: Counter[str] = Counter()
    for words in training:
        counts.update(words)
    for mark in MARKS:
        counts.pop(mark, None)
    return TokenizedPiece(
        training=_join(training),
        held_out=_join(held_out),
        counts=dict(counts),
        n_lines=len(piece.training) + len(piece.held_out),
        n_words=sum(map(len, training)) + sum(map(len, held_out)),
    )


def _join(sentences: list[list[str]]) -> bytes:
    # No tokenizer leaves a space or a line end in a word; any other character may occur.
    return "".join(f"{' '.join(words)}\n" for words in sentences).encode("utf-8")
