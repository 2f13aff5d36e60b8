"""Every text has a defined result: one finite vector for each of its tokens."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmore import Elmo

from .conftest import Run

ODD_TEXTS = {
    "empty": "",
    "blank": " \t ",
    "5,000 characters": "x" * 5000,
    "300 syllables": "값" * 300,
    "emoji": "👩‍👩‍👧‍👦 🇰🇷 ok",
    "Hangul": "한국어는 교착어입니다.",
    "decomposed Hangul": "\u1112\u1161\u11ab",
    "combining marks": "Z͑ͫ̓a\u0301\u0301\u0301 \u0301",
    "NUL": "a\0b \0",
    "control characters": "a\x01\x7f\x1b[31mb\x85c",
    "right to left": "שלום \u202eעולם\u202c مرحبا",
    "marks in the text": "<S> </S> <UNK>",
    "no-break space": "a\xa0b\u3000c",
    "beyond the BMP": "\U0010ffff \U00020000",
}
ANY_TEXT = st.text(st.characters() | st.characters(categories=["Cs"]), max_size=30)


@pytest.fixture(scope="module")
def elmos(tiny_model: Path) -> list[Elmo]:
    return [Elmo.from_pretrained(tiny_model, tokenizer=n) for n in ("english", "whitespace")]


@pytest.mark.parametrize("tokenizer", ["english", "whitespace"])
def test_every_line_of_a_file(
    elmore: Run, tiny_model: Path, elmos: list[Elmo], tmp_path: Path, tokenizer: str
) -> None:
    (tmp_path / "odd.txt").write_bytes("\n".join(ODD_TEXTS.values()).encode())
    flags = ["-m", tiny_model, "--tokenizer", tokenizer]
    records = elmore("embed", tmp_path / "odd.txt", *flags).records
    elmo = elmos[tokenizer == "whitespace"]
    for name, text, record in zip(ODD_TEXTS, ODD_TEXTS.values(), records, strict=True):
        expected = elmo.encode_tokens([text])[0]
        assert record["tokens"] == list(expected.tokens), name
        vectors = np.reshape(record["vectors"], expected.vectors.shape)
        np.testing.assert_array_equal(np.float32(vectors), expected.vectors, err_msg=name)


@pytest.mark.parametrize("name", ODD_TEXTS)
def test_as_an_argument(elmore: Run, tiny_model: Path, elmos: list[Elmo], name: str) -> None:
    (record,) = elmore("embed", ODD_TEXTS[name], "-m", tiny_model).records
    (expected,) = elmos[0].encode_tokens([ODD_TEXTS[name]])
    assert record["tokens"] == list(expected.tokens)
    vectors = np.reshape(record["vectors"], expected.vectors.shape)
    np.testing.assert_array_equal(np.float32(vectors), expected.vectors)


@settings(deadline=None, max_examples=40)
@given(texts=st.lists(ANY_TEXT | st.lists(ANY_TEXT, max_size=5), max_size=5))
def test_any_text_and_any_tokens(elmos: list[Elmo], texts: list[str | list[str]]) -> None:
    for elmo in elmos:
        for text, found in zip(texts, elmo.encode_tokens(texts), strict=True):
            assert found.vectors.shape == (len(found.tokens), elmo.dim)
            assert np.isfinite(found.vectors).all()
            if isinstance(text, list):
                assert found.tokens == tuple(text)


def test_only_the_first_48_bytes_of_a_word_count(elmos: list[Elmo]) -> None:
    words = [["x" * 48], ["x" * 5000], ["x" * 47]]
    whole, longer, shorter = (text.vectors for text in elmos[0].encode_tokens(words))
    np.testing.assert_array_equal(longer, whole)
    assert not np.allclose(shorter, whole, atol=1e-3)


def test_lone_surrogates_count_for_nothing_in_a_word(elmos: list[Elmo]) -> None:
    with_them, without = elmos[0].encode_tokens([["a\ud800b", "\udfff"], ["ab", ""]])
    assert with_them.tokens == ("a\ud800b", "\udfff")
    np.testing.assert_array_equal(with_them.vectors, without.vectors)
