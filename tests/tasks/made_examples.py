"""Examples that a small task learns at once."""

import random
from typing import Any

from elmore.tasks import Examples

SMALL: dict[str, Any] = {"hidden_dim": 12, "n_epochs": 6, "batch_size": 8, "learning_rate": 0.02}


WORDS = ["good", "fine", "bad", "poor", "film", "the", "a", "was"]


def texts(n: int, seed: int = 1) -> Examples:
    """A text is good or bad by one of its words."""
    rng = random.Random(seed)
    labels = [rng.choice(["yes", "no"]) for _ in range(n)]
    said = {"yes": ["good", "fine"], "no": ["bad", "poor"]}
    return Examples(
        [f"the {'film ' * rng.randrange(3)}was {rng.choice(said[label])}" for label in labels],
        labels,
    )


def sentences(n: int, seed: int = 1) -> Examples:
    """good and what follows it is a span."""
    rng = random.Random(seed)
    made, tags = [], []
    for _ in range(n):
        words = [rng.choice(WORDS[:4]) for _ in range(rng.randrange(1, 7))]
        made.append(words)
        marks = ["O"] * len(words)
        for k, word in enumerate(words):
            if word == "good" and marks[k] == "O":
                marks[k] = "B-G"
                if k + 1 < len(words) and words[k + 1] != "good":
                    marks[k + 1] = "I-G"
        tags.append(marks)
    return Examples(made, tags)


def pairs(n: int, seed: int = 1) -> Examples:
    """Two texts are alike if they are the same word."""
    rng = random.Random(seed)
    made = [(rng.choice(WORDS[:4]), rng.choice(WORDS[:4])) for _ in range(n)]
    return Examples(made, ["same" if a == b else "other" for a, b in made])
