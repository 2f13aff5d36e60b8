"""SQuAD files are read whole, and a wrong one is named."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from elmore.errors import ElmoreError
from elmore.tasks import Question, RightAnswer, read_questions
from tests.conftest import SHARED

TEXT = "Kim lives in Seoul. Lee left Busan."


def write(path: Path, *qas: dict[str, Any]) -> Path:
    article = {"title": "Two_people", "paragraphs": [{"context": TEXT, "qas": list(qas)}]}
    path.write_text(json.dumps({"version": "v2.0", "data": [article]}))
    return path


def asked(question: str, *answers: tuple[str, int], **fields: Any) -> dict[str, Any]:
    found = [{"text": text, "answer_start": start} for text, start in answers]
    return {"id": "1", "question": question, "answers": found, **fields}


def test_answered_and_unanswerable_questions(tmp_path: Path) -> None:
    plausible = [{"text": "Seoul", "answer_start": 13}]
    path = write(
        tmp_path / "dev.json",
        asked("Where does Kim live?", ("Seoul", 13), ("in Seoul", 10)),
        asked("Where does Park live?", is_impossible=True, plausible_answers=plausible),
    )
    found = read_questions(path)
    assert [
        Question("Where does Kim live?", TEXT),
        Question("Where does Park live?", TEXT),
    ] == found.X
    assert found.y == [[RightAnswer("Seoul", 13), RightAnswer("in Seoul", 10)], []]
    compressed = tmp_path / "dev.json.gz"
    compressed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_questions(compressed, format="squad") == found
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # a byte order mark
    assert read_questions(path) == found


@pytest.mark.parametrize(("answer", "start"), [("Busan", 13), ("Seoul", -22), ("", 3), (" ", 3)])
def test_an_answer_that_is_not_in_the_text(tmp_path: Path, answer: str, start: int) -> None:
    path = write(tmp_path / "dev.json", asked("Where does Kim live?", (answer, start)))
    message = (
        rf"dev.json, article 'Two_people': the answer '{answer}' to 'Where does Kim live\?' is not "
        rf"in its text at character {start}"
    )
    with pytest.raises(ElmoreError, match=message):
        read_questions(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "holds"),
        ('{"data": []}', "has no questions"),
        ('{"data": [{"paragraphs": [{"context": 1, "qas": []}]}]}', r"context is 1; expected"),
        ('{"data": [{"paragraphs": [{"context": "a"}]}]}', r"lacks .*qas"),
    ],
)
def test_files_of_another_kind(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "dev.json").write_text(content)
    with pytest.raises(ElmoreError, match=message):
        read_questions(tmp_path / "dev.json")
    with pytest.raises(ElmoreError, match="does not exist"):
        read_questions(tmp_path / "other.json")
    with pytest.raises(ElmoreError, match="is a folder"):
        read_questions(tmp_path)


def test_the_published_questions() -> None:
    folder = SHARED / "data/tasks/squad"
    if not folder.exists():
        pytest.skip("SQuAD is not here (shared/data/tasks/squad beside the project)")
    found = read_questions(folder / "dev.json.xz")
    assert len(found) == 1234
    assert all(found.y)
