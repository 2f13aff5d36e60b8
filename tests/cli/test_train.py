"""A task from the command line: trained, stopped, used, measured, compared."""

import json
from pathlib import Path

import pytest

from elmore.tasks.fit import FORMAT
from tests.cli.conftest import SMALL_TASK as SMALL

from .conftest import Refused, Run


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
    again = ["train", "classify", "--train", texts, "--out", out, *where]
    assert "exists already" in refused(*again)
    left = tmp_path / "task.run/last.safetensors.part"
    left.mkdir(parents=True)  # by a program that was killed when the task was saved
    (left.parent / "run.json").write_text(json.dumps({"format": FORMAT}))
    assert elmore(*again).code == 2
    assert not left.parent.exists()


def test_tag_and_pair(elmore: Run, refused: Refused, tiny_model: Path, tmp_path: Path) -> None:
    tagged = tmp_path / "tagged.conll"
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--char-filters", "3"], "--char-filters is not a setting of classify"),
        (["--format", "conll"], "--format is 'conll'; expected one of auto, tsv"),
        (["--class-weight", "rare"], "--class-weight"),
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


def test_files_whose_format_their_name_does_not_say(
    refused: Refused, elmore: Run, texts: Path, tiny_model: Path, tmp_path: Path
) -> None:
    lines = tmp_path / "train.txt"
    lines.write_text("yes\tgood film\nno\tbad film\n" * 6)
    out = ["--elmo", tiny_model, *SMALL, "--out", tmp_path / "task"]
    said = refused("train", "classify", "--train", lines, *out)
    assert "train.txt does not say by its name which format it has; name it by --format" in said
    said = refused("train", "classify", "--train", lines, "--format", "lines", *out)
    assert r"line 1 has 'yes\tgood film'; expected a label, a space and a text" in said
    questions = tmp_path / "qa.jsonl"
    questions.write_text('{"question": "Who?", "text": "Kim.", "answer": "Kim"}\n' * 2)
    said = refused("train", "answer", "--train", questions, *out)
    assert "qa.jsonl is not named .json, as files of SQuAD are" in said
    assert elmore("train", "classify", "--train", texts, *out).code == 0
    columns = tmp_path / "dev.conll"
    columns.write_text("He O\nsaw O\nSeoul B-LOC\n\n" * 9)
    said = refused("evaluate", tmp_path / "task", columns)
    assert "dev.conll does not say by its name which format it has" in said


def test_class_weight_is_no_setting_of_tags(refused: Refused, tmp_path: Path) -> None:
    tagged = tmp_path / "tagged.conll"
    tagged.write_text("He O\nsaw B\n\n" * 6)
    given = ["--train", tagged, "--out", tmp_path / "out", "--class-weight", "balanced"]
    assert "--class-weight is not a setting of tag" in refused("train", "tag", *given)


def test_answer(
    elmore: Run, refused: Refused, tiny_model: Path, static: Path, tmp_path: Path
) -> None:
    text = "Kim lives in Seoul. Lee left Busan."
    asked = [
        {"question": "Where does Kim live?", "answers": [{"text": "Seoul", "answer_start": 13}]},
        {"question": "Who left Busan?", "answers": [{"text": "Lee", "answer_start": 20}]},
        {"question": "Who left Seoul?", "answers": [], "is_impossible": True},
    ]
    article = {"title": "People", "paragraphs": [{"context": text, "qas": asked * 5}]}
    path, out = tmp_path / "squad.json", tmp_path / "task"
    path.write_text(json.dumps({"data": [article]}))
    given = ["--train", path, "--dev", path, "--elmo", tiny_model, "--static", static, *SMALL]
    more = ["--inputs", f"elmo:{tiny_model},layers=context", "--inputs", "chars:3"]
    done = elmore("train", "answer", *given, *more, "--split-sentences", "none", "--out", out)
    assert (done.code, done.err) == (0, "")
    assert "the mix at the input: layer 0 0." in done.out
    assert "the mix at the input, elmo 1: layer 0 1.00" in done.out
    lines = [f"{one['question']}\t{text}" for one in asked]
    for record, one in zip(elmore("predict", out, *lines).records, asked, strict=True):
        assert (record["question"], record["text"]) == (one["question"], text)
        span = record["span"]
        assert record["answer"] == ("" if span is None else text[slice(*span)])
        assert 0 < record["probability"] <= 1
    records = tmp_path / "new.jsonl"
    records.write_text(json.dumps({"question": "Who?", "text": text}))
    assert len(elmore("predict", out, records).records) == 1
    assert "two texts with a tab between them" in refused("predict", out, "Who left Busan?")
    paragraph = {"context": text, "qas": [{"id": 0, "question": "Who left Busan?"}]}
    unanswered = tmp_path / "test.json"
    unanswered.write_text(json.dumps({"data": [{"title": "People", "paragraphs": [paragraph]}]}))
    first, second = elmore("predict", out, unanswered, "Who left Busan?\t" + text).records
    assert first == {"id": 0} | second | {"probability": pytest.approx(second["probability"])}
    long = f"Who left Busan?\t{text * 20} See people.json"  # no name of a file
    assert elmore("predict", out, long).code == 0
    said = refused("evaluate", out, unanswered)
    assert "test.json, article 'People': 'Who left Busan?' lacks answers" in said
    (found,) = elmore("evaluate", out, path).records
    assert (found["metric"], found["n_questions"]) == ("F1", 15)
    compared = elmore("compare", "answer", *given, "--n-seeds", 1, "--out", tmp_path / "compared")
    variants = [json.loads(line)["variant"] for line in compared.out.splitlines()]
    assert variants == ["static", "static+elmo"]
    asked[0]["answers"] = [{"text": "Busan", "answer_start": 13}]
    path.write_text(json.dumps({"data": [article]}))
    said = refused("train", "answer", *given, "--out", tmp_path / "other")
    assert "squad.json, article 'People': the answer 'Busan' to 'Where does Kim live?' is" in said
    said = refused("train", "answer", *given, "--inputs", "glove.txt", "--out", tmp_path / "other")
    assert "expected static:FILE, elmo:MODEL or chars:FILTERS" in said
    assert "--char-filters is not a setting of pair" in refused(
        "train", "pair", *given, "--char-filters", 3, "--out", tmp_path / "other"
    )
