"""`QuestionAnswerer`: a question and a text in, the part of the text that answers it out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from elmore.checks import at_least
from elmore.tasks.answer_network import SpanNetwork
from elmore.tasks.estimator import TaskModel
from elmore.tasks.inputs import MAX_CHAR_FILTERS, CharInput
from elmore.tasks.layer_inputs import Where
from elmore.tasks.questions import Answer, QuestionReader, SpanAnswers
from elmore.tasks.task import Task, TaskName
from elmore.text.sentences import check_language


@dataclass(repr=False, eq=False)
class QuestionAnswerer(TaskModel):
    """Answers questions by spans of given texts: biGRUs with attention (Clark and Gardner 2017).

    Examples are pairs of a question and a text. A right answer is a part of the text, or a list of
    `RightAnswer`s, each with the place of its first character; an empty string or list is a
    question that the text does not answer.
    """

    where: Where = "both"
    """Where the ELMo vectors are added: at the input of the task's RNN, at its output, or both."""
    hidden_dim: int = 90
    """Dimensions of each direction of the task's RNNs."""
    dropout: float = 0.2
    """Dropout of the task's own layers."""
    char_filters: int = 64
    """Filters of the task's own character CNN; 0: it has none."""
    split_sentences: str | None = "en"
    """The language by whose rules texts are split into sentences for the biLM; none: they are
    not."""
    max_tokens: int = 400
    """Longer texts are cut to so many tokens around the answer, in training alone."""
    max_answer_tokens: int = 20
    """Tokens of a predicted answer, at most."""

    task: ClassVar[TaskName] = "answer"

    def check_settings(self) -> None:
        """Refuse settings that `fit` would refuse, before examples are read."""
        super().check_settings()
        at_least(0, largest=MAX_CHAR_FILTERS, char_filters=self.char_filters)
        at_least(1, max_tokens=self.max_tokens, max_answer_tokens=self.max_answer_tokens)
        if self.split_sentences is not None:
            check_language(self.split_sentences)

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
