"""Questions are answered by spans of the text: the best of all, letter for letter."""

import math
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from elmore import Elmo, StaticVectors
from elmore.errors import DataError, ElmoreError
from elmore.tasks import Answer, Examples, QuestionAnswerer, RightAnswer, answer_network
from elmore.tasks.answer_network import SpanScores, best_spans
from elmore.tasks.fit import FitEvent
from elmore.tasks.questions import QuestionReader, QuestionReading, right_answers, token_span
from elmore.tasks.task import Words
from elmore.text import Token, WhitespaceTokenizer
from tests.tasks.made_examples import WORDS

SMALL: dict[str, Any] = {
    "hidden_dim": 8, "n_epochs": 3, "batch_size": 8, "learning_rate": 0.02, "char_filters": 4,
    "tokenizer": "whitespace", "split_sentences": None,
}  # fmt: skip


def questions(n: int, seed: int = 1, *, none: bool = False) -> Examples:
    """The answer is the word that follows the question's."""
    rng = random.Random(seed)
    X, y = [], []
    for number in range(n):
        words = rng.sample(WORDS, 6)
        text, place = "  ".join(words), rng.randrange(5)
        if none and number % 3 == 0:
            X.append((next(word for word in WORDS if word not in words), text))
            y.append([])
        else:
            X.append((words[place], text))
            start = len("  ".join(words[: place + 1])) + 2
            y.append([RightAnswer(words[place + 1], start)])
    return Examples(X, y)


class Spaces(Words):
    """Words between spaces."""

    def tokens(self, text: str) -> list[Token]:
        return WhitespaceTokenizer()(text)

    def tokenize(self, text: Any, place: int) -> tuple[str, ...]:
        return tuple(text.split())


@pytest.mark.parametrize("has_none", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_best_span_by_brute_force(*, seed: int, has_none: bool) -> None:
    torch.manual_seed(seed)
    lengths, max_tokens = torch.tensor([6, 1, 4]), 3
    mask = torch.arange(6) < lengths[:, None]
    start, end = (torch.randn(3, 6).double().masked_fill(~mask, -1e4) for _ in range(2))
    none = torch.randn(3).double() + 2 if has_none else None
    found = best_spans(SpanScores(start, end, none), mask, max_tokens)
    for row, length in enumerate(lengths.tolist()):
        pairs = [(s, e) for s in range(length) for e in range(length)]
        weights = {(s, e): math.exp(start[row, s] + end[row, e]) for s, e in pairs}
        total = sum(weights.values()) + (0 if none is None else math.exp(none[row]))
        allowed = {pair: w for pair, w in weights.items() if 0 <= pair[1] - pair[0] < max_tokens}
        best: Any = max(allowed, key=lambda pair: allowed[pair])
        weight = allowed[best]
        if none is not None and math.exp(none[row]) > weight:
            best, weight = None, math.exp(none[row])
        assert found[row].tokens == best
        assert found[row].probability == pytest.approx(weight / total)


@pytest.mark.parametrize("none", [False, True])
def test_what_is_learnt_saved_and_resumed(
    *, none: bool, tiny_elmo: Elmo, static: StaticVectors, tmp_path: Path
) -> None:
    train, dev = questions(60, none=none), questions(20, seed=2, none=none)
    whole = QuestionAnswerer(tiny_elmo, static, **SMALL).fit(train, dev=dev)
    assert list(whole.classes_) == ["answer", "no answer"][: 1 + none]
    assert list(whole.mixes) == ["input", "output"]
    assert all(after < before for before, after in pairwise(whole.progress_.losses))

    calls = [0]

    def stop(event: FitEvent) -> None:
        calls[0] += event.stage == "train"
        if calls[0] > 25:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        QuestionAnswerer(tiny_elmo, static, **SMALL).fit(
            train, dev=dev, folder=tmp_path / "run", on_progress=stop
        )
    resumed = QuestionAnswerer(tiny_elmo, static, **SMALL).fit(
        train, dev=dev, folder=tmp_path / "run"
    )
    assert resumed.progress_ == whole.progress_
    for name, weight in whole.network_.state_dict().items():
        assert torch.equal(resumed.network_.state_dict()[name], weight)

    static.source = "here"
    whole.save(tmp_path / "saved")
    loaded = QuestionAnswerer.load(tmp_path / "saved", elmo=tiny_elmo, static=static)
    found = whole.predict(dev.X)
    assert loaded.predict(dev.X) == found
    for (_, text), answer in zip(dev.X, found, strict=True):
        assert 0 < answer.probability <= 1
        if answer.start is not None:
            assert answer.text == text[answer.start : answer.end]
    evaluation = whole.evaluate(dev)
    assert evaluation.score == whole.progress_.best
    assert whole.predict([]) == []


def test_the_scores_do_not_depend_on_batches_or_blocks(
    tiny_elmo: Elmo, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = QuestionAnswerer(tiny_elmo, **SMALL | {"n_epochs": 1}).fit(questions(20))
    asked = questions(12, seed=5).X
    asked += [(question, f"{text} {text}") for question, text in asked[:6]]
    asked += [("good", "film"), ("", "the film")]
    together = model.predict(asked)
    monkeypatch.setattr(answer_network, "_ROWS_AT_ONCE", 2)
    for one, answer in zip(asked, together, strict=True):
        (alone,) = model.predict([one])
        assert (alone.start, alone.end) == (answer.start, answer.end)
        assert alone.probability == pytest.approx(answer.probability, abs=1e-5)


def test_a_long_text_is_cut_around_its_answer_in_training_alone(tiny_elmo: Elmo) -> None:
    words = [f"w{number}" for number in range(50)]
    text = " ".join(words)
    reader = QuestionReader(language=None, max_tokens=9)
    readings = reader.read([("a b", text)] * 4, Spaces())
    golds: list[Any] = ["w0", "w25 w26", "w49", ""]
    cut, y = reader.training(readings, golds)
    assert y == golds
    assert [len(one.spans) for one in cut] == [9] * 4
    for one, gold in zip(cut, golds, strict=True):
        (sentence,) = one.texts[1]
        assert [text[start:end] for start, end in one.spans] == list(sentence)
        span = token_span(one, gold)
        assert (span is None) == (gold == "")
        if span is not None:
            assert " ".join(sentence[span[0] : span[1] + 1]) == gold
    assert [one.spans[0][0] for one in cut][::3] == [0, 0]
    model = QuestionAnswerer(tiny_elmo, **SMALL | {"n_epochs": 1, "max_tokens": 9})
    model.fit([("a b", text)] * 8, ["w0", "w25 w26", "w49", "w9"] * 2)
    (answer,) = model.predict([("a b", text)])
    assert answer.text
    assert answer.text in text


def test_sentences_and_offsets() -> None:
    text = "Kim lives in Seoul.  Lee left."
    (reading,) = QuestionReader(language="en", max_tokens=99).read([("Who ?", text)], Spaces())
    assert isinstance(reading, QuestionReading)
    assert reading.texts == (
        (("Who", "?"),), (("Kim", "lives", "in", "Seoul."), ("Lee", "left.")),
    )  # fmt: skip
    assert [text[start:end] for start, end in reading.spans] == text.split()
    assert token_span(reading, "Seoul") == (3, 3)  # inside a token
    assert token_span(reading, [("Seoul.  Lee", 13)]) == (3, 4)  # across sentences
    assert token_span(reading, []) is None
    assert right_answers("art", "Martin loves art") == [("art", 13)]
    assert right_answers("art", "Martin left") == [("art", 1)]


def test_texts_and_questions_without_words(tiny_elmo: Elmo) -> None:
    model = QuestionAnswerer(tiny_elmo, **SMALL | {"n_epochs": 1}).fit(questions(10))
    empty, answered = model.predict([("good", "  "), ("", "the film")])
    assert (empty.text, empty.start, empty.end) == ("", None, None)
    assert answered.text in ("the", "film", "the film")
    assert str(Answer("x", 0, 1, 0.5)) == "x"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda m: m.fit([("who", "a b")], ["c"]),
            "the answer 'c' of question 0 is not in its text",
        ),
        (
            lambda m: m.fit([("who", "a b")], [[("b", 0)]]),
            "the answer 'b' of question 0 is not in its text at character 0",
        ),
        (lambda m: m.fit(["who"], ["c"]), "example 0 is 'who'; expected a pair of a question"),
        (lambda m: m.fit([None], ["c"]), "example 0 is None; expected a pair of a question"),
        (
            lambda m: m.fit([{"question": "who", "text": "a b"}], ["b"]),
            "example 0 is {.*}; expected a pair of a question and a text",
        ),
        (
            lambda m: m.fit([("who", "a b")], [["ab"]]),
            r"the answers of question 0 are \['ab'\]; expected a string, or a list of \(answer, st",
        ),
        (lambda m: m.fit([("who", "a b")], [[("b", "2")]]), "the answers of question 0 are"),
        (lambda m: m.fit([("who", "a b")], [None]), "the answers of question 0 are None"),
        (lambda m: m.fit([("who", "a b")], [[(" ", 1)]]), "the answer ' ' of question 0 is not"),
        (
            lambda m: m.fit(questions(9), dev=([("who", "a b")], ["c"])),
            "the answer 'c' of question 0 is not in its text",
        ),
        (
            lambda m: m.fit(questions(9), dev=Examples([("who", "a b")], [])),
            "there are 1 examples and 0 labels",
        ),
        (lambda m: m.fit([("who", "a b")] * 4, [""] * 4), "no question of the training set has"),
        (lambda m: m.set_params(max_tokens=0).fit([], []), "max_tokens is 0"),
        (lambda m: m.set_params(split_sentences="Eng lish").fit([], []), "a language code"),
    ],
)
def test_what_cannot_be(tiny_elmo: Elmo, change: Any, message: str) -> None:
    with pytest.raises(ElmoreError, match=message):
        change(QuestionAnswerer(tiny_elmo, **SMALL))


def test_a_dev_set_may_have_unanswerable_questions_that_training_has_not(tiny_elmo: Elmo) -> None:
    model = QuestionAnswerer(tiny_elmo, **SMALL | {"n_epochs": 1})
    model.fit(questions(12), dev=questions(9, seed=2, none=True))
    assert all(answer.text for answer in model.predict(questions(9, none=True).X))
    with pytest.raises(DataError, match="expected a pair of a question and a text"):
        model.predict(["who"])
    with pytest.raises(DataError, match="the answers of question 0 are"):
        model.evaluate([("when", "in 16")], [["16"]])
