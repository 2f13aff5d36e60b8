"""Every published form of static vectors gives the same words and numbers; a bad one a sentence."""

import bz2
import gzip
import lzma
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmore import StaticVectors
from elmore.errors import DataError, ElmoreError, FormatError
from elmore.static import readers

WORDS = ["the", "은행", "a b", "😀", "x\u00a0y", "0.5"]
VECTORS = np.array(
    [[0.25, -1.5, 3e-5], [1, 2, 3], [0, 0, 0], [-0.125, 7, 1e10], [4, 5, 6], [7, 8, 9]], np.float32
)


def as_text(*, header: bool) -> bytes:
    rows = [
        f"{word} {' '.join(map(str, vector.tolist()))}"
        for word, vector in zip(WORDS, VECTORS, strict=True)
    ]
    return "".join(f"{row}\n" for row in ["6 3"] * header + rows).encode()


def as_binary(end: bytes = b"\n") -> bytes:
    rows = [
        word.encode() + b" " + vector.tobytes() + end
        for word, vector in zip(WORDS, VECTORS, strict=True)
    ]
    return b"6 3\n" + b"".join(rows)


KINDS: dict[str, tuple[str, bytes]] = {
    "GloVe": ("a.txt", as_text(header=False)),
    "word2vec": ("a.txt", as_text(header=True)),
    "fastText": ("a.vec", as_text(header=True).replace(b"\n", b" \n")),
    "Windows": ("a.txt", as_text(header=False).replace(b"\n", b"\r\n")),
    "no last end of line": ("a.txt", as_text(header=True).rstrip()),
}
# A word of several parts cannot stand in a binary file, whose words end at a space.
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress,
}  # fmt: skip


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_text(tmp_path: Path, kind: str, packing: str) -> None:
    name, content = KINDS[kind]
    path = tmp_path / (name + packing)
    path.write_bytes(PACKERS[packing](content))
    found = StaticVectors.load(path)
    assert list(found.vocab) == WORDS
    np.testing.assert_array_equal(found.vectors, VECTORS)


@pytest.mark.parametrize("end", [b"\n", b""])
@pytest.mark.parametrize("packing", PACKERS)
def test_binary(tmp_path: Path, packing: str, end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "_ROWS_AT_ONCE", 4)
    monkeypatch.setattr(readers, "_BYTES_AT_ONCE", 20)
    path = tmp_path / f"a.bin{packing}"
    path.write_bytes(PACKERS[packing](as_binary(end).replace(b"a b", b"a-b")))
    found = StaticVectors.load(path)
    assert list(found.vocab) == [word.replace("a b", "a-b") for word in WORDS]
    np.testing.assert_array_equal(found.vectors, VECTORS)
    assert list(StaticVectors.load(path, max_words=5).vocab) == list(found.vocab)[:5]


@settings(deadline=None, max_examples=100)
@given(
    st.lists(
        st.lists(
            st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=2, max_size=2
        ),
        min_size=1,
    )
)
def test_numbers_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[tuple[float, float]]
) -> None:
    folder = tmp_path_factory.mktemp("numbers")
    words = [f"w{k}" for k in range(len(numbers))]
    vectors = StaticVectors(words, np.array(numbers, np.float32))
    vectors.write_text(folder / "a.txt")
    np.testing.assert_array_equal(StaticVectors.load(folder / "a.txt").vectors, vectors.vectors)


def test_the_first_words_alone(tmp_path: Path) -> None:
    for header in (False, True):
        path = tmp_path / "a.txt"
        path.write_bytes(as_text(header=header))
        found = StaticVectors.load(path, max_words=2)
        assert list(found.vocab) == WORDS[:2]
        np.testing.assert_array_equal(found.vectors, VECTORS[:2])


def test_of_a_word_that_is_there_twice_the_first_is_taken(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a 1 2\nb 3 4\na 5 6\n")
    found = StaticVectors.load(tmp_path / "a.txt")
    assert list(found.vocab) == ["a", "b"]
    assert found.vectors.tolist() == [[1, 2], [3, 4]]


NAN = struct.pack("<f", float("nan"))
BAD: dict[str, bytes] = {
    "line 2, has 1 values; expected a word and 2 values": b"a 1 2\nb 3\n",
    "line 2, has 3 values; expected a word and 2 values": b"a 1 2\nb 3 4 5\n",
    "line 3, has 3 values": b"2 2\na 1 2\nb 3 4 5\n",
    "line 1, has 0 values; expected a word and its values": b"word\n",
    "line 2, has 'nan'; expected a number": b"a 1 2\nb nan 2\n",
    "line 2, has 'inf'; expected a number": b"a 1 2\nb 1 inf\n",
    "line 2, has '1e60'; expected a number": b"a 1 2\nb 1 1e60\n",
    "line 2, has 'x'; expected a number": b"a 1 2\nb 1 x\n",
    "line 2, has '1_0'; expected a number": b"a 1 2\nb 1 1_0\n",
    "has no vectors": b"",
    "has no vectors; expected": b"\n\n",
    "says that it has 3 words and has 1": b"3 2\na 1 2\n",
    "says that it has 1 words and has 2": b"1 2\na 1 2\nb 1 2\n",
    "has a header with 0 dimensions": b"3 0\na\n",
    "says that it has 3 words and ends in word 2": b"3 2\na " + b"\0" * 8 + b"b \0\0",
    "word 2, has a number that is nan": b"2 1\na \0\0\0\0b " + NAN,
    "which is not UTF-8; errors=": b"a 1 2\n\xff 3 4\n",
}


@pytest.mark.parametrize("message", BAD)
def test_a_file_that_is_not_what_it_says(tmp_path: Path, message: str) -> None:
    (tmp_path / "a.txt").write_bytes(BAD[message])
    with pytest.raises(FormatError, match=message):
        StaticVectors.load(tmp_path / "a.txt")


def test_words_that_cannot_be_read_may_be_marked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a 1 2\n\xff 3 4\n")
    assert "\ufffd" in StaticVectors.load(tmp_path / "a.txt", errors="replace")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist; expected a file of vectors"):
        StaticVectors.load(tmp_path / "none")
    with pytest.raises(FormatError, match="; expected a folder of static vectors"):
        StaticVectors.load(tmp_path)


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=200) | st.binary(max_size=60).map(lambda b: b"2 2\n" + b))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("bytes") / "a"
    path.write_bytes(content)
    try:
        found = StaticVectors.load(path)
    except ElmoreError:
        return
    assert np.isfinite(found.vectors).all()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # gensim's files
def test_published_samples(shared_vectors: Path) -> None:
    expected = StaticVectors.load(shared_vectors / "fake_embeddings.5d.txt")
    assert expected.vectors.shape[1] == 5
    assert expected.encode(["If"]).tolist() == [pytest.approx([0.798, 0.817, 0.213, 0.501, 0.712])]
    for packing in ("gz", "bz2", "xz", "zip"):
        found = StaticVectors.load(shared_vectors / f"fake_embeddings.5d.txt.{packing}")
        assert list(found.vocab) == list(expected.vocab)
        np.testing.assert_array_equal(found.vectors, expected.vectors)
    text, binary = (
        StaticVectors.load(shared_vectors / f"high_precision.kv.{kind}") for kind in ("txt", "bin")
    )
    assert list(text.vocab) == list(binary.vocab) == ["kangaroo.n.01", "horse.n.01"]
    np.testing.assert_allclose(text.vectors, binary.vectors, rtol=1e-2)
    with pytest.raises(FormatError, match="says that it has 3 words and has 1"):
        StaticVectors.load(shared_vectors / "pretrained.vec")
    gensim = pytest.importorskip("gensim.models", reason="gensim is in elmore[static]")
    for name, options in (
        ("test_glove.txt", {"no_header": True}),
        ("glove.6B.100d.sample.txt.gz", {"no_header": True}),
        ("euclidean_vectors.bin", {"binary": True}),
    ):
        theirs = gensim.KeyedVectors.load_word2vec_format(str(shared_vectors / name), **options)
        ours = StaticVectors.load(shared_vectors / name)
        assert list(ours.vocab) == theirs.index_to_key
        np.testing.assert_array_equal(ours.vectors, theirs.vectors)


def test_text_whose_first_word_is_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_bytes(b"2 4\ncaf\xe9 0.1 0.2 0.3 0.4\ntea 1 2 3 4\n")
    found = StaticVectors.load(path, errors="replace")
    assert list(found.vocab) == ["caf\ufffd", "tea"]
    np.testing.assert_allclose(found.vectors[0], [0.1, 0.2, 0.3, 0.4], atol=1e-7)


def test_binary_whose_first_value_begins_with_a_line_break(tmp_path: Path) -> None:
    vector = np.frombuffer(b"\n\x00\x80\x3f\x00\x00\x00\x40", "<f4")
    path = tmp_path / "vectors.bin"
    path.write_bytes(b"1 2\nthe " + vector.tobytes())
    np.testing.assert_array_equal(StaticVectors.load(path).vectors[0], vector)


@pytest.mark.parametrize("header", [b"3 2\n", b""])
def test_blank_lines_are_no_words(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "vectors.txt"
    path.write_bytes(header + b"a 1 2\n\nb 1 2\nc 2 3\n")
    assert list(StaticVectors.load(path, max_words=2).vocab) == ["a", "b"]


@pytest.mark.parametrize("word", ["", "a\t", "a 5", "a\nb", "\r", " a", "a  b"])
def test_words_that_text_cannot_hold(tmp_path: Path, word: str) -> None:
    vectors = StaticVectors(["the", word], np.eye(2, dtype=np.float32))
    with pytest.raises(DataError, match="cannot be written as text"):
        vectors.write_text(tmp_path / "vectors.txt")
    assert not list(tmp_path.iterdir())
