"""Files of labelled examples in, texts and labels out, in the formats of published datasets.

Texts and pairs are records of .tsv, .csv, .jsonl or .parquet with named fields, or lines of a label
and a text; tagged sentences are columns (CoNLL) or CoNLL-U. All but .parquet may be compressed. A
file's name says its format; where it does not, the format must be named. Errors name the file and
the line.
"""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from elmore.corpus.compression import open_decompressed, suffix_of
from elmore.corpus.lines import decode_lines
from elmore.corpus.records import numbered_lines, read_records, record_format, value_of
from elmore.errors import ConfigError, DataError, shown
from elmore.tasks.examples import Clause, Examples

TextFormat = Literal["auto", "tsv", "csv", "jsonl", "parquet", "lines", "trec"]
TagFormat = Literal["auto", "conll", "conllu", "wikiann", "srl"]
PairFormat = Literal["auto", "tsv", "csv", "jsonl", "parquet", "snli", "sick"]

_RECORDS = "tsv, csv, jsonl, parquet"


# --- texts and pairs ------------------------------------------------------------------------------


def read_labelled(
    path: str | Path,
    *,
    format: TextFormat = "auto",  # noqa: A002  it is what users call it
    text_field: str = "text",
    label_field: str = "label",
) -> Examples:
    """Read labelled texts.

    "lines" has a label, a space and a text on each line (as SST is distributed); "trec" the same,
    with the fine part of a label such as DESC:manner dropped. "auto": by the file's name.
    """
    path = Path(path)
    form = _format(
        path, format, record_format(path), f"{_RECORDS}, lines (label, space, text), trec"
    )
    if form in ("lines", "trec"):
        return _checked(_read_label_lines(path, form), path)
    rows = [
        (_field(record, text_field, where), _field(record, label_field, where))
        for where, record in read_records(path, form, (text_field, label_field))
    ]
    return _checked(Examples([text for text, _ in rows], [label for _, label in rows]), path)


def read_pairs(
    path: str | Path,
    *,
    format: PairFormat = "auto",  # noqa: A002
    text_fields: tuple[str, str] = ("sentence1", "sentence2"),
    label_field: str = "label",
) -> Examples:
    """Read labelled pairs of texts; "snli" and "sick" know their own fields."""
    path = Path(path)
    known = {
        "snli": ("jsonl", ("sentence1", "sentence2"), "gold_label"),
        "sick": ("tsv", ("sentence_A", "sentence_B"), "entailment_judgment"),
    }
    form = _format(path, format, record_format(path), f"{_RECORDS}, snli, sick")
    form, text_fields, label_field = known.get(form, (form, text_fields, label_field))
    pairs, labels = [], []
    for where, record in read_records(path, form, (*text_fields, label_field)):
        label = _field(record, label_field, where)
        if format == "snli" and label == "-":
            continue  # its annotators did not agree
        pairs.append(tuple(_field(record, name, where) for name in text_fields))
        labels.append(label)
    return _checked(Examples(pairs, labels), path)


def _read_label_lines(path: Path, form: str) -> Examples:
    texts, labels = [], []
    for where, line in numbered_lines(path, latin_1=form == "trec"):  # as it is published
        label, _, text = line.strip().partition(" ")
        if not text.strip() or "\t" in label:
            raise DataError(f"{where} has {shown(line)}; expected a label, a space and a text")
        labels.append(label.partition(":")[0] if form == "trec" else label)
        texts.append(text.strip())
    return Examples(texts, labels)


def _field(record: dict[str, Any], name: str, where: str) -> str:
    value = value_of(record, name, where)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise DataError(f"{where} has {shown(value)} in field {name!r}; expected a string")
    if not str(value).strip():
        raise DataError(f"{where} has nothing in field {name!r}; expected some text")
    return str(value)


# --- tagged sentences -----------------------------------------------------------------------------


def read_tagged(
    path: str | Path,
    *,
    format: TagFormat = "auto",  # noqa: A002
    token_column: int = 0,
    tag_column: int = -1,
) -> Examples:
    """Read tagged sentences: a token and its tags a line, a blank line between two sentences.

    Columns are counted from 0, or from the end if negative; CoNLL-U is read for its words and
    universal parts of speech. "wikiann" removes the language from each token (en:Seoul). "srl" is
    CoNLL-2005: a token, its lemma if it is a predicate or -, and a column of roles for each
    predicate of the sentence; each gives a clause.
    """
    path = Path(path)
    form = _format(path, format, _column_format(path), "conll (columns), conllu, wikiann, srl")
    if form == "srl":
        return _checked(_read_clauses(path), path)
    if form == "conllu":
        token_column, tag_column = 1, 3
    sentences = _column_sentences(path, form)
    for (number, row), *_ in sentences:
        if len(row) < 2:
            raise DataError(f"{path}, line {number}, has one column; expected a token and its tag")
        _check_columns(path, number, row, {"token": token_column, "tag": tag_column})
    tokens = [_column(sentence, token_column, form) for sentence in sentences]
    tags = [_column(sentence, tag_column, "tag") for sentence in sentences]
    return _checked(Examples(tokens, tags), path)


def read_sentences(path: str | Path, *, token_column: int = 0) -> list[list[str]]:
    """Read the tokens of the sentences of a CoNLL or CoNLL-U file; it may have no tags."""
    path = Path(path)
    form = _column_format(path) or "conll"
    token_column = 1 if form == "conllu" else token_column
    sentences = _column_sentences(path, form)
    for (number, row), *_ in sentences:
        _check_columns(path, number, row, {"token": token_column})
    return [_column(sentence, token_column, form) for sentence in sentences]


def is_column_file(path: Path) -> bool:
    """Say whether a file has a token and its tags a line, by its name: .conll or .conllu."""
    return _column_format(path) is not None


def _column_format(path: Path) -> str | None:
    return {".conll": "conll", ".conllu": "conllu"}.get(suffix_of(path))


def _column_sentences(path: Path, form: str) -> list[list[tuple[int, list[str]]]]:
    """Return the columns of each token of each sentence, with the number of its line."""
    sentences: list[list[tuple[int, list[str]]]] = [[]]
    expected: tuple[int, int] | None = None
    for number, line in _numbered(path):
        if not line.strip():
            sentences.append([])
            continue
        row = line.split("\t") if form == "conllu" or "\t" in line else line.split()
        if line.startswith("-DOCSTART-") or (form == "conllu" and line.startswith("#")):
            continue
        if form == "conllu" and not row[0].isdecimal():
            continue  # 1-2 are words written together, 1.1 empty nodes
        expected = expected or (len(row), number)
        if len(row) != expected[0]:
            raise DataError(
                f"{path}, line {number}, has {len(row)} columns; "
                f"expected {expected[0]}, as line {expected[1]} has"
            )
        sentences[-1].append((number, row))
    return [sentence for sentence in sentences if sentence]


def _check_columns(path: Path, number: int, row: list[str], asked: dict[str, int]) -> None:
    if not all(-len(row) <= column < len(row) for column in asked.values()):
        places = " and ".join(f"the {name} in column {column}" for name, column in asked.items())
        raise ConfigError(
            f"{path}, line {number}, has {len(row)} columns; expected {places}, counted from 0"
        )


def _column(sentence: list[tuple[int, list[str]]], column: int, form: str) -> list[str]:
    cells = [row[column] for _, row in sentence]
    if form == "wikiann":
        return [re.sub(r"^\w+:", "", token) for token in cells]
    return [tag.strip() for tag in cells] if form == "tag" else cells


def _read_clauses(path: Path) -> Examples:
    clauses: list[Clause] = []
    tags: list[list[str]] = []
    rows: list[list[str]] = []
    first = 0
    for number, line in chain(_numbered(path), [(0, "")]):
        if line.strip():
            first = first if rows else number
            rows.append(line.split())
            continue
        if not rows:
            continue
        predicates = [place for place, row in enumerate(rows) if row[1:2] != ["-"]]
        for row in rows:
            if len(row) != 2 + len(predicates):
                raise DataError(
                    f"{path}, in the sentence from line {first} on, has {shown(' '.join(row))}; "
                    f"for {len(predicates)} predicates expected {2 + len(predicates)} columns"
                )
        tokens = [row[0] for row in rows]
        for column, place in enumerate(predicates, start=2):
            clauses.append(Clause(tokens, place))
            tags.append(_roles([row[column] for row in rows]))
        rows = []
    return Examples(clauses, tags)


def _roles(column: list[str]) -> list[str]:
    """Return roles in BIO, from BIO or from brackets such as (A0* and *); V is the predicate's."""
    tags, kind = [], "O"
    for cell in column:
        if "*" not in cell:  # BIO already
            tags.append("O" if cell[2:] == "V" else cell)
            continue
        opening, _, closing = cell.partition("*")
        begins = opening.startswith("(")
        kind = opening[1:] if begins else kind
        tags.append("O" if kind in ("O", "V") else f"{'B' if begins else 'I'}-{kind}")
        if closing.endswith(")"):
            kind = "O"
    return tags


# --- files ----------------------------------------------------------------------------------------


def _format(path: Path, asked: str, by_name: str | None, known: str) -> str:
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise DataError(f"{path} {what}; expected a file of examples")
    found = by_name if asked == "auto" else asked
    if found is None:
        raise DataError(
            f"{path} does not say by its name which format it has; name it by --format (format=): "
            f"{known}"
        )
    return found


def _numbered(path: Path) -> Iterator[tuple[int, str]]:
    with open_decompressed(path) as file:
        yield from enumerate(decode_lines(file, str(path)), start=1)


def _checked(examples: Examples, path: Path) -> Examples:
    if not examples.X:
        raise DataError(f"{path} has no examples; expected at least one")
    return examples
