"""An index from the command line: built, searched, its senses found and compared."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from elmore import StaticVectors
from elmore.cli.terminal import end_in_columns

from .conftest import Refused, Run

WORDS = {"river": ["water", "boat", "fish", "deep"], "money": ["loan", "cash", "credit", "rates"]}


def write_corpus(path: Path, n: int, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    lines = [
        " ".join(["the", "bank", *rng.choice(WORDS[kind], size=4)])
        for kind in WORDS
        for _ in range(n)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def index(elmore: Run, tiny_model: Path, tmp_path: Path) -> Path:
    corpus = write_corpus(tmp_path / "corpus.txt", 20, 1)
    out = tmp_path / "index"
    done = elmore(
        "index", corpus, "--out", out, "-m", tiny_model, "--tokenizer", "whitespace",
        "--layers", "all",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    (facts,) = done.records
    assert (facts["occurrences"], facts["layers"]) == (240, [0, 1, 2])
    return out


def test_neighbours(elmore: Run, refused: Refused, index: Path, tmp_path: Path) -> None:
    vectors = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    StaticVectors(["bank", "boat", "loan"], vectors).write_text(tmp_path / "vectors.txt")
    page = tmp_path / "page.html"
    (found,) = elmore(
        "neighbours", "a deep bank & water", "--word", "bank", "--in", index, "-n", "3",
        "--static", tmp_path / "vectors.txt", "--html", page,
    ).records  # fmt: skip
    assert [layer["layer"] for layer in found["layers"]] == [0, 1, 2]
    assert all(len(layer["neighbours"]) == 3 for layer in found["layers"])
    assert found["layers"][0]["neighbours"][0]["word"] == "bank"
    assert {near["word"] for near in found["static"]} == {"boat", "loan"}
    assert found["standardized"] is False
    assert "<mark>bank</mark>" in page.read_text()
    assert "bank &amp; water" in page.read_text()
    assert "is no token of" in refused("neighbours", "a", "--word", "bank", "--in", index)
    assert "has no index.json" in refused("neighbours", "a", "--word", "a", "--in", tmp_path)


def test_senses(elmore: Run, refused: Refused, index: Path, tmp_path: Path) -> None:
    (found,) = elmore(
        "senses", "bank", "--in", index, "--picture", tmp_path / "map.png", "--n-examples", "2"
    ).records
    assert found["occurrences"] == 38  # two sentences are copies
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
    assert "substitutes: " in shown
    assert "keywords: " in shown


def test_change(
    elmore: Run, refused: Refused, tiny_model: Path, index: Path, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path / "new.txt", 25, 2)
    other = tmp_path / "other"
    flags = ["-m", tiny_model, "--tokenizer", "whitespace", "--layers", "top"]
    assert elmore("index", corpus, "--out", other, *flags, "--words", "bank").code == 0
    (found,) = elmore("change", "--old", index, "--new", other).records
    assert (found["word"], found["n_old"], found["n_new"]) == ("bank", 40, 50)
    (found,) = elmore("change", "bank", "--old", index, "--new", other).records
    assert 0 <= found["senses_divergence"] <= 1
    said = refused("change", "--old", index, "--new", other, "--min-count", "99")
    assert "no word occurs 99 times in both" in said


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


def test_probe(elmore: Run, tiny_model: Path, tmp_path: Path) -> None:
    tagged = tmp_path / "tagged.txt"
    tagged.write_text("the D\nbank N\nfell V\n\na D\nboat N\n\n" * 5)
    (found,) = elmore("probe", "--train", tagged, "--dev", tagged, "-m", tiny_model).records
    assert list(found["accuracy"]) == ["layer 0", "layer 1", "layer 2", "mean of layers"]
    assert found["accuracy"]["layer 2"] == 1.0


def test_wide_characters_take_two_columns() -> None:
    assert end_in_columns("나는 사과를 ", 8) == " 사과를 "
    assert end_in_columns("abc", 5) == "  abc"
    assert end_in_columns("abcdef", 3) == "def"


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
