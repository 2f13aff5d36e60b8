"""Every example in the README and the docs is run, and prints what it says it prints."""

import doctest
import shutil
from pathlib import Path

import pytest
import torch

from elmore.formats import Pretrained, write_bilm_tf
from elmore.model import BiLM, BiLMConfig, CharCnnConfig, LstmConfig

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "README.ko.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_EXAMPLES = [page for page in PAGES if ">>>" in page.read_text(encoding="utf-8")]

FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))


@pytest.fixture(scope="module")
def elmo_small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stands in for the published small model: its shape and its files, with random weights."""
    folder = tmp_path_factory.mktemp("docs")
    torch.manual_seed(0)
    config = BiLMConfig(
        token_encoder=CharCnnConfig(16, FILTERS, n_highway=1, activation="relu"),
        lstm=LstmConfig(n_layers=2, cell_dim=1024, projection_dim=128),
    )
    write_bilm_tf(Pretrained(BiLM(config), "english"), folder / "elmo-small")
    shutil.copytree(ROOT / "tests/formats/many_langs/both", folder / "161")
    return folder


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.stem)
def test_examples(page: Path, elmo_small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(elmo_small)
    failed, tried = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert tried > 0
    assert failed == 0
