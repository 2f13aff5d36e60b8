"""An index from the command line: built, searched, its senses found and compared."""

import sys
from pathlib import Path

import pytest

from .conftest import Refused, Run


def test_senses(elmore: Run, refused: Refused, index: Path, tmp_path: Path) -> None:
    (found,) = elmore(
        "senses", "bank", "--in", index, "--picture", tmp_path / "map.png", "--n-examples", "2"
    ).records
    assert (found["occurrences"], found["sentences"]) == (40, 38)  # two sentences are copies
    assert sum(sense["share"] for sense in found["senses"]) == pytest.approx(1)
    assert all(set(sense) == {"name", "share", "substitutes", "keywords", "examples"}
               for sense in found["senses"])  # fmt: skip
    assert all(len(sense["examples"]) == 2 for sense in found["senses"])
    assert (tmp_path / "map.png").exists()
    labelled = tmp_path / "labelled.tsv"
    labelled.write_text("shore\tthe bank water boat\n\nhouse\tthe bank loan cash\n")
    (found,) = elmore("senses", "bank", "--in", index, "--labelled", labelled).records
    assert [sense["name"] for sense in found["senses"]] == ["shore", "house"]
    labelled.write_text("shore the bank\n")
    assert "line 1, has" in refused("senses", "bank", "--in", index, "--labelled", labelled)
    assert "max_senses is 0" in refused("senses", "bank", "--in", index, "--max-senses", "0")
    assert "'ship' does not occur in" in refused("senses", "ship", "--in", index)
    assert "; 'bank' does\n" in refused("senses", "Bank", "--in", index)


def test_substitutes_of_senses(
    elmore: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a bundled model, which has a softmax; in JSON and on a terminal."""
    corpus = tmp_path / "corpus.txt"
    near = {"river": ("left", "water"), "money": ("investment", "loans")}
    corpus.write_text("".join(
        f"he stood on the {one} bank of the {kind} {k} near the {two} .\n" if kind == "river"
        else f"the {one} bank lent {kind} {k} and gave {two} .\n"
        for kind, (one, two) in near.items() for k in range(15)
    ))  # fmt: skip
    out = tmp_path / "index"
    done = elmore("index", corpus, "--out", out, "--words", "bank", "--tokenizer", "whitespace")
    assert done.records[0]["layers"] == ["expected"]
    (found,) = elmore("senses", "bank", "--in", out).records
    shore = next(one for one in found["senses"] if "river" in one["keywords"])
    assert "side" in shore["substitutes"]
    assert not {"the", "of", "a"} & {*shore["keywords"], *shore["substitutes"]}
    assert not {"bank", "banks"} & {*shore["keywords"], *shore["substitutes"]}
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = elmore("senses", "bank", "--in", out).plain
    assert "30 distinct sentences of 30 occurrences" in shown
    assert "substitutes: " in shown
    assert "keywords: " in shown


def test_korean_sentences_are_printed_without_spaces_between_morphemes(
    elmore: Run, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mecab", reason="morphemes need elmore[ko]")
    texts = ["나는 아침에 사과를 먹었다.", "그는 국민에게 사과를 했다.", "농부가 사과를 심었다."]
    (tmp_path / "corpus.txt").write_text("\n".join(texts * 8))
    out, page = tmp_path / "index", tmp_path / "page.html"
    done = elmore(
        "index", tmp_path / "corpus.txt", "--out", out, "-m", tiny_model, "--tokenizer", "korean"
    )
    assert (done.code, done.err) == (0, "")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    asked = ["사과가 맛있다.", "--word", "사과", "--in", out, "-n", "3", "--same-word"]
    shown = elmore("neighbours", *asked, "--html", page).plain
    assert all(text in shown for text in texts)
    html = page.read_text().replace("<mark>", "").replace("</mark>", "")
    assert all(text in html for text in texts)
    assert texts[0] in elmore("senses", "사과", "--in", out).plain
    assert texts[0] in elmore("change", "사과", "--old", out, "--new", out).plain
