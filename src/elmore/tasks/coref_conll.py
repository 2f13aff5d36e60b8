"""CoNLL-2012 files in, documents and their clusters out; and back.

A document is what stands between "#begin document (NAME); part N" and "#end document": a line a
token (name, part, number, word, …, speaker, …, clusters), a blank line between two sentences. The
last column has the clusters: (3 begins a mention of cluster 3, 3) ends the one that began last, (3)
is one of a single token, and | is between several. -, _ and nothing stand for none. The genre is
the first part of a name such as bn/abc/00/abc_0001.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from elmore.checks import one_of
from elmore.corpus.compression import open_decompressed
from elmore.corpus.lines import decode_lines
from elmore.errors import DataError, shown
from elmore.tasks.coref_metrics import Span
from elmore.tasks.documents import Document
from elmore.tasks.examples import Examples

DocumentFormat = Literal["auto", "conll"]

_BEGIN = re.compile(r"#begin document \((.*)\)(?:; part (\d{1,9}))?\s*")
_MARK = re.compile(r"(\()?([^()|\s]+)(\))?")
_NONE = ("-", "_", "")
_NOT_IN_A_WORD = re.compile(r"[\t\n\r]|^ | $")
_WORD, _SPEAKER = 3, 9
_WITH_SPEAKER = 12  # columns, at least


def read_documents(
    path: str | Path,
    *,
    format: DocumentFormat = "auto",  # noqa: A002  it is what users call it
) -> Examples:
    """Read the documents of a CoNLL-2012 file, which may be compressed.

    Each example is a `Document`, its answer the clusters, each a list of mentions (start, end),
    half-open, in tokens of the document. There is one format, "conll", which "auto" stands for.
    """
    one_of(DocumentFormat, format=format)
    path = Path(path)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise DataError(f"{path} {what}; expected a file of documents")
    X, y = [], []
    opened: _OpenDocument | None = None
    with open_decompressed(path) as file:
        for number, line in enumerate(decode_lines(file, str(path)), start=1):
            where = f"{path}, line {number},"
            if line.startswith("#begin document"):
                if opened is not None:
                    raise DataError(f"{where} begins a document inside another; end that one first")
                opened = _OpenDocument(line, where)
            elif line.startswith("#end document"):
                if opened is None:
                    raise DataError(f"{where} ends a document that did not begin; add its begin")
                X.append(opened.document())
                y.append(opened.clusters(where))
                opened = None
            elif line.strip() and not line.startswith("#"):
                if opened is None:
                    raise DataError(
                        f"{where} is in no document; expected '#begin document (NAME); part 0' "
                        "before it"
                    )
                opened.add(line, where)
            elif opened is not None and not line.strip():
                opened.end_sentence()
    if opened is not None:
        raise DataError(f"{path} ends inside a document; expected '#end document': is it whole?")
    if not X:
        raise DataError(f"{path} has no documents; expected at least one")
    return Examples(X, y)


class _OpenDocument:
    """A document whose end is not read yet."""

    def __init__(self, line: str, where: str) -> None:
        found = _BEGIN.fullmatch(line)
        if found is None:
            raise DataError(f"{where} has {shown(line)}; expected '#begin document (NAME); part 0'")
        self.header, self.name, self.part = line, found[1], int(found[2] or 0)
        self.sentences: list[list[str]] = [[]]
        self.speakers: list[str | None] = []
        self.n_tokens = 0
        self.begun: dict[str, list[tuple[int, str]]] = {}
        """The mentions of each cluster that are not ended: their first token, and its line."""
        self.mentions: dict[str, list[Span]] = {}

    def add(self, line: str, where: str) -> None:
        row = [cell.strip(" \r") for cell in line.split("\t")] if "\t" in line else line.split()
        if len(row) < _WORD + 2:
            raise DataError(
                f"{where} has {len(row)} columns; expected a document's name, its part, the "
                "token's number, the token, and its clusters in the last"
            )
        if not self.sentences[-1]:
            speaker = row[_SPEAKER] if len(row) >= _WITH_SPEAKER else ""
            self.speakers.append(None if speaker in _NONE else speaker)
        self.sentences[-1].append(row[_WORD])
        for mark in () if row[-1] in _NONE else row[-1].split("|"):
            self._mark(mark, row[-1], where)
        self.n_tokens += 1

    def _mark(self, mark: str, cell: str, where: str) -> None:
        found = _MARK.fullmatch(mark)
        if found is None or not (found[1] or found[3]):
            raise DataError(
                f"{where} has {shown(cell)} as its clusters; expected such as (3, 3), (3) or (3|4)"
            )
        cluster = found[2]
        begun = self.begun.setdefault(cluster, [])
        if found[1]:
            self.mentions.setdefault(cluster, [])  # clusters are in the order of their begin
            begun.append((self.n_tokens, where))
        if found[3]:
            if not begun:
                raise DataError(f"{where} ends a mention of {shown(cluster)} that did not begin")
            self.mentions[cluster].append((begun.pop()[0], self.n_tokens + 1))

    def end_sentence(self) -> None:
        if self.sentences[-1]:
            self.sentences.append([])

    def document(self) -> Document:
        speakers = self.speakers if any(self.speakers) else ()
        genre, slash, _ = self.name.partition("/")
        sentences = [sentence for sentence in self.sentences if sentence]
        return Document(
            sentences, speakers, genre if slash else None, self.name, self.part, self.header
        )

    def clusters(self, where: str) -> list[list[Span]]:
        for cluster, begun in self.begun.items():
            for _, begin in begun:
                raise DataError(f"{begin} begins a mention of {shown(cluster)} that does not end")
        return [sorted(mentions) for mentions in self.mentions.values()]


def document_lines(document: Document, clusters: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Give the lines of a document in CoNLL-2012's columns; what is not known is -."""
    marks = _marks(clusters, len(document.tokens))
    for word in document.tokens:
        if not word or _NOT_IN_A_WORD.search(word):
            raise DataError(
                f"the token {shown(word)} cannot be written in columns; expected one without tabs "
                "and line breaks, and not empty"
            )
    yield document.header or f"#begin document ({document.name}); part {document.part:03d}"
    place = 0
    for number, sentence in enumerate(document.sentences):
        speaker = (document.speakers[number] if document.speakers else None) or "-"
        for row, word in enumerate(sentence):
            own = [document.name or "-", str(document.part), str(row), word]
            yield "\t".join([*own, *"-----", speaker, "*", marks[place]])
            place += 1
        if sentence:
            yield ""
    yield "#end document"


def _marks(clusters: Sequence[Sequence[Any]], n_tokens: int) -> list[str]:
    """Return the last column: the longest mentions begin first and end last."""
    begins: list[list[str]] = [[] for _ in range(n_tokens)]
    ends: list[list[str]] = [[] for _ in range(n_tokens)]
    mentions = [
        (start, end, number)
        for number, cluster in enumerate(clusters)
        for start, end, *_ in cluster
    ]
    for start, end, _ in mentions:
        if not 0 <= start < end <= n_tokens:
            raise DataError(
                f"a cluster has a mention from {start} to {end}; expected a start before its end, "
                f"within 0 and {n_tokens}"
            )
    for cluster in clusters:
        for (first, last, *_), (start, end, *_) in combinations(sorted(cluster), 2):
            if first < start < last < end:
                raise DataError(
                    f"a cluster has mentions that cross, {first} to {last} and {start} to {end}, "
                    "which these columns cannot say; keep one of them"
                )
    for start, end, number in sorted(mentions, key=lambda one: (one[0], -one[1], one[2])):
        if end - start == 1:
            begins[start].append(f"({number})")
        else:
            begins[start].append(f"({number}")
            ends[end - 1].insert(0, f"{number})")
    return ["|".join(own + others) or "-" for own, others in zip(begins, ends, strict=True)]
