"""Fixtures that several folders use: tiny models, and the files of shared/ where they are."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmore import Elmo
from elmore.engine import parallel
from elmore.pretrain.run import pretrain
from tests.oracle.elmo import random_model, write_model
from tests.pretrain.small_runs import small
from tests.tasks.made_examples import WORDS

SHARED = Path(__file__).resolve().parents[2] / "shared"

torch.set_num_threads(1)
parallel.set_n_threads(1)


@pytest.fixture(scope="session")
def tiny_weights() -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The options and arrays of a random model whose clips bite."""
    return random_model(
        seed=1,
        n_layers=2,
        dim=12,
        projection_dim=6,
        skip=True,
        cell_clip=0.5,
        proj_clip=0.5,
        activation="relu",
        n_highway=1,
        filters=[[1, 4], [2, 6], [3, 8]],
        char_dim=5,
    )


@pytest.fixture(scope="session")
def tiny_model(
    tmp_path_factory: pytest.TempPathFactory,
    tiny_weights: tuple[dict[str, Any], dict[str, np.ndarray]],
) -> Path:
    """The same as a published folder."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    write_model(folder, *tiny_weights)
    return folder


@pytest.fixture(scope="session")
def tiny_elmo(tiny_model: Path) -> Elmo:
    return Elmo.from_pretrained(tiny_model, tokenizer="whitespace")


@pytest.fixture(scope="session")
def language_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model with a softmax, of the words of the examples of tasks."""
    folder = tmp_path_factory.mktemp("lm")
    (folder / "text.txt").write_text(
        "".join(f"{' '.join(WORDS[k:] + WORDS[:k])}\n" for k in range(8))
    )
    pretrain([folder / "text.txt"], folder / "run", small())
    return folder / "run/model"


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """The threads that compute."""
    before = parallel.n_threads()
    parallel.set_n_threads(request.param)
    try:
        yield request.param
    finally:
        now = parallel.n_threads()
        parallel.set_n_threads(before)
    assert now == request.param, "something changed its caller's threads"


@pytest.fixture(scope="session")
def golden() -> Path:
    """The tiny trained model of bilm-tf with the vectors that the original code gave."""
    folder = SHARED / "fixtures/bilm-tf/tests/fixtures/model"
    if not folder.exists():
        pytest.skip("the golden files of bilm-tf are not here (shared/fixtures beside the project)")
    return folder
