"""`elmore predict` on files of columns."""

from pathlib import Path

import pytest

from elmore.tasks import Classifier
from tests.cli.conftest import SMALL_TASK as SMALL

from .conftest import Refused, Run


def test_labels_that_are_no_strings(elmore: Run, tiny_model: Path, tmp_path: Path) -> None:
    """They are strings in JSON, and evaluated by those of a file."""
    task, examples = tmp_path / "task", tmp_path / "test.tsv"
    X, y = ["good film", "bad film"] * 8, [True, False] * 8
    Classifier(tiny_model, hidden_dim=4, n_epochs=1).fit(X, y).save(task)
    (found,) = elmore("predict", task, "good film", "--probabilities").records
    assert found["label"] in ("True", "False")
    assert set(found["probabilities"]) == {"True", "False"}
    examples.write_text("text\tlabel\ngood film\tTrue\nbad film\tFalse\n")
    (found,) = elmore("evaluate", task, examples).records
    assert set(found["classes"]) == {"True", "False"}


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
