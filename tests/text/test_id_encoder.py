"""One layout of ids for every model: the characters of a token, then its row of the word table."""

import numpy as np
import pytest

from elmore.bilm_config import CharCnnConfig, TokenEncoderConfig, WordTableConfig
from elmore.errors import DataError
from elmore.text import ALPHABET_MARKS, IdEncoder, Vocab
from elmore.text.alphabet import alphabet_ids
from elmore.text.chars import byte_ids

BYTES = CharCnnConfig(3, ((1, 2),), 0, "relu", max_characters=5)
ALPHABETIC = CharCnnConfig(
    3, ((1, 2),), 0, "relu", max_characters=5, char_encoding="alphabet", alphabet_size=9
)
ALPHABET = Vocab([*ALPHABET_MARKS, "가", "나", "\u3000"])
MANY_LANGS = Vocab(["<pad>", "<oov>", "<eos>", "<bos>", "가나", "가나가"])
OURS = Vocab(["<S>", "</S>", "<UNK>", "bank", "ba"])


def words_of(vocab: Vocab, max_length: int | None = None) -> WordTableConfig:
    return WordTableConfig(len(vocab), 2, max_length)


def test_characters_alone() -> None:
    tokens = ["<S>", "bank", "은행"]
    found = IdEncoder(TokenEncoderConfig(BYTES)).encode(tokens)
    np.testing.assert_array_equal(found, byte_ids(tokens, 5))
    jamo = CharCnnConfig(3, ((1, 2),), 0, "relu", max_characters=5, char_encoding="jamo")
    found = IdEncoder(TokenEncoderConfig(jamo)).encode(tokens)
    np.testing.assert_array_equal(found, byte_ids(tokens, 5, "jamo"))


def test_a_word_outside_a_table_has_its_characters_alone() -> None:
    encoder = IdEncoder(TokenEncoderConfig(BYTES, words_of(OURS)), OURS)
    tokens = ["<S>", "bank", "banker", "</S>", "<UNK>"]
    found = encoder.encode(tokens)
    np.testing.assert_array_equal(found[:, :-1], byte_ids(tokens, 5))
    assert found[:, -1].tolist() == [1, 4, 0, 2, 3]
    assert encoder.outside == 0


def test_words_alone_have_a_row_for_all_others() -> None:
    encoder = IdEncoder(TokenEncoderConfig(words=words_of(OURS)), OURS)
    assert encoder.encode(["<S>", "bank", "river"]).tolist() == [[1], [4], [3]]
    assert encoder.outside == 3
    without = Vocab(["<S>", "</S>", "bank"])
    encoder = IdEncoder(TokenEncoderConfig(words=words_of(without)), without)
    assert encoder.encode(["bank"]).tolist() == [[3]]
    with pytest.raises(DataError, match="'river' is not in the vocabulary of 3 words"):
        encoder.encode(["bank", "river"])


def test_a_truncated_word_is_looked_up_truncated() -> None:
    config = TokenEncoderConfig(ALPHABETIC, words_of(MANY_LANGS, max_length=3), "concat")
    tokens = ["가나가나", "가나", "<S>", "나", "\ud800"]
    found = IdEncoder(config, MANY_LANGS, ALPHABET).encode(tokens)
    assert found[:, -1].tolist() == [6, 5, 4, 2, 2]
    np.testing.assert_array_equal(found[:, :-1], alphabet_ids(tokens, 5, ALPHABET))


def test_words_alone_of_many_langs() -> None:
    config = TokenEncoderConfig(words=words_of(MANY_LANGS, max_length=3), combine="concat")
    found = IdEncoder(config, MANY_LANGS).encode(["</S>", "가나"])
    np.testing.assert_array_equal(found, [[3], [5]])


def test_a_fine_tuned_vocabulary_keeps_our_marks() -> None:
    """Its marks are whole words, however short words are cut."""
    config = TokenEncoderConfig(ALPHABETIC, words_of(OURS, max_length=2), "concat")
    encoder = IdEncoder(config, OURS, ALPHABET)
    assert encoder.word_ids(["<S>", "</S>", "<UNK>", "bank", "river"]).tolist() == [1, 2, 3, 5, 3]
    only_whole = Vocab(["<S>", "</S>", "<UNK>", "bank"])  # a row that its word is cut from
    assert IdEncoder(config, only_whole, ALPHABET).word_ids(["bank"]).tolist() == [3]


def test_no_words() -> None:
    config = TokenEncoderConfig(ALPHABETIC, words_of(MANY_LANGS), "concat")
    assert IdEncoder(config, MANY_LANGS, ALPHABET).encode([]).shape == (0, 6)
