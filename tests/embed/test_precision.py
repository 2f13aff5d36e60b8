"""bfloat16 keeps the direction of vectors, whichever way the processor multiplies it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmore import BiLM, Elmo
from elmore.bilm_config import BiLMConfig, CharCnnConfig, LstmConfig, TokenEncoderConfig
from elmore.errors import ConfigError
from elmore.formats import Pretrained

FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
TEXTS = [
    ["The", "old", "man", "sat", "on", "the", "bank", "of", "the", "river", "."],
    ["She", "opened", "an", "account", "at", "the", "bank", "in", "Seoul", "in", "1987", "."],
    ["은행", "앞", "에서", "사과", "를", "샀다", "."],
]


def cosines(one: Elmo, other: Elmo) -> Any:
    pairs = zip(
        one.encode_tokens(TEXTS, layers="all"),
        other.encode_tokens(TEXTS, layers="all"),
        strict=True,
    )
    found = []
    for a, b in pairs:
        products = (a.vectors * b.vectors).sum(-1)
        lengths = np.linalg.norm(a.vectors, axis=-1) * np.linalg.norm(b.vectors, axis=-1)
        found.append((products / lengths).ravel())
    return np.concatenate(found)


def check(model: Pretrained) -> None:
    found = cosines(Elmo(model), Elmo(model, precision="bfloat16"))
    assert found.mean() >= 0.999
    assert found.min() >= 0.99
    assert found.min() < 1 - 1e-7, "nothing was rounded"


def test_cosine_on_the_golden_model(golden: Path) -> None:
    check(Elmo.from_pretrained(golden).model)


@pytest.mark.slow
def test_cosine_at_the_original_shape() -> None:
    torch.manual_seed(0)
    config = BiLMConfig(
        TokenEncoderConfig(CharCnnConfig(16, FILTERS, 2, "relu")), LstmConfig(2, 4096, 512)
    )
    check(Pretrained(config, BiLM(config).arrays, "whitespace"))


@pytest.mark.parametrize(("has_it", "expected"), [(True, "bfloat16"), (False, "float32")])
def test_auto_asks_the_processor(
    tiny_elmo: Elmo, monkeypatch: pytest.MonkeyPatch, *, has_it: bool, expected: str
) -> None:
    monkeypatch.setattr("elmore.engine.precision.has_bfloat16", lambda: has_it)
    assert Elmo(tiny_elmo.model, precision="auto").precision == expected
    textbook = Elmo(tiny_elmo.model, precision="auto", engine="textbook")
    assert textbook.precision == "float32"


def test_refused(tiny_elmo: Elmo) -> None:
    with pytest.raises(ConfigError, match="expected one of float32, bfloat16, auto"):
        Elmo(tiny_elmo.model, precision="int8")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="textbook engine has float32 only"):
        Elmo(tiny_elmo.model, precision="bfloat16", engine="textbook")


def test_whatever_torch_makes_by_default(tiny_model: Path) -> None:
    expected = Elmo.from_pretrained(tiny_model)
    torch.set_default_dtype(torch.float64)
    try:
        found = Elmo.from_pretrained(tiny_model)
        for layers in ("all", "mix"):
            for a, b in zip(
                expected.encode_tokens(TEXTS, layers=layers),  # type: ignore[arg-type]
                found.encode_tokens(TEXTS, layers=layers),  # type: ignore[arg-type]
                strict=True,
            ):
                np.testing.assert_array_equal(a.vectors, b.vectors)
        np.testing.assert_array_equal(expected.encode(TEXTS), found.encode(TEXTS))
    finally:
        torch.set_default_dtype(torch.float32)


def test_loaded_in_inference_mode(tiny_model: Path) -> None:
    with torch.inference_mode():
        found = Elmo.from_pretrained(tiny_model)
    expected = Elmo.from_pretrained(tiny_model)
    np.testing.assert_array_equal(expected.encode(TEXTS), found.encode(TEXTS))
