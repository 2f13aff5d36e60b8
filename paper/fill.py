"""Guess words that were taken out of text, from both sides and from one.

    python -m paper.fill --model en --data PATH/corpora/enwiki.txt.xz

From each of the last sentences of a text one word is taken out, and the model guesses it
(elmore.embed.fill). Printed is how often it is the first guess, among the first five and the first
ten, and the perplexity, for the words before the place, those after it, and both. The weight a of
log p(w), and where p(w) comes from, are chosen on as many other sentences, for which the rest of
the table is. Words outside the vocabulary cannot be guessed and are not asked for; sentences are
split as in training.
"""

from collections import deque
from pathlib import Path

import numpy as np

from elmore import Elmo
from elmore.corpus.files import check_texts, read_texts
from elmore.embed import Filler
from elmore.errors import DataError
from paper.report import Results, arguments_of, elmo_of, run

N_SENTENCES = 2000  # to measure, and as many to choose a
LAST_LINES = 4000
SEED = 1  # of which place is taken
WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
AT_ONCE = 256  # places

Row = tuple[float, float, float, float]


def held_out(elmo: Elmo, path: Path) -> list[tuple[list[str], int]]:
    """Return the last sentences of a text, each with a place of it, the very last ones first."""
    assert elmo.model.vocab is not None
    check_texts([path])
    recipe = elmo.model.training.get("recipe", {})
    reader = elmo.sentence_reader(recipe.get("corpus", {}).get("split_sentences"))
    lines = deque(read_texts([path], "text"), maxlen=LAST_LINES)
    rng = np.random.default_rng(SEED)
    found = []
    for tokens in reversed(list(reader.sentences(lines))):
        known = [k for k, word in enumerate(tokens) if word in elmo.model.vocab]
        if known and len(tokens) >= 5:
            found.append((tokens, int(rng.choice(known))))
        if len(found) == 2 * N_SENTENCES:
            return found
    raise DataError(f"{path} has {len(found)} sentences; expected {2 * N_SENTENCES} at its end")


def fill(elmo: Elmo, data: Path) -> Results:
    """Measure on one half of the sentences, choose on the other."""
    filler = Filler(elmo)
    sentences = held_out(elmo, data)
    read = elmo.encode_tokens([tokens for tokens, _ in sentences], layers="context")
    states = np.stack([v.vectors[k] for v, (_, k) in zip(read, sentences, strict=True)])
    words = filler.vocab.encode([tokens[k] for tokens, k in sentences])
    half = N_SENTENCES

    def measured(some: slice, sides: str, weight: float) -> Row:
        ranks, scores = [], []
        places = range(len(words))[some]
        for start in range(places.start, places.stop, AT_ONCE):
            batch = slice(start, min(start + AT_ONCE, places.stop))
            scored = filler.log_probabilities(states[batch], sides, prior_weight=weight)  # type: ignore[arg-type]
            right = np.take_along_axis(scored, words[batch, None], axis=1)
            ranks.append((scored > right).sum(axis=1))
            scores.append(right)
        rank = np.concatenate(ranks)
        shares = [100 * float((rank < n).mean()) for n in (1, 5, 10)]
        return shares[0], shares[1], shares[2], float(np.exp(-np.concatenate(scores).mean()))

    rows: dict[str, Row] = {}
    for sides in ("left", "right", "both"):
        rows[sides] = measured(slice(0, half), sides, 1.0)
    for weight in WEIGHTS:
        rows[f"other sentences, a = {weight}"] = measured(slice(half, None), "both", weight)
    mean_state = states[:half].mean(axis=0, keepdims=True)
    left, right = (filler.log_probabilities(mean_state, side)[0] for side in ("left", "right"))
    for name, log_prior in (
        ("softmax bias", elmo.model.arrays["softmax.bias"].astype(np.float32)),
        ("prediction at the mean state", (left + right) / 2),
    ):
        filler.log_prior = np.where(np.isneginf(log_prior), 0, log_prior)
        rows[f"other sentences, p(w) by the {name}"] = measured(slice(half, None), "both", 1.0)
    columns = ["top 1", "top 5", "top 10", "perplexity"]
    return Results("the removed word, accuracy in % and perplexity", columns, rows)


if __name__ == "__main__":
    arguments = arguments_of(__doc__)
    run(lambda: fill(elmo_of(arguments), arguments.data), arguments)
