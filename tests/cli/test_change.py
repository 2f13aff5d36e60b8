"""`elmore change`: words and their senses."""

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import write_corpus

from .conftest import Refused, Run


def test_change(
    elmore: Run, refused: Refused, tiny_model: Path, index: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    corpus = write_corpus(tmp_path / "new.txt", 25, 2)
    other = tmp_path / "other"
    flags = ["-m", tiny_model, "--tokenizer", "whitespace", "--layers", "top"]
    assert elmore("index", corpus, "--out", other, *flags, "--words", "bank").code == 0
    (found,) = elmore("change", "--old", index, "--new", other).records
    assert (found["word"], found["n_old"], found["n_new"]) == ("bank", 40, 50)
    (found,) = elmore("change", "bank", "--old", index, "--new", other).records
    assert 0 <= found["senses_divergence"] <= 1
    for corpus_of, side, n in ((index, "old", 40), (other, "new", 50)):  # as `senses` counts
        (senses,) = elmore("senses", "bank", "--in", corpus_of).records
        assert found[f"n_{side}"] == senses["occurrences"] == n
        assert found[f"sentences_{side}"] == senses["sentences"] < n
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert "40 (38) → 50 (" in elmore("change", "bank", "--old", index, "--new", other).plain
    monkeypatch.undo()
    said = refused("change", "--old", index, "--new", other, "--min-count", "99")
    assert "no word occurs 99 times in both" in said
