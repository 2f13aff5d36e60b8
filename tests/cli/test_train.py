"""A task from the command line: trained, stopped, used, measured, compared."""

import json
from pathlib import Path

import numpy as np
import pytest

from elmore import StaticVectors

from .conftest import Refused, Run

SMALL = ["--hidden-dim", "8", "--n-epochs", "3", "--batch-size", "8", "--tokenizer", "whitespace"]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    rows = [("good film", "yes"), ("bad film", "no"), ("a good one", "yes"), ("a bad one", "no")]
    path = tmp_path / "texts.tsv"
    path.write_text("text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in rows * 5))
    return path


@pytest.fixture
def static(tmp_path: Path) -> Path:
    vectors = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    StaticVectors(["good", "bad", "film", "one", "a"], vectors).write_text(tmp_path / "vectors.txt")
    return tmp_path / "vectors.txt"


def test_classify(
    elmore: Run, refused: Refused, tiny_model: Path, texts: Path, static: Path, tmp_path: Path
) -> None:
    out = tmp_path / "task"
    where = ["--elmo", tiny_model, "--static", static, *SMALL]
    done = elmore("train", "classify", "--train", texts, "--dev", texts, "--out", out, *where)
    assert (done.code, done.err) == (0, "")
    assert "the mix at the input: layer 0 0." in done.out
    assert sorted(path.name for path in out.iterdir()) == ["config.json", "model.safetensors"]
    assert not (tmp_path / "task.run").exists()
    first, second = elmore("predict", out, "good film", "bad film", "--probabilities").records
    assert first["text"] == "good film"
    assert first["label"] in ("yes", "no")
    assert sum(second["probabilities"].values()) == pytest.approx(1)
    records = tmp_path / "new.jsonl"
    records.write_text('{"text": "good film"}\n{"text": "a bad\\none"}\n')
    from_file = elmore("predict", out, records, "bad film", texts).records
    assert [one["text"] for one in from_file[:4]] == [
        "good film", "a bad\none", "bad film", "good film"
    ]  # fmt: skip
    assert len(from_file) == 3 + 20  # the header of the .tsv is no text
    assert "there is no option --probabilty" in refused("predict", out, "x", "--probabilty")
    (found,) = elmore("evaluate", out, texts).records
    assert found["metric"] == "accuracy"
    assert set(found["classes"]) == {"yes", "no"}
    assert "exists already" in refused("train", "classify", "--train", texts, "--out", out, *where)


def test_tag_and_pair(elmore: Run, refused: Refused, tiny_model: Path, tmp_path: Path) -> None:
    tagged = tmp_path / "tagged.txt"
    tagged.write_text("He O\nsaw O\nSeoul B-LOC\n\nSeoul B-LOC\nfell O\n\n" * 6)
    where = ["--elmo", tiny_model, *SMALL]
    assert elmore("train", "tag", "--train", tagged, "--out", tmp_path / "tag", *where).code == 0
    (found,) = elmore("predict", tmp_path / "tag", "He saw Seoul", "--probabilities").records
    assert found["tokens"] == ["He", "saw", "Seoul"]
    assert len(found["tags"]) == len(found["probabilities"]) == 3
    (score,) = elmore("evaluate", tmp_path / "tag", tagged).records
    assert score["metric"] == "span F1"
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("sentence1\tsentence2\tlabel\n" + "a\ta\tsame\na\tb\tother\n" * 8)
    assert elmore("train", "pair", "--train", pairs, "--out", tmp_path / "pair", *where).code == 0
    (found,) = elmore("predict", tmp_path / "pair", "a\tb").records
    assert found["label"] in ("same", "other")
    first, *others = elmore("predict", tmp_path / "pair", pairs).records
    assert (first["text"], len(others)) == ("a\ta", 15)
    said = refused("predict", tmp_path / "pair", "a b")
    assert "a pair is two texts with a tab between them" in said


def test_predict_tags_of_a_conll_file(
    elmore: Run, refused: Refused, tiny_model: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    tagged, task = tmp_path / "tagged.conll", tmp_path / "tag"
    lines = ["He PRP O", "saw VBD O", "Seoul NNP B-LOC", "", "Seoul NNP B-LOC", "fell VBD O", ""]
    tagged.write_text("\n".join(lines * 6))
    where = ["--elmo", tiny_model, *SMALL, "--learning-rate", "0.02"]
    where[where.index("--n-epochs") + 1] = "12"
    assert elmore("train", "tag", "--train", tagged, "--out", task, *where).code == 0
    found = elmore("predict", task, tagged, "He saw  Seoul").records
    assert len(found) == 13
    assert (found[0]["text"], found[0]["tokens"]) == ("He saw Seoul", ["He", "saw", "Seoul"])
    assert found[12]["tags"] == found[0]["tags"] == ["O", "O", "B-LOC"]
    assert found[12]["spans"] == [[0, 2], [3, 6], [8, 13]]
    untagged = tmp_path / "new.conll"
    untagged.write_text("Seoul\nfell\n")
    assert elmore("predict", task, untagged).records == found[1:2]
    words = tmp_path / "new.conllu"
    words.write_text("# text = Seoul fell\n1\tSeoul\t_\n2\tfell\t_\n")
    assert elmore("predict", task, words).records == found[1:2]
    assert "expected the token in column 3" in refused("predict", task, tagged, "--token-column", 3)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert elmore("predict", task, untagged).plain == "Seoul fell\n  Seoul  LOC\n"


def test_roles(elmore: Run, refused: Refused, tiny_model: Path, tmp_path: Path) -> None:
    roles = tmp_path / "roles.txt"
    roles.write_text("She - (A0*)\nsold sell (V*)\nit - (A1*)\n\nHe - (A0*)\nran run (V*)\n\n" * 6)
    flags = ["--elmo", tiny_model, *SMALL, "--format", "srl", "--out", tmp_path / "task"]
    assert "(--predicate)" in refused("train", "tag", "--train", roles, *flags)
    assert elmore("train", "tag", "--train", roles, *flags, "--predicate").code == 0
    (found,) = elmore("predict", tmp_path / "task", "1\tShe sold it").records
    assert found["tokens"] == ["She", "sold", "it"]
    assert len(found["tags"]) == 3
    said = refused("predict", tmp_path / "task", "She sold it")
    assert "expected the predicate's number, a tab and a text" in said
    assert "name a place in it" in refused("predict", tmp_path / "task", "3\tShe sold it")


def test_compare(elmore: Run, tiny_model: Path, texts: Path, static: Path, tmp_path: Path) -> None:
    dev = tmp_path / "dev.tsv"
    dev.write_text("".join(texts.read_text().splitlines(keepends=True)[:9]))
    arguments = [
        "compare", "classify", "--train", texts, "--dev", dev, "--out", tmp_path / "out",
        "--elmo", tiny_model, "--static", static, "--variants", "static,elmo,static+elmo,both",
        "--n-seeds", "2", *SMALL,
    ]  # fmt: skip
    done = elmore(*arguments)
    assert done.code == 0
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["variant"] for row in rows] == ["static", "elmo", "static+elmo", "both"]
    assert all(len(row["scores"]) == 2 for row in rows)
    assert rows[0]["error_reduction"] is None
    assert done.err.count("seed") == 8
    again = elmore(*arguments)
    assert (again.out, again.err) == (done.out, "")  # nothing is trained again
    runs = json.loads((tmp_path / "out/results.json").read_text())["runs"]
    assert len(runs) == 8
    other = elmore(*arguments, "--dropout", "0.1")
    assert other.code == 2
    assert "holds another comparison (settings differs)" in other.err


def test_compare_on_held_out_examples(
    elmore: Run, tiny_model: Path, texts: Path, tmp_path: Path
) -> None:
    done = elmore(
        "compare", "classify", "--train", texts, "--out", tmp_path / "out", "--elmo", tiny_model,
        "--variants", "elmo", "--n-seeds", "1", "--dev-share", "0.2", "--max-train", "12", *SMALL,
    )  # fmt: skip
    assert done.code == 0
    content = json.loads((tmp_path / "out/results.json").read_text())
    assert (content["n_train"], content["n_dev"]) == (12, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--char-filters", "3"], "--char-filters is not a setting of classify"),
        (["--format", "conll"], "--format is 'conll'; expected one of auto, tsv"),
        (["--label-field", "mark"], "has no field 'mark'; name one of 'text', 'label'"),
        (["--layers", "all"], "expected mix, top, or the number of a layer"),
        (["--elmo", "none"], "there are no vectors to train on"),
        (["--elmo", "nowhere", "--n-epochs", "0"], "n_epochs is 0; expected a whole number"),
        (["--elmo", "nowhere"], "there is no folder 'nowhere'"),
    ],
)
def test_what_cannot_be(
    refused: Refused, texts: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    said = refused("train", "classify", "--train", texts, "--out", tmp_path / "out", *arguments)
    assert message in said
