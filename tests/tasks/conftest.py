"""Static vectors of the words in the examples."""

import numpy as np
import pytest

from elmore import StaticVectors
from tests.tasks.made_examples import WORDS


@pytest.fixture(scope="module")
def static() -> StaticVectors:
    return StaticVectors(WORDS, np.random.default_rng(1).normal(size=(8, 5)).astype(np.float32))
