"""Say whether a word means the same in two sentences (WiC, and KoBEST's WiC for Korean).

    python -m paper.word_in_context --model ko --data PATH/kobest-wic
    python -m paper.word_in_context --model en --data PATH/wic-en

Two occurrences mean the same where the cosine of their vectors is above a threshold: the one that
does best on the training pairs. Printed are the accuracies on the training pairs and on the
development pairs, for each layer, the mean of the layers, the states that predict the word without
reading it (context: side by side; expected: their sum) and the top layer joined with these, beside
that of the commoner answer.
"""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from elmore import Elmo
from elmore.errors import DataError
from paper.report import Results, arguments_of, elmo_of, run
from paper.words import Sentence, cosine_note, read_rows, span_vectors, token_place

Floats = npt.NDArray[np.float64]
Answers = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Pairs:
    """Pairs of occurrences of one word."""

    first: list[Sentence]
    second: list[Sentence]
    same: Answers
    """Whether both mean the same."""


def read_pairs(data: Path, split: str) -> Pairs:
    """Read a split of either data set."""
    if (data / f"{split}.tsv").exists():
        return _read_kobest(data / f"{split}.tsv")
    return _read_wic(data / split / f"{split}.data.txt", data / split / f"{split}.gold.txt")


def _read_kobest(path: Path) -> Pairs:
    first, second, same = [], [], []
    for where, row in islice(read_rows(path, 9), 1, None):
        first.append(_marked(row[2], row[1], where))
        second.append(_marked(row[5], row[1], where))
        answer = row[8].strip().lower()  # written False, FALSE and " False"
        if answer not in ("true", "false"):
            raise DataError(f"{where} has the answer {row[8]!r}; expected true or false")
        same.append(answer == "true")
    return Pairs(first, second, np.array(same))


def _marked(text: str, target: str, where: str) -> Sentence:
    """Take the brackets off the word that stands in them; one sentence has none around it."""
    if "[" in text:
        before, _, rest = text.partition("[")
        word, closing, after = rest.partition("]")
    else:
        before, closing, after = text.partition(target)
        word = target
    if not closing:
        raise DataError(f"{where} has the sentence {text!r}; expected {target!r} in [brackets]")
    return Sentence(before + word + after, [(len(before), len(before) + len(word))])


def _read_wic(data: Path, gold: Path) -> Pairs:
    first, second, same = [], [], []
    for where, row in read_rows(data, 5):
        numbers = row[2].partition("-")
        first.append(Sentence(row[3], [token_place(row[3], numbers[0], where)]))
        second.append(Sentence(row[4], [token_place(row[4], numbers[2], where)]))
    for where, (answer,) in read_rows(gold, 1):
        if answer not in ("T", "F"):
            raise DataError(f"{where} has the answer {answer!r}; expected T or F")
        same.append(answer == "T")
    if len(first) != len(same):
        raise DataError(f"{data} has {len(first)} pairs, {gold} {len(same)} answers")
    return Pairs(first, second, np.array(same))


def cosines(elmo: Elmo, pairs: Pairs) -> dict[str, Floats]:
    """Return the cosine of each pair, (N,), by each representation."""
    first, second = (span_vectors(elmo, side) for side in (pairs.first, pairs.second))
    found = {}
    for name in first:
        a, b = first[name].astype(float), second[name].astype(float)
        raw = (a * b).sum(-1) / (np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1))
        found[name] = raw.round(6)  # so that equal vectors have equal cosines
    return found


def best_threshold(values: Floats, same: Answers) -> float:
    """Return the threshold above which "the same" is right most often."""
    order = np.argsort(values)
    # Right answers if the first k are "another" and the rest "the same".
    right = np.concatenate([[0], np.cumsum(~same[order])]) + np.concatenate(
        [np.cumsum(same[order][::-1])[::-1], [0]]
    )
    bounds = np.concatenate([[-np.inf], values[order], [np.inf]])
    right[bounds[:-1] == bounds[1:]] = -1  # no threshold parts equal values
    k = int(right.argmax())
    return float((bounds[k] + bounds[k + 1]) / 2)


def word_in_context(elmo: Elmo, data: Path) -> Results:
    """Tune the thresholds on the training pairs, and measure on the others."""
    train, dev = read_pairs(data, "train"), read_pairs(data, "dev")
    found = {"train": cosines(elmo, train), "dev": cosines(elmo, dev)}
    thresholds = {name: best_threshold(v, train.same) for name, v in found["train"].items()}
    rows = {}
    for split, pairs in (("train", train), ("dev", dev)):
        share = pairs.same.mean()
        rows[split] = [float(max(share, 1 - share))] + [
            float(((values > thresholds[name]) == pairs.same).mean())
            for name, values in found[split].items()
        ]
    title, note = "word in context, accuracy in %", cosine_note(elmo)
    return Results(title, ["majority class", *thresholds], rows, scale=100, note=note)


if __name__ == "__main__":
    arguments = arguments_of(__doc__)
    run(lambda: word_in_context(elmo_of(arguments), arguments.data), arguments)
