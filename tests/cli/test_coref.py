"""The commands with coreference: files of documents in, clusters out as JSON, columns or a list."""

import json
from pathlib import Path

import pytest

from elmore.tasks import Document, document_lines, read_documents

from .conftest import Refused, Run

SMALL = [
    "--hidden-dim", "6", "--scorer-dim", "6", "--n-epochs", "2", "--char-filters", "0",
    "--tokenizer", "whitespace", "--learning-rate", "0.02",
]  # fmt: skip


@pytest.fixture
def conll(tmp_path: Path) -> Path:
    document = Document([["Kim", "left", "."], ["She", "ran", "."]], name="a", part=2)
    lines = list(document_lines(document, [[(0, 1), (3, 4)]])) * 6
    path = tmp_path / "train.conll"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_train_predict_and_evaluate(
    elmore: Run, refused: Refused, tiny_model: Path, conll: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    task = tmp_path / "coref"
    given = ["--train", conll, "--dev", conll, "--out", task, "--elmo", tiny_model, *SMALL]
    assert elmore("train", "coref", *given).code == 0
    found = elmore("predict", task, conll, "Kim left .  She ran .").records
    assert len(found) == 7
    assert list(found[0]) == ["document", "part", "tokens", "clusters"]
    assert (found[0]["document"], found[0]["part"]) == ("a", 2)
    assert found[0]["tokens"] == ["Kim", "left", ".", "She", "ran", "."]
    assert list(found[6]) == ["text", "clusters"]
    for record in found:
        for start, end, text in (mention for cluster in record["clusters"] for mention in cluster):
            if "text" in record:
                assert record["text"][start:end] == text
            else:
                assert " ".join(record["tokens"][start:end]) == text

    columns = tmp_path / "predicted.conll"
    columns.write_text(elmore("predict", task, conll, "--conll").out)
    again = read_documents(columns)
    assert read_documents(conll).X == again.X
    for clusters, record in zip(again.y, found, strict=False):
        wanted = [[(start, end) for start, end, _ in cluster] for cluster in record["clusters"]]
        assert clusters == wanted
    assert "takes .conll files alone; got 'Kim left'" in refused(
        "predict", task, "Kim left", "--conll"
    )

    (scores,) = elmore("evaluate", task, conll).records
    mean = sum(scores[name]["f1"] for name in ("muc", "b_cubed", "ceaf")) / 3
    assert scores["score"] == pytest.approx(mean)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    shown = elmore("predict", task, conll).plain
    assert shown.startswith("a, part 2\n")
    assert "CoNLL F1" in elmore("evaluate", task, conll).plain


def test_compare(elmore: Run, tiny_model: Path, conll: Path, tmp_path: Path) -> None:
    found = elmore(
        "compare", "coref", "--train", conll, "--out", tmp_path / "comparison",
        "--elmo", tiny_model, "--variants", "elmo", "--n-seeds", 1, "--max-train", 3, *SMALL,
    )  # fmt: skip
    assert (found.code, json.loads(found.out)["variant"]) == (0, "elmo")


def test_what_is_wrong_is_named(refused: Refused, tiny_model: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "train.conll", tmp_path / "coref"
    path.write_text("#begin document (a); part 0\na 0 0 Kim (1\n#end document\n")
    where = ["--train", path, "--out", out, "--elmo", tiny_model]
    said = refused("train", "coref", *where)
    assert "train.conll, line 2, begins a mention of '1' that does not end" in said
    said = refused("train", "coref", *where, "--max-width", 0)
    assert "max_width is 0" in said
