"""Tell the senses of ambiguous nouns apart by the nearest example (CoarseWSD-20).

    python -m paper.coarse_senses --model en --data PATH/coarsewsd20

Each test occurrence gets the sense of the training occurrence whose vector has the highest cosine.
Printed are the accuracies of each word on each layer, on the mean of the layers, by the states that
predict the word (context: side by side; expected: their sum) and by the top layer joined with
these, beside that of the sense that is most frequent in training. The sentences are lower-cased,
as published.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from elmore import Elmo
from elmore.errors import DataError
from elmore.senses.representations import read_layers, word_vectors
from paper.report import Results, arguments_of, elmo_of, run
from paper.words import Vectors, by_name, cosine_note, read_rows, token_place

MOST_TRAINING, MOST_TEST = 400, 200  # sentences of a word
SEED = 1  # of the sample


@dataclass(frozen=True)
class Examples:
    """Sentences with one ambiguous word in each."""

    sentences: list[list[str]]
    places: list[int]
    """Which word of each it is."""
    senses: npt.NDArray[np.str_]

    def sample(self, most: int, rng: np.random.Generator) -> "Examples":
        """Return at most so many of them, drawn at random."""
        chosen = np.sort(rng.permutation(len(self.places))[:most])
        return Examples(
            [self.sentences[i] for i in chosen], [self.places[i] for i in chosen],
            self.senses[chosen],
        )  # fmt: skip


def read_examples(folder: Path, split: str) -> Examples:
    """Read one split of one word."""
    sentences, places = [], []
    for where, (place, text) in read_rows(folder / f"{split}.data.txt", 2):
        token_place(text, place, where)  # that there is one
        sentences.append(text.split(" "))
        places.append(int(place))
    senses = [sense for _, (sense,) in read_rows(folder / f"{split}.gold.txt", 1)]
    if len(sentences) != len(senses):
        raise DataError(
            f"{folder} has {len(sentences)} {split} sentences and {len(senses)} senses; "
            "expected as many of either"
        )
    return Examples(sentences, places, np.array(senses))


def example_vectors(elmo: Elmo, examples: Examples) -> dict[str, Vectors]:
    """Return each representation of the word, (examples, D), by name."""
    read = elmo.encode_tokens(examples.sentences, layers=read_layers(elmo))
    pairs = zip(read, examples.places, strict=True)
    return by_name(elmo, [word_vectors(elmo, v.vectors, i, i + 1) for v, i in pairs])


def nearest_sense(
    training: Vectors, senses: npt.NDArray[np.str_], test: Vectors
) -> npt.NDArray[np.str_]:
    """Return for each row of `test` the sense of the row of `training` with the highest cosine."""
    training, test = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (training, test))
    nearest: npt.NDArray[np.str_] = senses[(test @ training.T).argmax(axis=1)]
    return nearest


def word_accuracies(elmo: Elmo, folder: Path) -> dict[str, float]:
    """Return the accuracy of the most frequent sense and of each representation, by name."""
    rng = np.random.default_rng(SEED)
    training = read_examples(folder, "train").sample(MOST_TRAINING, rng)
    test = read_examples(folder, "test").sample(MOST_TEST, rng)
    ((frequent, _),) = Counter(training.senses.tolist()).most_common(1)
    found = {"most frequent": float((test.senses == frequent).mean())}
    known = example_vectors(elmo, training)
    for name, asked in example_vectors(elmo, test).items():
        given = nearest_sense(known[name], training.senses, asked)
        found[name] = float((given == test.senses).mean())
    return found


def coarse_senses(elmo: Elmo, data: Path) -> Results:
    """Measure every word in the folder `data`, and their mean."""
    folders = sorted(path for path in data.iterdir() if path.is_dir())
    if not folders:
        raise DataError(f"{data} has no folder of a word; expected CoarseWSD-20")
    found = {folder.name: word_accuracies(elmo, folder) for folder in folders}
    columns = list(next(iter(found.values())))
    rows = {word: list(accuracies.values()) for word, accuracies in found.items()}
    rows["mean"] = np.mean(list(rows.values()), axis=0).tolist()
    title, note = "WSD by the nearest example, accuracy in %", cosine_note(elmo)
    return Results(title, columns, rows, scale=100, note=note)


if __name__ == "__main__":
    arguments = arguments_of(__doc__)
    run(lambda: coarse_senses(elmo_of(arguments), arguments.data), arguments)
