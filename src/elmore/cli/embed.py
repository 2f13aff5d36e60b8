"""`elmore embed`: texts, files or standard input to vectors."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from elmore.cli.terminal import TablePrinter, progress_bar
from elmore.errors import DataError
from elmore.text import decode_lines

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
    from elmore.embed import (
        CorpusOptions,
        Elmo,
        JsonLinesWriter,
        check_suffix,
        embed_corpus,
        embed_lines,
    )

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
    options = CorpusOptions(layers, dtype, keep_sentence_marks, split_sentences)
    with progress_bar(shown=out is not None or not sys.stdout.isatty()) as bar:
        task = bar.add_task("embedding", total=None if split_sentences else n_texts, tokens=0)

        def progress(n_texts: int, n_tokens: int) -> None:
            tokens = bar.tasks[task].fields["tokens"] + n_tokens
            bar.update(task, advance=n_texts, tokens=tokens)

        if out is None:
            to_terminal = sys.stdout.isatty()
            writer = TablePrinter() if to_terminal else JsonLinesWriter(sys.stdout.buffer)
            for number, text in enumerate(embed_lines(elmo, lines, options, progress)):
                writer.write(number, text)
            return
        try:
            embed_corpus(elmo, lines, out, options, progress)
        except KeyboardInterrupt:
            sys.stderr.write("the same command goes on from here\n")
            raise


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
