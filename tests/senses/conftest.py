"""A model, and indexes, for senses."""

import numpy as np
import pytest

from elmore import Elmo
from elmore.senses.build import build_index
from elmore.senses.index import OccurrenceIndex
from elmore.senses.index_file import IndexConfig
from tests.senses.bank_sentences import MONEY, RIVER, sentences

WORDS = [
    "the",
    "bank",
    "of",
    "a",
    "river",
    "has",
    "money",
    "in",
    "it",
    "and",
    "some",
    "boats",
    "은행",
]


LINES = [" ".join(np.random.default_rng(k).choice(WORDS, size=5 + k % 4)) for k in range(600)]


@pytest.fixture(scope="module")
def english() -> Elmo:
    """The bundled model: senses need one that knows something."""
    return Elmo.from_pretrained("en", tokenizer="whitespace")


@pytest.fixture(scope="module")
def old_and_new(
    english: Elmo, tmp_path_factory: pytest.TempPathFactory
) -> tuple[OccurrenceIndex, OccurrenceIndex]:
    """bank moves from the river to the money; the boat stays where it was."""
    folder = tmp_path_factory.mktemp("indexes")
    same = [f"a boat on deep water {k % 7} ;" for k in range(30)]
    old = same + sentences(RIVER, 45, 1) + sentences(MONEY, 5, 2)
    new = same + sentences(RIVER, 10, 3) + sentences(MONEY, 40, 4)
    config = IndexConfig(layers=(1, 2))
    return tuple(
        build_index(english, lines, folder / name, config, source=[{"name": name}])
        for name, lines in (("old", old), ("new", new))
    )  # type: ignore[return-value]


@pytest.fixture(scope="module")
def index(tiny_elmo: Elmo, tmp_path_factory: pytest.TempPathFactory) -> OccurrenceIndex:
    folder = tmp_path_factory.mktemp("indexes") / "index"
    return build_index(
        tiny_elmo, LINES, folder, IndexConfig(layers=(0, 2)), source=[{"name": "text"}]
    )
