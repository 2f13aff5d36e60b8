"""`elmore embed`: texts, files or standard input to vectors."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from elmore.cli.terminal import TablePrinter, progress_bar
from elmore.errors import DataError
from elmore.text import decode_lines
from elmore.text import split_sentences as split_sentences_of

_TEXTS_AT_ONCE = 256
_FILE_SUFFIXES = {".txt", ".tsv", ".csv", ".text", ".tok", ".tokens", ".md", ".json", ".jsonl"}


def embed(
    *texts: str,
    model: Annotated[str, Parameter(alias="-m")] = "en",
    out: Annotated[Path | None, Parameter(alias="-o")] = None,
    layers: Literal["mix", "all", "top"] | int = "mix",
    dtype: Literal["float32", "float16"] = "float32",
    tokenizer: str | None = None,
    split_sentences: str | None = None,
    keep_sentence_marks: Annotated[bool, Parameter(negative="")] = False,
    vocab: Path | None = None,
    word_vectors: Path | None = None,
    batch_tokens: int = 4096,
) -> None:
    """Give one vector per word: a table on a terminal, JSON Lines in a pipe, or a file.

    Parameters
    ----------
    texts
        Texts, or files with a text a line, in any mixture. Without any, standard input is read.
    model
        A model folder, the name of a bundled model, or hf://owner/name.
    out
        Where to write: .jsonl, .npz, .h5 (AllenNLP's layout) or .parquet.
    layers
        mix (the mean of all layers), all, top, or the number of a layer; 0 knows no context.
    dtype
        What the numbers are stored in.
    tokenizer
        whitespace or english, instead of the model's own.
    split_sentences
        A language, such as en or ko: split each text into sentences and embed each by itself.
    keep_sentence_marks
        Give vectors for the marks <S> and </S> as well.
    vocab
        The vocabulary of a published model whose folder has none.
    word_vectors
        An HDF5 of cached token vectors, a row for each word of the vocabulary.
    batch_tokens
        How many tokens to read at once.
    """
    from elmore.embed import Elmo, JsonLinesWriter, VectorWriter, check_suffix, open_writer

    if out is not None:
        check_suffix(out)
    n_texts, lines = _read(texts)
    elmo = Elmo.from_pretrained(
        model,
        tokenizer=tokenizer,
        vocab=vocab,
        word_vectors=word_vectors,
        max_batch_tokens=batch_tokens,
    )
    target: AbstractContextManager[VectorWriter | TablePrinter]
    if out is not None:
        target = open_writer(out, elmo.n_layers if layers == "all" else 1, elmo.dim, dtype)
    elif sys.stdout.isatty():
        target = nullcontext(TablePrinter())
    else:
        target = nullcontext(JsonLinesWriter(sys.stdout.buffer))
    bar = progress_bar(shown=out is not None or not sys.stdout.isatty())
    number = n_tokens = 0
    with target as writer, bar:
        task = bar.add_task("embedding", total=n_texts, tokens=0)
        for block in _blocks(bar.track(lines, task_id=task, total=n_texts)):
            sentences = _sentences(block, split_sentences) if split_sentences else block
            for text in elmo.encode_tokens(
                sentences, layers=layers, keep_sentence_marks=keep_sentence_marks, dtype=dtype
            ):
                writer.write(number, text)
                number += 1
                n_tokens += len(text.tokens)
            bar.update(task, tokens=n_tokens)


def _read(arguments: Sequence[str]) -> tuple[int | None, Iterator[str]]:
    """Return how many texts there are, where that can be known, and the texts."""
    if not arguments:
        if sys.stdin.isatty():
            raise DataError("nothing to embed; give texts, name a file, or pipe text in")
        return None, decode_lines(sys.stdin.buffer, "standard input")
    for argument in arguments:
        _check_argument(argument)
    sizes = [_count_lines(Path(one)) if _is_file(one) else 1 for one in arguments]
    return sum(sizes), _texts_of(arguments)


def _texts_of(arguments: Sequence[str]) -> Iterator[str]:
    for argument in arguments:
        if _is_file(argument):
            with Path(argument).open("rb") as file:
                yield from decode_lines(file, argument)
        else:
            yield argument


def _check_argument(argument: str) -> None:
    """Refuse what was meant as a file name but is none, and bytes that are no text."""
    looks_like_file = len(argument.split()) == 1 and (
        Path(argument).suffix in _FILE_SUFFIXES or argument.startswith(("./", "../", "/", "~"))
    )
    if looks_like_file and not _is_file(argument):
        raise DataError(f"there is no file {argument}; to embed a text, put more than a name")
    if any("\ud800" <= character <= "\udfff" for character in argument):
        raise DataError(f"the text {argument!r} is not UTF-8; check the terminal's encoding")


def _is_file(argument: str) -> bool:
    return len(argument) < 4096 and "\0" not in argument and Path(argument).is_file()


def _count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def _blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    iterator = iter(lines)
    while block := list(islice(iterator, _TEXTS_AT_ONCE)):
        yield block


def _sentences(texts: Sequence[str], language: str) -> list[str]:
    return [
        text[span.start : span.end] for text in texts for span in split_sentences_of(text, language)
    ]
