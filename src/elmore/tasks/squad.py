"""SQuAD files in, questions and their right answers out: v1.1, and v2.0 with unanswerable ones."""

from codecs import BOM_UTF8
from pathlib import Path
from typing import Literal

from msgspec import Struct

from elmore.checks import one_of
from elmore.corpus.compression import open_decompressed
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
    answers: list[_Answer]
    is_impossible: bool = False


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
    is one format, "squad", which "auto" stands for.
    """
    one_of(QuestionFormat, format=format)
    path = Path(path)
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise DataError(f"{path} {what}; expected a file of questions")
    with open_decompressed(path) as file:
        found = parse_json(file.read().removeprefix(BOM_UTF8), path)
    content = convert_metadata(found, _SquadFile, path, fix=_FIX)
    X, y = [], []
    for article in content.data:
        for paragraph in article.paragraphs:
            text = paragraph.context
            for asked in paragraph.qas:
                answers = [] if asked.is_impossible else asked.answers
                for answer in answers:
                    start = answer.answer_start
                    if not is_in(text, RightAnswer(answer.text, start)):
                        raise DataError(
                            f"{path}, article {shown(article.title)}: the answer "
                            f"{shown(answer.text)} to {shown(asked.question)} is not "
                            f"in its text at character {start}; correct it, or remove the question"
                        )
                X.append(Question(asked.question, text))
                y.append([RightAnswer(one.text, one.answer_start) for one in answers])
    if not X:
        raise DataError(f"{path} has no questions; expected at least one")
    return Examples(X, y)
