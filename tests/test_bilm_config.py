"""A shape that cannot be is refused where it is written down."""

from typing import Any

import pytest

from elmore.bilm_config import (
    BiLMConfig,
    CharCnnConfig,
    LstmConfig,
    TokenEncoderConfig,
    WordTableConfig,
)
from elmore.errors import ConfigError

CNN = {"char_dim": 4, "filters": ((1, 2), (3, 4)), "n_highway": 1, "activation": "relu"}
ALPHABET = CNN | {"char_encoding": "alphabet", "alphabet_size": 9}
LSTM = {"n_layers": 2, "cell_dim": 8, "projection_dim": 4}


@pytest.mark.parametrize(
    ("cls", "fields", "message"),
    [
        (CharCnnConfig, CNN | {"char_dim": 0}, "char_dim is 0; expected a whole number"),
        (CharCnnConfig, CNN | {"char_dim": "4"}, "char_dim is '4'; expected a whole number"),
        (CharCnnConfig, CNN | {"filters": ()}, "filters is"),
        (CharCnnConfig, CNN | {"filters": ((1, 2, 3),)}, "filters is"),
        (CharCnnConfig, CNN | {"filters": ((0, 2),)}, "a filter's width is 0"),
        (CharCnnConfig, CNN | {"n_highway": -1}, "n_highway is -1"),
        (CharCnnConfig, CNN | {"activation": "gelu"}, "activation is 'gelu'"),
        (CharCnnConfig, CNN | {"max_characters": 2}, "max_characters is 2; .* at least 3"),
        (LstmConfig, LSTM | {"n_layers": True}, "n_layers is True"),
        (LstmConfig, LSTM | {"projection_dim": 9}, "cannot be wider"),
        (LstmConfig, LSTM | {"cell_clip": 0}, "cell_clip is 0"),
        (LstmConfig, LSTM | {"projection_clip": "3"}, "projection_clip is '3'"),
        (LstmConfig, LSTM | {"skip_connections": 1}, "skip_connections is 1"),
        (LstmConfig, LSTM | {"forget_bias": "1"}, "forget_bias is '1'"),
        (LstmConfig, LSTM | {"forget_bias": float("nan")}, "forget_bias is nan"),
        (LstmConfig, LSTM | {"always_project": None}, "always_project is None"),
        (WordTableConfig, {"n_words": 0, "dim": 3}, "n_words is 0"),
        (WordTableConfig, {"n_words": 3, "dim": 0}, "dim is 0"),
        (WordTableConfig, {"n_words": 3, "dim": 3, "max_length": 0}, "max_length is 0"),
        (CharCnnConfig, ALPHABET | {"alphabet_size": 0}, "alphabet_size is 0"),
        (CharCnnConfig, ALPHABET | {"alphabet_size": None}, "alphabet_size is None; an alphabet"),
        (CharCnnConfig, CNN | {"alphabet_size": 9}, "'bytes', and alphabet_size is 9"),
        (CharCnnConfig, CNN | {"char_encoding": "sound"}, "char_encoding is 'sound'; expected one"),
        (
            CharCnnConfig,
            ALPHABET | {"filters": ((5, 2),), "max_characters": 4},
            "max_characters is 4; .* at least 5",
        ),
        (TokenEncoderConfig, {}, "neither chars nor words"),
        (TokenEncoderConfig, {"words": WordTableConfig(3, 4), "combine": "mean"}, "combine is"),
    ],
)
def test_refused(cls: Any, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        cls(**fields)


def test_refused_softmax() -> None:
    encoder = TokenEncoderConfig(words=WordTableConfig(3, 4))
    with pytest.raises(ConfigError, match="n_softmax_words is 0"):
        BiLMConfig(encoder, LstmConfig(**LSTM), n_softmax_words=0)


def test_rows_that_are_added_have_the_width_of_a_vector() -> None:
    words = WordTableConfig(3, 5)
    with pytest.raises(ConfigError, match=r"words.dim is 5, and projection_dim is 4"):
        BiLMConfig(TokenEncoderConfig(CharCnnConfig(**CNN), words), LstmConfig(**LSTM))
    concatenated = TokenEncoderConfig(CharCnnConfig(**CNN), words, "concat")
    assert BiLMConfig(concatenated, LstmConfig(**LSTM)).token_encoder.projected_dim(4) == 11


@pytest.mark.parametrize(
    ("config", "n_ids", "n_projected"),
    [
        (TokenEncoderConfig(CharCnnConfig(**CNN)), 50, 6),
        (TokenEncoderConfig(CharCnnConfig(**CNN | {"filters": ((1, 4),)})), 50, None),
        (TokenEncoderConfig(CharCnnConfig(**CNN), WordTableConfig(3, 4)), 51, 6),
        (TokenEncoderConfig(words=WordTableConfig(3, 4)), 1, None),
        (TokenEncoderConfig(words=WordTableConfig(3, 4), combine="concat"), 1, 4),
    ],
)
def test_the_ids_of_a_token_and_what_is_projected(
    config: TokenEncoderConfig, n_ids: int, n_projected: int | None
) -> None:
    assert (config.n_ids, config.projected_dim(4)) == (n_ids, n_projected)


def test_equal_numbers_are_equally_written() -> None:
    assert repr(LstmConfig(2, 8, 4, 3, 3, forget_bias=1)) == repr(LstmConfig(2, 8, 4))
