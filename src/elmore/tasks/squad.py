"""SQuAD files in, questions and their right answers out: v1.1, and v2.0 with unanswerable ones."""

from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

from elmore.checks import one_of
from elmore.corpus.compression import open_decompressed, suffix_of
from elmore.errors import DataError, shown
from elmore.metadata import convert_metadata, parse_json
from elmore.tasks.examples import Examples
from elmore.tasks.questions import Question, RightAnswer, is_in

QuestionFormat = Literal["auto", "squad"]

_FIX = "expected a SQuAD file: data, paragraphs, qas, answers"


class _Answer(Struct):
    text: str
    answer_start: int


class _Question(Struct):
    question: str
    answers: list[_Answer] | None = None
    """None: they are to be predicted."""
    is_impossible: bool = False
    id: str | int | None = None


class _Paragraph(Struct):
    context: str
    qas: list[_Question]


class _Article(Struct):
    paragraphs: list[_Paragraph]
    title: str = ""


class _SquadFile(Struct):
    data: list[_Article]


def read_questions(
    path: str | Path,
    *,
    format: QuestionFormat = "auto",  # noqa: A002  it is what users call it
) -> Examples:
    """Read the questions of a SQuAD file, JSON, which may be compressed.

    Each example is a `Question`, its answers a list of `RightAnswer`s, empty if it has none. There
    is one format, "squad", which "auto" takes a .json file for.
    """
    one_of(QuestionFormat, format=format)
    path = Path(path)
    if format == "auto" and path.is_file() and not is_squad_file(path):
        raise DataError(
            f"{path} is not named .json, as files of SQuAD are; give one, or name its format by "
            "--format (format=): squad"
        )
    X, y = [], []
    for title, text, asked in _asked(path):
        answers = [] if asked.is_impossible else asked.answers
        if answers is None:
            raise DataError(
                f"{path}, article {shown(title)}: {shown(asked.question)} lacks answers; expected "
                "a list, which is empty if the text does not answer it"
            )
        for answer in answers:
            start = answer.answer_start
            if not is_in(text, RightAnswer(answer.text, start)):
                raise DataError(
                    f"{path}, article {shown(title)}: the answer {shown(answer.text)} to "
                    f"{shown(asked.question)} is not in its text at character {start}; correct "
                    "it, or remove the question"
                )
        X.append(Question(asked.question, text))
        y.append([RightAnswer(one.text, one.answer_start) for one in answers])
    return Examples(X, y)


def read_unanswered(path: str | Path) -> list[tuple[str | int | None, Question]]:
    """Read the questions of a SQuAD file with their ids; it need have neither ids nor answers."""
    return [(asked.id, Question(asked.question, text)) for _, text, asked in _asked(Path(path))]


def is_squad_file(path: Path) -> bool:
    """Return whether a file is one of SQuAD, by its name: .json, which may be compressed."""
    return suffix_of(path) == ".json"


def _asked(path: Path) -> Iterator[tuple[str, str, _Question]]:
    """Yield the title of the article, the text and the question, of each question of a file."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise DataError(f"{path} {what}; expected a file of questions")
    with open_decompressed(path) as file:
        found = parse_json(file.read().removeprefix(BOM_UTF8), path)
    content = convert_metadata(found, _SquadFile, path, fix=_FIX)
    paragraphs = [(one.title, paragraph) for one in content.data for paragraph in one.paragraphs]
    if not any(paragraph.qas for _, paragraph in paragraphs):
        raise DataError(f"{path} has no questions; expected at least one")
    for title, paragraph in paragraphs:
        for asked in paragraph.qas:
            yield title, paragraph.context, asked
