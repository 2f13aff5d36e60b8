"""Row i is word i, in the file and in memory."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from elmore.errors import DataError, FormatError
from elmore.text import Vocab

WORD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), min_size=1)


@settings(deadline=None, max_examples=100)
@given(words=st.lists(WORD, unique=True))
@example(["\ufeff"])
@example(["\ufeffthe", "cat"])
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    path = tmp_path_factory.mktemp("vocab") / "vocab.txt"
    Vocab(words).save(path)
    vocab = Vocab.load(path)
    assert list(vocab) == words
    assert vocab.encode(words).tolist() == list(range(len(words)))


def test_row_0_is_an_ordinary_word_and_strangers_are_unk() -> None:
    vocab = Vocab(["the", "<UNK>", "cat"])
    assert vocab.encode(["the", "dog", "cat", "The"]).tolist() == [0, 1, 2, 1]
    assert vocab.encode([]).tolist() == []
    assert ("the" in vocab, "dog" in vocab) == (True, False)
    assert "the" in vocab
    assert "dog" not in vocab


def test_without_unk_a_stranger_is_named() -> None:
    with pytest.raises(DataError, match=r"'dog' is not in the vocabulary of 2 words.*<UNK>"):
        Vocab(["the", "cat"]).encode(["cat", "dog", "bird"])


def write(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "vocab.txt"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "content", [b"<S>\r\n</S>\r\ncat\r\n", b"<S>\n</S>\ncat", b"<S>\n</S>\ncat\n"]
)
def test_line_ends_are_no_part_of_words(tmp_path: Path, content: bytes) -> None:
    assert list(Vocab.load(write(tmp_path, content))) == ["<S>", "</S>", "cat"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\na\n", "'a' twice"),
        (b"a\n\nb\n", "no word in line 2"),
        (b"a\r\n\r\nb\r\n", "no word in line 2"),
        (b"a\nb\n\xff\nc\n", "not UTF-8 in line 3"),
    ],
)
def test_a_faulty_file_is_refused_with_the_place(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = write(tmp_path, content)
    with pytest.raises(FormatError, match=message) as caught:
        Vocab.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("word", ["", "a\nb", "a\r", "\ud800", "a" * 10**6 + "\ud800"])
def test_words_that_no_file_holds(tmp_path: Path, word: str) -> None:
    with pytest.raises(DataError, match="cannot be saved in a file of one word a line") as caught:
        Vocab(["the", word]).save(tmp_path / "vocab.txt")
    assert len(str(caught.value)) < 300
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("word", ["a", "\x00", "\x1b[31m", "\x85", "\u2028", "a b", "x" * 10**6])
def test_a_word_that_is_there_twice(tmp_path: Path, word: str) -> None:
    with pytest.raises(FormatError, match="twice; each word may occur once") as caught:
        Vocab.load(write(tmp_path, f"{word}\nb\n{word}\n".encode()))
    assert len(str(caught.value)) < 400
    assert str(caught.value).isprintable()
    with pytest.raises(DataError, match="is not in the vocabulary of 1 words") as caught_other:
        Vocab(["the"]).encode([word])
    assert len(str(caught_other.value)) < 300
