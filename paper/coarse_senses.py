"""Tell the senses of ambiguous nouns apart by the nearest example (CoarseWSD-20).

    python -m paper.coarse_senses --model en --data PATH/coarsewsd20

Each test occurrence gets the sense of the training occurrence whose vector has the highest cosine.
Printed are the accuracies of each word on each layer and on the mean of the layers, beside that of
the sense that is most frequent in training. The sentences are lower-cased, as published.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from elmore import Elmo
from elmore.errors import DataError
from paper.report import Results, arguments_of, run
from paper.words import Vectors, with_mean

MOST_TRAINING, MOST_TEST = 400, 200  # sentences of a word
SEED = 1  # of the sample


@dataclass(frozen=True)
class Occurrences:
    """Sentences with one ambiguous word in each."""

    sentences: list[list[str]]
    places: list[int]
    """Where the word stands."""
    senses: npt.NDArray[np.int64]

    def sample(self, most: int, rng: np.random.Generator) -> "Occurrences":
        """Return at most so many of them, drawn at random."""
        chosen = np.sort(rng.permutation(len(self.places))[:most])
        return Occurrences(
            [self.sentences[i] for i in chosen], [self.places[i] for i in chosen],
            self.senses[chosen],
        )  # fmt: skip


def read_occurrences(folder: Path, split: str) -> Occurrences:
    """Read one split of one word."""
    lines = (folder / f"{split}.data.txt").read_text("utf-8").splitlines()
    senses = (folder / f"{split}.gold.txt").read_text("utf-8").split()
    if len(lines) != len(senses):
        raise DataError(f"{folder} has {len(lines)} {split} sentences and {len(senses)} senses")
    rows = [line.split("\t") for line in lines]
    return Occurrences(
        [sentence.split() for _, sentence in rows], [int(place) for place, _ in rows],
        np.array(senses, dtype=np.int64),
    )  # fmt: skip


def occurrence_vectors(elmo: Elmo, occurrences: Occurrences) -> Vectors:
    """Return the word's vector on each layer and their mean, (layers + 1, occurrences, D)."""
    read = elmo.encode_tokens(occurrences.sentences, layers="all")
    layers = np.stack(
        [found.vectors[:, i] for found, i in zip(read, occurrences.places, strict=True)], axis=1
    )
    return with_mean(layers)


def nearest_sense(
    training: Vectors, senses: npt.NDArray[np.int64], test: Vectors
) -> npt.NDArray[np.int64]:
    """Return for each row of `test` the sense of the row of `training` with the highest cosine."""
    training, test = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (training, test))
    nearest: npt.NDArray[np.int64] = senses[(test @ training.T).argmax(axis=1)]
    return nearest


def word_accuracies(elmo: Elmo, folder: Path) -> list[float]:
    """Return the accuracy of the most frequent sense, of each layer and of their mean."""
    rng = np.random.default_rng(SEED)
    training = read_occurrences(folder, "train").sample(MOST_TRAINING, rng)
    test = read_occurrences(folder, "test").sample(MOST_TEST, rng)
    ((frequent, _),) = Counter(training.senses.tolist()).most_common(1)
    found = [float((test.senses == frequent).mean())]
    pairs = zip(occurrence_vectors(elmo, training), occurrence_vectors(elmo, test), strict=True)
    for known, asked in pairs:
        found.append(float((nearest_sense(known, training.senses, asked) == test.senses).mean()))
    return found


def coarse_senses(elmo: Elmo, data: Path) -> Results:
    """Measure every word in the folder `data`, and their mean."""
    folders = sorted(path for path in data.iterdir() if path.is_dir())
    if not folders:
        raise DataError(f"{data} has no folder of a word; expected CoarseWSD-20")
    columns = ["most frequent", *(f"layer {n}" for n in range(elmo.n_layers)), "mean of layers"]
    rows = {folder.name: word_accuracies(elmo, folder) for folder in folders}
    rows["mean"] = np.mean(list(rows.values()), axis=0).tolist()
    return Results("accuracy of the nearest example's sense, %", columns, rows, scale=100)


if __name__ == "__main__":
    arguments = arguments_of(__doc__)
    run(lambda: coarse_senses(Elmo.from_pretrained(arguments.model), arguments.data), arguments)
