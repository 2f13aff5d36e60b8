"""Models go to the hub and come back, against a local stand-in; what fails is one sentence."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from elmore import Elmo
from elmore.bilm_config import BiLMConfig, CharCnnConfig, LstmConfig, TokenEncoderConfig
from elmore.errors import ConfigError, FormatError
from elmore.formats import Pretrained, read_pretrained, write_native
from elmore.formats.model_card import model_card
from elmore.model.bilm import BiLM
from elmore.text import Vocab
from tests.cli.conftest import Refused, Run, elmore, refused  # noqa: F401

from .hub_stand_in import TOKEN, Hub, hub_stand_in

HELD_OUT = {"forward_perplexity": 117.448, "backward_perplexity": 118.426, "softmax": "full"}
TRAINING = {"texts": ["news.txt"], "tokens": 7000, "training_words": 6000, "held_out": HELD_OUT}


@pytest.fixture
def model() -> Pretrained:
    torch.manual_seed(0)
    words = Vocab(["<S>", "</S>", "<UNK>", "bank"])
    cnn = CharCnnConfig(3, ((1, 2), (2, 3)), n_highway=1, activation="relu")
    bilm = BiLM(BiLMConfig(TokenEncoderConfig(cnn), LstmConfig(2, 6, 3), len(words)))
    return Pretrained(bilm.config, bilm.arrays, "english", words, TRAINING, "NFC")


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """The stand-in, with an empty cache, and someone logged in."""
    from huggingface_hub.utils import disable_progress_bars

    disable_progress_bars()
    with hub_stand_in() as running:
        template = f"{running.address}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        for name, value in {
            "ENDPOINT": running.address,
            "HUGGINGFACE_CO_URL_TEMPLATE": template,
            "HF_HUB_CACHE": str(tmp_path / "cache"),
            "HF_TOKEN_PATH": str(tmp_path / "no-token"),
        }.items():
            monkeypatch.setattr(f"huggingface_hub.constants.{name}", value)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield running


def header(card: str) -> Any:
    _, said, _ = card.split("---\n", 2)
    return yaml.safe_load(said)


def test_there_and_back(hub: Hub, model: Pretrained, monkeypatch: pytest.MonkeyPatch) -> None:
    address = Elmo(model).push_to_hub("me/elmo", license="mit", message="First")
    assert address.startswith(f"{hub.address}/me/elmo/commit/")
    repository = hub.repositories["me/elmo"]
    assert not repository.private
    assert repository.messages == ["First"]
    files = repository.commits[repository.branches["main"]]
    assert {*files} == {"README.md", "config.json", "model.safetensors", "vocab.txt"}
    fetched = Elmo.from_pretrained("hf://me/elmo")
    assert fetched.model.fingerprint() == model.fingerprint()
    assert fetched.source == "hf://me/elmo"
    n_requests = len(hub.requests)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert read_pretrained("hf://me/elmo").fingerprint() == model.fingerprint()
    assert len(hub.requests) == n_requests


def test_a_revision_is_kept(hub: Hub, model: Pretrained) -> None:
    Elmo(model).push_to_hub("me/elmo")
    first = hub.repositories["me/elmo"].branches["main"]
    torch.manual_seed(1)
    other = replace(model, arrays=BiLM(model.config).arrays)
    Elmo(other).push_to_hub("me/elmo")
    Elmo(model).push_to_hub("me/elmo", revision="v1")
    assert read_pretrained("hf://me/elmo").fingerprint() == other.fingerprint()
    for revision in (first, "v1"):
        for elmo in (
            Elmo.from_pretrained("hf://me/elmo", revision=revision),
            Elmo.from_pretrained(f"hf://me/elmo@{revision}"),
        ):
            assert elmo.model.fingerprint() == model.fingerprint()
            assert elmo.source == f"hf://me/elmo@{revision}"
    with pytest.raises(FormatError, match="it has no revision 'v2'; name another"):
        Elmo.from_pretrained("hf://me/elmo", revision="v2")
    for name in ("en", "hf://me/elmo@v1"):
        with pytest.raises(ConfigError, match=r"revision is 'v1', but .*; expected hf://owner/nam"):
            Elmo.from_pretrained(name, revision="v1")


def test_command(
    hub: Hub,
    model: Pretrained,
    elmore: Run,  # noqa: F811
    tmp_path: Path,
) -> None:
    write_native(model, tmp_path / "model")
    (tmp_path / "model/README.md").write_text("# Ours\n\nTrained on news.\n", encoding="utf-8")
    arguments = ("--private", "--language", "de", "--dtype", "float16")
    (said,) = elmore("push", tmp_path / "model", "me/elmo", *arguments).records
    assert said["model"] == "hf://me/elmo"
    repository = hub.repositories["me/elmo"]
    assert repository.private
    files = repository.commits[repository.branches["main"]]
    card = files["README.md"].decode()
    assert card.endswith("---\n\n# Ours\n\nTrained on news.\n")
    assert header(card)["language"] == "de"
    (facts,) = elmore("info", "hf://me/elmo").records
    assert facts["dim"] == 6


def test_one_sentence_each(
    hub: Hub,
    model: Pretrained,
    refused: Refused,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_native(model, tmp_path / "model")
    Elmo(model).push_to_hub("me/secret", private=True)
    assert "expected owner/name" in refused("push", tmp_path / "model", "elmo")
    assert "cannot be uploaded" in refused("push", tmp_path / "model", "me/not a name")
    assert "may not do that" in refused("push", tmp_path / "model", "you/elmo")
    assert "there is no folder" in refused("push", "no-model", "me/elmo")
    assert "there is no such repository" in refused("info", "hf://me/none")
    monkeypatch.delenv("HF_TOKEN")
    assert "log in" in refused("push", tmp_path / "model", "me/elmo")
    assert "or log in (hf auth login)" in refused("info", "hf://me/secret")
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    assert "the hub cannot be reached" in refused("info", "hf://me/other")
    assert "the hub cannot be reached" in refused("push", tmp_path / "model", "me/elmo")


def test_the_card(model: Pretrained) -> None:
    card = model_card(model, "me/elmo", license="mit")
    said = header(card)
    assert said["library_name"] == "elmore"
    assert (said["language"], said["license"], said["metrics"]) == ("en", "mit", ["perplexity"])
    assert said["tags"] == ["elmo", "bilm", "contextual-word-embeddings"]
    metrics = said["model-index"][0]["results"][0]["metrics"]
    assert [one["value"] for one in metrics] == [117.45, 118.43]
    for text in (
        'Elmo.from_pretrained("hf://me/elmo")',
        "| layers | 3 of 6 dimensions |",
        "| training text | `news.txt` |",
        "| forward perplexity | 117.4 |",
    ):
        assert text in card


def test_the_card_of_a_model_that_says_nothing(model: Pretrained) -> None:
    for training in ({}, {"held_out": "x", "texts": 3, "tokens": "many"}):
        card = model_card(replace(model, training=training, tokenizer="whitespace"), "me/elmo")
        said = header(card)
        assert not {"language", "license", "metrics", "model-index"} & said.keys()
        assert "training text" not in card


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_card_with_a_header_is_left_as_it_is(model: Pretrained, newline: str) -> None:
    whole = newline.join(["---", "license: mit", "---", "", "# Ours", ""])
    assert model_card(model, "me/elmo", readme=whole) == whole
    for given in ({"license": "apache-2.0"}, {"language": "de"}):
        with pytest.raises(ConfigError, match=r"but README.md has a YAML header of its own; write"):
            model_card(model, "me/elmo", readme=whole, **given)
