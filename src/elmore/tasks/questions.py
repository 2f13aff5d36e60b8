"""Questions about texts in, what a network reads and learns of them out; and answers back.

A question and a text are read as tokens. Answers are spans of characters of the text: the network
finds the first and the last token of one, and what is given back is the text between them, letter
for letter. A right answer that begins or ends inside a token is learned as the tokens that it
touches.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from numbers import Integral
from typing import Any, NamedTuple

from elmore.errors import DataError, shown
from elmore.tasks.answer_metrics import AnswerEvaluation, evaluate_answers
from elmore.tasks.answer_network import SpanScores, best_spans
from elmore.tasks.examples import Examples
from elmore.tasks.layer_cache import TokenTuple
from elmore.tasks.task import Answers, Batch, Reader, Reading, Words
from elmore.text import split_sentences

ANSWER, NO_ANSWER = "answer", "no answer"

CharSpan = tuple[int, int]


class Question(NamedTuple):
    """A question about a text."""

    question: str
    text: str


class RightAnswer(NamedTuple):
    """A right answer, and where it begins in the text."""

    text: str
    start: int


@dataclass(frozen=True)
class Answer:
    """A predicted answer."""

    text: str
    """text[start:end] of the given text; empty for none."""
    start: int | None
    end: int | None
    """The characters of the text that it has; None for no answer."""
    probability: float

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class QuestionReading(Reading):
    """A tokenized question and text: the two texts of the reading."""

    text: str
    spans: tuple[CharSpan, ...]
    """The characters of each token of the text."""


class QuestionReader(Reader):
    """Each example is a pair of a question and a text.

    `language` is the one by whose rules a text is split into sentences, as which the biLM reads it;
    None: it is one sentence. What is learned from is cut to `max_tokens` around the answer.
    """

    def __init__(self, *, language: str | None, max_tokens: int) -> None:
        self.language, self.max_tokens = language, max_tokens

    def check(self, examples: Examples) -> None:
        """Refuse right answers that are not in their texts."""
        for place, (one, y) in enumerate(zip(examples.X, examples.y, strict=True)):
            text = one.text if isinstance(one, QuestionReading) else _question(one, place).text
            if not (isinstance(y, str) or _are_right_answers(y)):
                raise DataError(
                    f"the answers of question {place} are {shown(y)}; expected a string, or a "
                    "list of (answer, start)"
                )
            for answer in right_answers(y, text):
                if not is_in(text, answer):
                    raise DataError(
                        f"the answer {answer.text!r} of question {place} is not in its text at "
                        f"character {answer.start}; expected a part of the text"
                    )

    def read(self, X: Sequence[Any], words: Words) -> list[QuestionReading]:
        """Tokenize the questions and texts; each distinct text once."""

        @cache
        def sentences(text: str) -> tuple[tuple[TokenTuple, ...], tuple[CharSpan, ...]]:
            tokens, spans = [], []
            bounds = split_sentences(text, self.language) if self.language else [(0, len(text))]
            for start, end in bounds:
                found = words.tokens(text[start:end])
                tokens.append(tuple(token.text for token in found))
                spans += [(start + token.start, start + token.end) for token in found]
            return tuple(tokens), tuple(spans)

        found = []
        for place, one in enumerate(X):
            if isinstance(one, QuestionReading):
                found.append(one)
                continue
            question, text = _question(one, place)
            tokens, spans = sentences(text)
            found.append(QuestionReading(((words.tokenize(question, place),), tokens), text, spans))
        return found

    def tokenized(self, X: Sequence[Any], words: Words) -> list[Any]:
        """Return the readings, which `read` takes too."""
        return list(self.read(X, words))

    def training(
        self, readings: Sequence[Any], y: Sequence[Any]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Cut long texts to `max_tokens` around the first right answer, or at the beginning."""
        return [self._cut(one, answers) for one, answers in zip(readings, y, strict=True)], y

    def _cut(self, reading: QuestionReading, y: Any) -> QuestionReading:
        if len(reading.spans) <= self.max_tokens:
            return reading
        span = token_span(reading, y)
        middle = 0 if span is None else sum(span) // 2
        first = min(max(0, middle - self.max_tokens // 2), len(reading.spans) - self.max_tokens)
        kept, place = [], 0
        for sentence in reading.texts[1]:
            kept.append(sentence[max(0, first - place) : max(0, first + self.max_tokens - place)])
            place += len(sentence)
        texts = (reading.texts[0], tuple(sentence for sentence in kept if sentence))
        return replace(reading, texts=texts, spans=reading.spans[first : first + self.max_tokens])


class SpanAnswers(Answers):
    """Each answer is a span of the text, or none where the training set has such questions."""

    def __init__(self, max_answer_tokens: int) -> None:
        super().__init__()
        self.max_answer_tokens = max_answer_tokens

    @property
    def may_be_none(self) -> bool:
        """Whether a question may have no answer."""
        return NO_ANSWER in self.labels

    def labels_of(self, y: Sequence[Any]) -> list[str]:
        """Return whether there is an answer, of each question."""
        return [ANSWER if answers else NO_ANSWER for answers in y]

    def learn(self, train: Examples, dev: Examples) -> None:
        """See whether there are questions without an answer."""
        self.labels = sorted(set(self.labels_of(train.y)))
        if ANSWER not in self.labels:
            raise DataError("no question of the training set has an answer; give some that have")

    def targets(self, readings: Sequence[Any], y: Sequence[Any]) -> list[Any]:
        """Return the first and last token of each first right answer; -1 and -1 for none."""
        spans = [token_span(one, answers) for one, answers in zip(readings, y, strict=True)]
        return [[-1, -1] if span is None else list(span) for span in spans]

    def decode(self, network: Any, scores: SpanScores, batch: Batch) -> list[Answer]:
        """Return the most probable answer of each question."""
        found = []
        for span, reading in zip(
            best_spans(scores, batch.sides[1].mask, self.max_answer_tokens),
            batch.readings,
            strict=True,
        ):
            if span.tokens is None or not reading.spans:  # a text may have no words
                found.append(Answer("", None, None, span.probability))
                continue
            first, last = span.tokens
            start, end = reading.spans[first][0], reading.spans[last][1]
            found.append(Answer(reading.text[start:end], start, end, span.probability))
        return found

    def evaluate(self, right: Sequence[Any], given: Sequence[Any]) -> AnswerEvaluation:
        """Return exact match and F1."""
        return evaluate_answers([answer_texts(y) for y in right], [str(one) for one in given])


def answer_texts(y: Any) -> list[str]:
    """Return the right answers of a question as strings."""
    return [y] if isinstance(y, str) else [text for text, _ in y]


def right_answers(y: Any, text: str) -> list[RightAnswer]:
    """Return the right answers of a question.

    A string is looked for in the text, first where it is not a part of a word.
    """
    if isinstance(y, str):
        whole = re.search(rf"(?<!\w){re.escape(y)}(?!\w)", text)
        return [RightAnswer(y, whole.start() if whole else text.find(y))] if y else []
    return [RightAnswer(*answer) for answer in y]


def is_in(text: str, answer: RightAnswer) -> bool:
    """Return whether an answer is a part of the text, and not white space alone."""
    found = answer.start >= 0 and text.startswith(answer.text, answer.start)
    return found and bool(answer.text.strip())


def _are_right_answers(y: Any) -> bool:
    return isinstance(y, Sequence) and all(
        isinstance(one, Sequence)
        and len(one) == 2
        and isinstance(one[0], str)
        and isinstance(one[1], Integral)
        for one in y
    )


def token_span(reading: QuestionReading, y: Any) -> tuple[int, int] | None:
    """Return the first and last token that the first right answer touches; None: no answer."""
    for answer, begin in right_answers(y, reading.text)[:1]:
        touched = [
            place
            for place, (start, end) in enumerate(reading.spans)
            if start < begin + len(answer) and end > begin
        ]
        if touched:
            return touched[0], touched[-1]
    return None


def _question(one: Any, place: int) -> Question:
    is_pair = isinstance(one, Sequence) and not isinstance(one, str) and len(one) == 2
    if not is_pair or not all(isinstance(part, str) for part in one):
        raise DataError(
            f"example {place} is {shown(one)}; expected a pair of a question and a text"
        )
    return Question(*one)
