"""A shape that cannot be is refused where it is written down."""

from typing import Any

import pytest

from elmore.errors import ConfigError
from elmore.model import (
    AlphabetCnnConfig,
    BiLMConfig,
    CharCnnConfig,
    ConcatConfig,
    LstmConfig,
    WordEmbeddingConfig,
    WordTableConfig,
)

CNN = {"char_dim": 4, "filters": ((1, 2), (3, 4)), "n_highway": 1, "activation": "relu"}
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
        (WordTableConfig, {"n_words": 0}, "n_words is 0"),
        (WordEmbeddingConfig, {"n_words": 3, "dim": 0}, "dim is 0"),
        (AlphabetCnnConfig, CNN | {"alphabet_size": 0}, "alphabet_size is 0"),
        (AlphabetCnnConfig, CNN | {"alphabet_size": 9, "filters": ()}, "filters is"),
        (
            ConcatConfig,
            {"words": None, "char_cnn": AlphabetCnnConfig(9, 4, ((5, 2),), 1, "relu")}
            | {"max_characters": 4},
            "max_characters is 4; .* at least 5",
        ),
        (
            ConcatConfig,
            {"words": None, "char_cnn": None, "max_characters": 4},
            "neither words nor characters",
        ),
    ],
)
def test_refused(cls: Any, fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        cls(**fields)


def test_the_repr_that_models_are_hashed_by() -> None:
    """The fingerprint of every model is made of it, so it may not change."""
    config = BiLMConfig(CharCnnConfig(**CNN), LstmConfig(**LSTM))  # type: ignore[arg-type]
    assert repr(config) == (
        "BiLMConfig(token_encoder=CharCnnConfig(char_dim=4, filters=((1, 2), (3, 4)), n_highway=1, "
        "activation='relu', max_characters=50, spelling='bytes'), lstm=LstmConfig(n_layers=2, "
        "cell_dim=8, projection_dim=4, cell_clip=3.0, projection_clip=3.0, "
        "skip_connections=True), n_softmax_words=None)"
    )


def test_refused_softmax() -> None:
    with pytest.raises(ConfigError, match="n_softmax_words is 0"):
        BiLMConfig(WordTableConfig(3), LstmConfig(**LSTM), n_softmax_words=0)  # type: ignore[arg-type]
