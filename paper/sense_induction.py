"""Find the senses of ambiguous nouns without labels; are they the right ones? (CoarseWSD-20)

    python -m paper.sense_induction --model en --data PATH/coarsewsd20 --static glove.6B.50d.txt

The occurrences of a word, at most 400, are parted by `elmore.senses.induce` into as many groups as
they show. V-measure and the adjusted Rand index say how well the groups agree with the right
senses: 1 is perfect, 0 no better than chance. Beside it stands the same parting of static vectors,
averaged over the same words.
"""

from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score, v_measure_score

from elmore import Elmo, StaticVectors
from elmore.errors import DataError
from elmore.senses.index import Occurrence
from elmore.senses.induce import context_vectors, find_groups, weighted_neighbours
from elmore.senses.search import Floats, of_length_one
from paper.coarse_senses import MOST_TRAINING, SEED, read_examples
from paper.report import Results, arguments_of, elmo_of, run


def static_vectors(static: StaticVectors, occurrences: list[Occurrence]) -> Floats:
    """Return the same means as `context_vectors`, of static vectors."""
    found = np.zeros((len(occurrences), static.dim), np.float32)
    for row, (places, weights) in enumerate(weighted_neighbours(occurrences)):
        if places:
            found[row] = weights @ static.encode([occurrences[row].tokens[k] for k in places])
    return of_length_one(found)


def word_scores(elmo: Elmo, static: StaticVectors, folder: Path) -> list[float]:
    """Return how many senses there are, and for both vectors how many groups, V and ARI."""
    examples = read_examples(folder, "train").sample(MOST_TRAINING, np.random.default_rng(SEED))
    occurrences = [
        Occurrence(folder.name, tuple(tokens), place)
        for tokens, place in zip(examples.sentences, examples.places, strict=True)
    ]
    found = [float(len(set(examples.senses)))]
    for vectors in (context_vectors(elmo, occurrences), static_vectors(static, occurrences)):
        labels = find_groups(vectors).labels
        found += [
            float(labels.max() + 1),
            float(v_measure_score(examples.senses, labels)),
            float(adjusted_rand_score(examples.senses, labels)),
        ]
    return found


def sense_induction(elmo: Elmo, data: Path, static: Path) -> Results:
    """Measure every word in the folder `data`, and their mean."""
    vectors = StaticVectors.read(static)
    folders = sorted(path for path in data.iterdir() if path.is_dir())
    if not folders:
        raise DataError(f"{data} has no folder of a word; expected CoarseWSD-20")
    rows = {folder.name: word_scores(elmo, vectors, folder) for folder in folders}
    rows["mean"] = np.mean(list(rows.values()), axis=0).tolist()
    columns = ["senses", "groups", "V", "ARI", "static groups", "static V", "static ARI"]
    return Results("senses found without labels", columns, rows, digits=2)


if __name__ == "__main__":
    asked = arguments_of(__doc__, {"static": "a file of static vectors"})
    run(lambda: sense_induction(elmo_of(asked), asked.data, asked.static), asked)
