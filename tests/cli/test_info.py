"""`elmore info` says what the files say."""

import json
from pathlib import Path
from typing import Any

import numpy as np

import elmore as package

from .conftest import Run


def test_a_published_model(
    elmore: Run, tiny_model: Path, tiny_weights: tuple[dict[str, Any], dict[str, np.ndarray]]
) -> None:
    options, arrays = tiny_weights
    (facts,) = elmore("info", tiny_model).records
    padding_row = options["char_cnn"]["embedding"]["dim"]
    assert facts == {
        "model": str(tiny_model),
        "parameters": sum(array.size for array in arrays.values()) + padding_row,
        "dim": 2 * options["lstm"]["projection_dim"],
        "layers": options["lstm"]["n_layers"] + 1,
        "tokens": "characters",
        "char_dim": padding_row,
        "filters": options["char_cnn"]["filters"],
        "n_highway": options["char_cnn"]["n_highway"],
        "activation": options["char_cnn"]["activation"],
        "max_characters": 50,
        "spelling": "bilm-tf",
        "cell_dim": options["lstm"]["dim"],
        "projection_dim": options["lstm"]["projection_dim"],
        "cell_clip": options["lstm"]["cell_clip"],
        "projection_clip": options["lstm"]["proj_clip"],
        "skip_connections": True,
        "softmax_words": None,
        "vocabulary": None,
        "normalization": None,
        "tokenizer": "english",
        "training": {},
        "calibration": None,
    }


def test_what_training_wrote_down(elmore: Run, broken_model: Path) -> None:
    options = json.loads((broken_model / "options.json").read_text())
    (broken_model / "options.json").write_text(json.dumps(options | {"corpus": "위키백과"}))
    (facts,) = elmore("info", broken_model).records
    assert facts["training"] == {"corpus": "위키백과"}


def test_version(elmore: Run) -> None:
    result = elmore("--version")
    assert (result.code, result.out, result.err) == (0, f"{package.__version__}\n", "")
