"""Static vectors are looked up in any case, compared, saved, mapped, and given to gensim."""

import json
from pathlib import Path

import numpy as np
import pytest

from elmore import StaticVectors
from elmore.errors import ConfigError, DataError, FormatError, MissingExtraError

WORDS = ["the", "Seoul", "NASA", "사과", "apple", "Apple"]
VECTORS = np.array([[1, 0], [0, 1], [1, 1], [0.5, 0], [0, -1], [2, 2]], np.float32)


@pytest.fixture
def vectors() -> StaticVectors:
    return StaticVectors(WORDS, VECTORS)


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("the", "the"), ("The", "the"), ("THE", "the"), ("seoul", "Seoul"), ("SEOUL", "Seoul"),
        ("nasa", "NASA"), ("Nasa", "NASA"), ("Apple", "Apple"), ("apple", "apple"),
        ("APPLE", "apple"), ("사과", "사과"),
    ],
)  # fmt: skip
def test_a_word_is_found_in_another_case(vectors: StaticVectors, word: str, found: str) -> None:
    assert word in vectors
    row = WORDS.index(found)
    assert vectors.row(word) == row
    assert vectors.encode([word]).tolist() == [VECTORS[row].tolist()]


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_numbers_of_another_type_are_float32(dtype: type) -> None:
    assert StaticVectors(WORDS, VECTORS.astype(dtype)).vectors.dtype == np.float32


def test_an_unknown_word_has_a_vector_of_its_own(vectors: StaticVectors) -> None:
    assert "river" not in vectors
    assert vectors.encode(["river", "the"]).tolist() == [[0, 0], [1, 0]]
    mean = StaticVectors(WORDS, VECTORS, unknown="mean")
    np.testing.assert_allclose(mean.encode(["river"])[0], VECTORS.mean(axis=0))
    assert vectors.encode([]).shape == (0, 2)
    assert vectors.encode(["the"]).dtype == np.float32


def test_most_similar(vectors: StaticVectors) -> None:
    found = vectors.most_similar("the", 3)
    assert [word for word, _ in found] == ["사과", "NASA", "Apple"]  # equal ones in their order
    assert [cosine for _, cosine in found] == pytest.approx([1, 0.5**0.5, 0.5**0.5])
    assert len(vectors.most_similar("the", 100)) == len(WORDS) - 1
    assert vectors.most_similar(np.array([0, -2], np.float32), 1)[0] == ("apple", pytest.approx(1))
    assert vectors.most_similar(np.zeros(2, np.float32), 1)[0].cosine == 0
    with pytest.raises(DataError, match="'river' has no vector here"):
        vectors.most_similar("river")
    with pytest.raises(DataError, match=r"shape \(3,\); expected \(2,\)"):
        vectors.most_similar(np.zeros(3, np.float32))


def test_saved_and_mapped(vectors: StaticVectors, tmp_path: Path) -> None:
    vectors.save(tmp_path / "saved")
    found = StaticVectors.load(tmp_path / "saved", unknown="mean")
    assert isinstance(found.vectors, np.memmap)
    assert list(found.vocab) == WORDS
    np.testing.assert_array_equal(found.vectors, VECTORS)
    assert found.most_similar("the", 2) == vectors.most_similar("the", 2)
    assert list(StaticVectors.load(tmp_path / "saved", max_words=2).vocab) == WORDS[:2]
    with pytest.raises(ConfigError, match="exists already"):
        vectors.save(tmp_path / "saved")


def test_a_saved_folder_that_was_changed(vectors: StaticVectors, tmp_path: Path) -> None:
    def changed(name: str, content: bytes, message: str) -> None:
        folder = tmp_path / message
        vectors.save(folder)
        (folder / name).write_bytes(content)
        with pytest.raises(FormatError, match=message):
            StaticVectors.load(folder)

    changed("vocab.txt", b"the\n", "has 1 words and vectors")
    changed("vectors.npy", b"nothing", "cannot be read")
    changed("config.json", b"{}", "format is None")
    other = json.dumps({"format": "elmore-static-1", "dim": 3, "n_words": 6}).encode()
    changed("config.json", other, "expected ..., 3")


def test_what_cannot_be() -> None:
    with pytest.raises(DataError, match=r"2 words, and the vectors have shape \(6, 2\)"):
        StaticVectors(["a", "b"], VECTORS)
    with pytest.raises(DataError, match="'a' twice"):
        StaticVectors(["a", "a"], VECTORS[:2])
    with pytest.raises(ConfigError, match="unknown is 'random'; expected zero or mean"):
        StaticVectors(WORDS, VECTORS, unknown="random")
    with pytest.raises(ConfigError, match="max_words is 0"):
        StaticVectors.load("x", max_words=0)
    with pytest.raises(DataError, match="got the string 'the'; expected a list"):
        StaticVectors(WORDS, VECTORS).encode("the")


def test_gensim_and_back(vectors: StaticVectors) -> None:
    pytest.importorskip("gensim", reason="gensim is in elmore[static]")
    theirs = vectors.to_gensim()
    assert theirs["사과"].tolist() == [0.5, 0]
    back = StaticVectors.from_gensim(theirs)
    assert list(back.vocab) == WORDS
    np.testing.assert_array_equal(back.vectors, VECTORS)


def test_without_gensim(vectors: StaticVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "gensim.models", None)
    with pytest.raises(MissingExtraError, match=r"elmore\[static\]"):
        vectors.to_gensim()


def test_cosines_of_float16() -> None:
    numbers = 20 * np.random.default_rng(1).normal(size=(5, 300))
    half = StaticVectors(list("abcde"), numbers.astype(np.float16))  # whose norms overflow
    whole = StaticVectors(list("abcde"), numbers.astype(np.float32))
    expected = whole.most_similar("a", 4)
    assert [one.word for one in half.most_similar("a", 4)] == [one.word for one in expected]
    assert half.most_similar("a", 1)[0].cosine == pytest.approx(expected[0].cosine, abs=1e-3)


def test_text_has_the_digits_that_give_the_same_bits(tmp_path: Path) -> None:
    vectors = np.random.default_rng(1).normal(size=(3, 50)).astype(np.float32)
    StaticVectors(["a", "b", "c"], vectors).write_text(tmp_path / "v.txt")
    assert StaticVectors.load(tmp_path / "v.txt").vectors.tobytes() == vectors.tobytes()
    assert (tmp_path / "v.txt").stat().st_size < 150 * 14
