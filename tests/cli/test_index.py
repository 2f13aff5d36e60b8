"""`elmore index`: words, limits, resuming."""

import json
from pathlib import Path

from tests.cli.conftest import write_corpus

from .conftest import Refused, Run


def test_an_index_of_some_words(
    elmore: Run, refused: Refused, tiny_model: Path, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "corpus.txt", 5, 1)
    (tmp_path / "words.txt").write_text("bank\n\nboat\n")
    flags = ["-m", tiny_model, "--tokenizer", "whitespace", "--max-per-word", "3"]
    words = f"@{tmp_path / 'words.txt'}"
    assert elmore("index", corpus, "--out", tmp_path / "a", *flags, "--words", words).code == 0
    content = json.loads((tmp_path / "a/index.json").read_text())
    assert content["config"]["words"] == ["bank", "boat"]
    assert content["facts"]["n_words"] == 2
    assert content["facts"]["n_occurrences"] == 6
    again = refused("index", corpus, "--out", tmp_path / "a", *flags, "--words", "bank")
    assert "was begun with another config" in again
    wrong = refused("index", corpus, "--out", tmp_path / "b", *flags, "--layers", "x")
    assert "--layers is 'x'; expected top, all, context, expected or numbers" in wrong
    nothing = elmore("index", corpus, "--out", tmp_path / "c", *flags, "--words", " Bank, ")
    assert nothing.code == 2
    assert "holds no occurrence" in nothing.err
    assert "there is no text" in refused("index", "--out", tmp_path / "b", *flags)
    assert "cannot be read twice" in refused("index", "-", "--out", tmp_path / "b", *flags)
