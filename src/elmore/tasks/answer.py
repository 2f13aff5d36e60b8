"""`QuestionAnswerer`: a question and a text in, the part of the text that answers it out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from elmore.tasks.answer_network import SpanNetwork
from elmore.tasks.estimator import TaskModel
from elmore.tasks.inputs import CharInput
from elmore.tasks.questions import Answer, QuestionReader, SpanAnswers
from elmore.tasks.settings import AnswerSettings, TaskName
from elmore.tasks.task import Task


@dataclass(repr=False, eq=False)
class QuestionAnswerer(AnswerSettings, TaskModel):
    """Answers questions by spans of given texts: biGRUs with attention (Clark and Gardner 2017).

    Examples are pairs of a question and a text. A right answer is a part of the text, or a list of
    `RightAnswer`s, each with the place of its first character; an empty string or list is a
    question that the text does not answer.
    """

    task: ClassVar[TaskName] = "answer"

    def predict(self, X: Sequence[Any]) -> list[Answer]:
        """Return the answer to each question, with its place in the text and its probability."""
        return self._predict(X)

    def _new_task(self) -> Task:
        answers = SpanAnswers(self.max_answer_tokens)
        return Task(
            QuestionReader(language=self.split_sentences, max_tokens=self.max_tokens),
            answers,
            lambda new_tokens: SpanNetwork(
                new_tokens(), hidden_dim=self.hidden_dim, dropout=self.dropout,
                may_be_none=answers.may_be_none,
            ),
            answers.evaluate,
            inputs=(CharInput(self.char_filters),) if self.char_filters else (),
            max_predicted=32,
        )  # fmt: skip
