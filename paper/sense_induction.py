"""Find the senses of ambiguous nouns without labels; are they the right ones? (CoarseWSD-20)

    python -m paper.sense_induction --model en --data PATH/coarsewsd20

The occurrences of a word, at most 400, are clustered by `elmore.senses.induce` into as many groups
as they show. V-measure and the adjusted Rand index (ARI) say how well the groups agree with the
right senses: 1 is perfect, 0 no better than chance. Beside it stand the same vectors in two groups
for every word, the baseline, and in the right number of groups, the ceiling.
"""

from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score, v_measure_score

from elmore import Elmo
from elmore.errors import DataError
from elmore.senses.index import Occurrence
from elmore.senses.induce import cluster, context_states, find_groups, views_of
from paper.coarse_senses import MOST_TRAINING, SEED, read_examples
from paper.report import Results, arguments_of, elmo_of, run


def word_scores(elmo: Elmo, folder: Path) -> list[float]:
    """Return how many senses there are and were found, and V and ARI by each way to group."""
    examples = read_examples(folder, "train").sample(MOST_TRAINING, np.random.default_rng(SEED))
    occurrences = [
        Occurrence(tokens[place], tuple(tokens), place)
        for tokens, place in zip(examples.sentences, examples.places, strict=True)
    ]
    views = views_of(elmo, occurrences, context_states(elmo, occurrences))
    found = find_groups(views).labels
    n_senses = len(set(examples.senses))
    scores = [float(n_senses), float(found.max() + 1)]
    in_two, in_right = (cluster(views.joined(), n).labels for n in (2, n_senses))
    for labels in (found, in_two, in_right):
        scores.append(float(v_measure_score(examples.senses, labels)))
        scores.append(float(adjusted_rand_score(examples.senses, labels)))
    return scores


def sense_induction(elmo: Elmo, data: Path) -> Results:
    """Measure every word in the folder `data`, and their mean."""
    folders = sorted(path for path in data.iterdir() if path.is_dir())
    if not folders:
        raise DataError(f"{data} has no folder of a word; expected CoarseWSD-20")
    rows = {folder.name: word_scores(elmo, folder) for folder in folders}
    rows["mean"] = np.mean(list(rows.values()), axis=0).tolist()
    columns = ["senses", "found", "V", "ARI", "2: V", "2: ARI", "correct number: V",
               "correct number: ARI"]  # fmt: skip
    return Results("word sense induction", columns, rows, digits=2)


if __name__ == "__main__":
    asked = arguments_of(__doc__)
    run(lambda: sense_induction(elmo_of(asked), asked.data), asked)
