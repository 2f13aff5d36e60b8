"""`elmore info` says what the files say."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import elmore as package
from elmore.formats import bundled_models
from elmore.kernels.library import kernels

from .conftest import Run

MANY_LANGS = Path(__file__).resolve().parents[1] / "formats/many_langs/both"


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
        "char_encoding": "bilm-tf",
        "cell_dim": options["lstm"]["dim"],
        "projection_dim": options["lstm"]["projection_dim"],
        "cell_clip": options["lstm"]["cell_clip"],
        "projection_clip": options["lstm"]["proj_clip"],
        "skip_connections": True,
        "forget_bias": 1.0,
        "softmax_words": None,
        "vocabulary": None,
        "normalization": None,
        "tokenizer": "english",
        "training": {},
        "calibration": None,
        "kernels": kernels().variant,
        "sha256": {"weights.hdf5": _sha256(tiny_model / "weights.hdf5")},
    }


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_model_of_elmoformanylangs(elmore: Run) -> None:
    (facts,) = elmore("info", MANY_LANGS).records
    shown = ("tokens", "char_dim", "alphabet", "word_dim", "words", "max_characters", "forget_bias")
    assert [facts[name] for name in shown] == ["characters and words", 5, 25, 3, 11, 12, 0.0]
    assert facts["char_encoding"] == "alphabet"
    assert facts["training"]["trained_with"] == "ELMoForManyLangs"
    files = ("encoder.pkl", "token_embedder.pkl")
    assert facts["sha256"] == {name: _sha256(MANY_LANGS / name) for name in files}


def test_what_training_wrote_down(elmore: Run, broken_model: Path) -> None:
    options = json.loads((broken_model / "options.json").read_text())
    (broken_model / "options.json").write_text(json.dumps(options | {"corpus": "위키백과"}))
    (facts,) = elmore("info", broken_model).records
    assert facts["training"] == {"corpus": "위키백과"}


def test_version(elmore: Run) -> None:
    result = elmore("--version")
    assert (result.code, result.out, result.err) == (0, f"{package.__version__}\n", "")


def test_a_terminal_gets_names_and_values(
    elmore: Run, broken_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = json.loads((broken_model / "options.json").read_text())
    options |= {"held_out": {"forward_perplexity": 5.5, "texts": ["a.txt", "b.txt"]}}
    (broken_model / "options.json").write_text(json.dumps(options))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    shown = [" ".join(line.split()) for line in elmore("info", broken_model).out.splitlines()]
    assert "training held out forward perplexity 5.5" in shown
    assert "training held out texts a.txt, b.txt" in shown
    assert "filters 1:4, 2:6, 3:8" in shown
    assert not any("{" in line or "[" in line for line in shown)


def test_paths_of_models_are_not_wrapped(elmore: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    shown = elmore("models").out.splitlines()
    for name, folder in bundled_models().items():
        assert f"{name}: {folder / 'README.md'}" in shown
