"""Every example in the docs is run and prints what it says; the README lists all there is.

`python -m tests.update_docs` writes what they print now.
"""

import doctest
import re
import shutil
import tomllib
from pathlib import Path

import pytest
import torch

from elmore.bilm_config import BiLMConfig, CharCnnConfig, LstmConfig, TokenEncoderConfig
from elmore.formats import Pretrained, write_bilm_tf
from elmore.model.bilm import BiLM

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "README.ko.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_EXAMPLES = [page for page in PAGES if ">>>" in page.read_text(encoding="utf-8")]

FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    write_models(folder)
    return folder


def write_models(folder: Path) -> None:
    """Write stand-ins for published models: their shapes and files, with random weights."""
    torch.manual_seed(0)
    config = BiLMConfig(
        token_encoder=TokenEncoderConfig(
            CharCnnConfig(16, FILTERS, n_highway=1, activation="relu")
        ),
        lstm=LstmConfig(n_layers=2, cell_dim=1024, projection_dim=128),
    )
    write_bilm_tf(Pretrained(config, BiLM(config).arrays, "english"), folder / "elmo-small")
    shutil.copytree(ROOT / "tests/formats/many_langs/both", folder / "161")


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: page.stem)
def test_examples(page: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(models)
    failed, tried = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize("name", ["README.md", "README.ko.md"])
def test_every_extra_is_listed_with_its_line(name: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].keys()
    rows = re.findall(r"^\| `(\w+)` \|.*\| `(pip install [^`]+)` \|", page_text(name), flags=re.M)
    assert dict(rows) == {extra: f"pip install '.[{extra}]'" for extra in extras}
    assert len(rows) == len(extras)
    all_of_them = set(re.findall(r"\w+", project["optional-dependencies"]["all"][0])) - {"elmore"}
    assert all_of_them | {"all", "pictures"} == set(extras)  # pictures come with pretrain


def test_every_folder_is_described_once() -> None:
    _, _, tree = page_text("README.md").partition("src/elmore/\n")
    described = re.findall(r"^  (\w+)/ ", tree.partition("```")[0], flags=re.M)
    folders = [p.name for p in (ROOT / "src/elmore").iterdir() if p.is_dir()]
    assert sorted(described) == sorted(set(folders) - {"__pycache__"})


def page_text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")
