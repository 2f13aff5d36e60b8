"""The models that came with the package are listed, load fast and do what their cards say."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from elmore import Elmo
from elmore.errors import ElmoreWarning
from elmore.formats.resolve import bundled_models

from .conftest import Run

NAMES = ["en", "ko"]


def test_all_are_listed(elmore: Run) -> None:
    (found,) = elmore("models").records
    assert [facts["name"] for facts in found] == NAMES
    for facts in found:
        folder = Path(facts["folder"])
        assert folder == bundled_models()[facts["name"]]
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        assert facts["megabytes"] == size
        assert size < 40
        (info,) = elmore("info", facts["name"]).records
        for key in ("dim", "layers", "vocabulary", "tokenizer"):
            assert facts[key] == info[key]
        held_out = info["training"]["held_out"]
        assert facts["forward_perplexity"] == held_out["forward_perplexity"]
        assert facts["backward_perplexity"] == held_out["backward_perplexity"]


@pytest.mark.parametrize("name", NAMES)
def test_a_card_tells_the_figures_that_the_model_has(name: str) -> None:
    folder = bundled_models()[name]
    card = (folder / "README.md").read_text(encoding="utf-8")
    training = json.loads((folder / "config.json").read_text())["training"]
    held_out = training["held_out"]
    for figure in (
        f"{held_out['forward_perplexity']:.1f}",
        f"{held_out['backward_perplexity']:.1f}",
        f"{100 * held_out['unknown_rate']:.1f} %",
        f"{training['tokens'] / 1e6:.1f} million tokens",
    ):
        assert figure in card
    for text in training["texts"]:
        assert text in card


def test_bank_by_the_river_is_not_the_bank_with_the_money() -> None:
    elmo = Elmo.from_pretrained("en")
    first, second, third = (
        found.vectors[found.tokens.index("bank")]
        for found in elmo.encode_tokens(
            [
                "The village lies on the left bank of the river .",
                "They walked along the bank of the river Thames .",
                "He borrowed money from the bank to buy a house .",
            ],
            layers="top",
        )
    )
    assert first @ second / (second @ second) ** 0.5 > first @ third / (third @ third) ** 0.5


def test_an_apple_is_not_an_apology() -> None:
    elmo = Elmo.from_pretrained("ko", tokenizer="whitespace")
    apple, other_apple, apology = (
        found.vectors[found.tokens.index("사과")]
        for found in elmo.encode_tokens(
            ["나 는 아침 에 사과 를 먹 었 다 .", "농부 가 사과 나무 를 심 었 다 .",
             "그 는 국민 에게 사과 를 했 다 ."],
            layers="top",
        )
    )  # fmt: skip
    near = apple @ other_apple / (other_apple @ other_apple) ** 0.5
    assert near > apple @ apology / (apology @ apology) ** 0.5


def test_korean_without_mecab(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its vocabulary cuts almost alike, and that is said."""
    monkeypatch.setitem(sys.modules, "mecab", None)
    with pytest.warns(
        ElmoreWarning, match=r"pip install 'elmore\[ko\]' tokenizes it as in training"
    ):
        elmo = Elmo.from_pretrained("ko")
    assert elmo.tokenizer.name == "korean-vocabulary"
    (found,) = elmo.encode_tokens(["그는 사과를 먹었다."])
    assert found.tokens == ("그", "는", "사과", "를", "먹", "었", "다", ".")


def test_loading_reads_what_is_needed_and_no_more() -> None:
    program = (
        "import sys; from elmore import Elmo; Elmo.from_pretrained('en'); "
        "print([name for name in ('sacremoses', 'mecab', 'sklearn', 'matplotlib') "
        "if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
