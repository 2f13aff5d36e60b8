"""The occurrences of a word in, its senses out: groups of like use, as many as the data show.

Vectors of length one are parted by k-means, for each number of senses from two upwards, and the
number is taken whose groups lie furthest apart for their width (the silhouette). Where even the
best parting is no better than the parting of a single cloud, the word has one sense.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elmore.errors import ConfigError, DataError, MissingExtraError
from elmore.senses.index import Ints, Occurrence, OccurrenceIndex
from elmore.senses.search import Floats, of_length_one

_MOST_LEARNED = 2_000  # occurrences that groups are found from; the others join the nearest
_WINDOW = 12  # words on either side that may be telling
_PRIOR = 0.5  # added to each count, against chance


@dataclass(frozen=True)
class Groups:
    """Vectors in groups."""

    labels: Ints
    """Which group each vector is in, (N,), the largest group first."""
    centres: Floats
    """(groups, D), of length one."""
    silhouette: float
    """How far apart the groups are: up to 1; 0 for a single one."""


@dataclass(frozen=True)
class Sense:
    """A way in which a word is used."""

    rows: Ints
    """Its occurrences in the index, the most typical first."""
    share: float
    """Of the word's occurrences."""
    telling_words: list[str]
    """Words that stand beside it more than beside the other senses."""


def find_groups(
    vectors: npt.NDArray[np.floating], *, max_groups: int = 8, seed: int = 1
) -> Groups:
    """Part vectors, (N, D), into groups, as many as they show."""
