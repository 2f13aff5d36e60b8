"""Where the published samples of static vectors are, if they are."""

from pathlib import Path

import pytest

from tests.conftest import SHARED


@pytest.fixture
def shared_vectors() -> Path:
    """GloVe and word2vec files of gensim and AllenNLP."""
    folder = SHARED / "fixtures/static-vectors"
    if not folder.exists():
        pytest.skip("the samples of static vectors are not here (shared/fixtures)")
    return folder
