"""Sentences about banks of rivers, and of money."""

import numpy as np

from elmore.senses.index import Occurrence

RIVER = ["water", "boat", "fish", "deep", "flood"]


MONEY = ["loan", "account", "cash", "credit", "rates"]


def sentences(words: list[str], n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        tokens = rng.choice(words, size=6).tolist()
        tokens.insert(int(rng.integers(0, 7)), "bank")
        made.append(" ".join(tokens))
    return made


def occurrences(lines: list[str]) -> list[Occurrence]:
    split = [tuple(line.split()) for line in lines]
    return [Occurrence("bank", tokens, tokens.index("bank")) for tokens in split]
