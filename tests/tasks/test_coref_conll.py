"""CoNLL-2012 files are read whole and written back; what is wrong is named with its line."""

import gzip
from pathlib import Path

import pytest

from elmore.errors import DataError
from elmore.tasks import Document, document_lines, read_documents
from tests.conftest import SHARED

OFFICIAL = """\
#begin document (bn/abc/00/abc_0001); part 000
bn/abc/00/abc_0001   0   0    Kim   NNP  (TOP(S(NP*)   -   -   -   Lee   (PERSON)  (ARG0*)   (0)
bn/abc/00/abc_0001   0   1   left   VBD       (VP*)))  go  01   1   Lee   *            (V*)     -

bn/abc/00/abc_0001   0   0   The   DT   *   -   -   -   -   *    *   (1|(0
bn/abc/00/abc_0001   0   1   old   JJ   *   -   -   -   -   *    *   (2
bn/abc/00/abc_0001   0   2   man   NN   *   -   -   -   -   *    *   1)|(3)
bn/abc/00/abc_0001   0   3   ran   NN   *   -   -   -   -   *    *   2)|0)

#end document
#begin document (bn/abc/00/abc_0001); part 001
bn/abc/00/abc_0001   1   0    She   PRP  *   -   -   -   Kim   *  *   -
#end document
"""


def test_nested_and_crossing_mentions_of_several_parts(tmp_path: Path) -> None:
    path = tmp_path / "dev.conll"
    path.write_text(OFFICIAL)
    found = read_documents(path)
    name = "bn/abc/00/abc_0001"
    first = Document([["Kim", "left"], ["The", "old", "man", "ran"]], ["Lee", None], "bn", name, 0)
    assert [first, Document([["She"]], ["Kim"], "bn", name, 1)] == found.X
    # 0 has (2, 6), around 1's (2, 5), which 2's (3, 6) crosses
    assert found.y == [[[(0, 1), (2, 6)], [(2, 5)], [(3, 6)], [(4, 5)]], []]
    compressed = tmp_path / "dev.conll.gz"
    compressed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_documents(compressed, format="conll") == found


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "dev.conll"
    path.write_text(OFFICIAL)
    found = read_documents(path)
    nested = [[(0, 3), (0, 2), (1, 2), (0, 1), (2, 3)], [(1, 3), (3, 4)]]  # of one cluster, too
    documents = [*found.X, Document([["a", "b"], ["c"], ["d\u00a0e"]])]
    clusters = [*found.y, [sorted(cluster) for cluster in nested]]
    lines = [line for one in zip(documents, clusters, strict=True) for line in document_lines(*one)]
    path.write_text("\n".join(lines) + "\n")
    again = read_documents(path)
    assert documents == again.X
    assert again.y == clusters
    assert lines[1].split("\t") == [
        "bn/abc/00/abc_0001", "0", "0", "Kim", *"-----", "Lee", "*", "(0)",
    ]  # fmt: skip


@pytest.mark.parametrize("header", ["(d); part 0", "(d)", "(d); part 012"])
def test_the_line_that_begins_a_document_is_kept(tmp_path: Path, header: str) -> None:
    path = tmp_path / "dev.conll"
    path.write_text(f"#begin document {header}\n{LINE.format('-')}#end document\n")
    (document,) = read_documents(path).X
    assert next(document_lines(document, [])) == f"#begin document {header}"


@pytest.mark.parametrize(
    ("words", "cluster", "message"),
    [
        (["a", "b", "c"], [(0, 2), (1, 3)], "mentions that cross, 0 to 2 and 1 to 3"),
        (["a"], [(0, 2)], "a mention from 0 to 2; expected a start before its end, within 0 and 1"),
        (["a\tb"], [], r"the token 'a\\tb' cannot be written"),
        ([""], [], "the token '' cannot be written"),
    ],
)
def test_what_cannot_be_written(
    words: list[str], cluster: list[tuple[int, int]], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        list(document_lines(Document([words]), [cluster]))


LINE = "d 0 0 Kim - - - - - - * {}\n"
BEGIN, END = "#begin document (d); part 000\n", "#end document\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "has no documents"),
        (LINE, "line 1, is in no document"),
        (BEGIN + LINE.format("-"), "ends inside a document"),
        (BEGIN + BEGIN + END, "line 2, begins a document inside another"),
        (END, "line 1, ends a document that did not begin"),
        ("#begin document d\n" + END, "line 1, has '#begin document d'; expected"),
        (BEGIN + "d 0 0 Kim\n" + END, "line 2, has 4 columns; expected"),
        (BEGIN + LINE.format("(3") + END, "line 2, begins a mention of '3' that does not end"),
        (BEGIN + LINE.format("3)") + END, "line 2, ends a mention of '3' that did not begin"),
        (BEGIN + LINE.format("3") + END, r"line 2, has '3' as its clusters; expected such as \(3"),
        (BEGIN + LINE.format("(3)(4)") + END, "as its clusters"),
        (
            BEGIN.replace("000", "1" * 5000) + END,
            r"line 1, has '#begin document \(d\); part 1+\.\.\.1",
        ),
    ],
)
def test_files_that_are_wrong(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "dev.conll"
    path.write_text(content)
    with pytest.raises(DataError, match=message) as refused:
        read_documents(path)
    assert len(str(refused.value)) < 1000


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist; expected a file of documents"):
        read_documents(tmp_path / "dev.conll")
    with pytest.raises(DataError, match="is a folder"):
        read_documents(tmp_path)


def test_a_document_has_a_speaker_for_each_sentence_or_none() -> None:
    with pytest.raises(DataError, match="2 sentences and 1 speakers; expected one for each"):
        Document([["a"], ["b"]], ["Kim"])


def test_the_published_documents() -> None:
    folder = SHARED / "data/tasks/litbank-coref"
    if not folder.exists():
        pytest.skip("LitBank is not here (shared/data/tasks/litbank-coref beside the project)")
    found = read_documents(folder / "dev.conll.xz")
    assert len(found) == 10
    assert sum(len(document.tokens) for document in found.X) == 20_770
    mentions = [mention for clusters in found.y for cluster in clusters for mention in cluster]
    assert (len(mentions), sum(map(len, found.y))) == (2619, 770)
    assert {(one.genre, tuple(one.speakers)) for one in found.X} == {(None, ())}
