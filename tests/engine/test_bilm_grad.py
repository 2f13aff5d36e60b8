"""A biLM under a task: layers and gradients are those of the network under autograd."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from elmore import BiLM
from elmore.bilm_config import (
    BiLMConfig,
    CharCnnConfig,
    LstmConfig,
    TokenEncoderConfig,
    WordTableConfig,
)
from elmore.engine.bilm_grad import differentiable_layers
from elmore.errors import DataError

LENGTHS, N_CHARACTERS, N_WORDS = (7, 5, 1, 7), 12, 20
CHARACTERS = CharCnnConfig(5, ((1, 4), (2, 6), (3, 8)), 1, "relu")
CLIPS = {"cell_clip": 0.05, "projection_clip": 0.02}  # clips that bite
NETWORKS = {
    "characters": BiLMConfig(TokenEncoderConfig(CHARACTERS), LstmConfig(2, 12, 6, **CLIPS)),
    "no clips, no skip": BiLMConfig(
        TokenEncoderConfig(CHARACTERS),
        LstmConfig(3, 12, 6, cell_clip=None, projection_clip=None, skip_connections=False),
    ),
    "no projection": BiLMConfig(TokenEncoderConfig(CHARACTERS), LstmConfig(2, 6, 6, **CLIPS)),
    "characters and words": BiLMConfig(
        TokenEncoderConfig(CHARACTERS, WordTableConfig(N_WORDS, 6)), LstmConfig(2, 12, 6)
    ),
    "words": BiLMConfig(
        TokenEncoderConfig(words=WordTableConfig(N_WORDS, 6)), LstmConfig(2, 12, 6)
    ),
}


def network(config: BiLMConfig) -> BiLM:
    torch.manual_seed(3)
    bilm = BiLM(config)
    if bilm.token_encoder.words is not None:
        torch.nn.init.normal_(bilm.token_encoder.words.weight)
    return bilm


def batch(bilm: BiLM) -> tuple[Tensor, Tensor]:
    """Return ids and mask of four sentences whose words recur."""
    torch.manual_seed(4)
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    words = torch.randint(0, N_WORDS, mask.shape)
    encoder = bilm.config.token_encoder
    if encoder.chars is None:
        return (words[:, :, None] + 1) * mask[:, :, None], mask
    spelled = torch.randint(1, 200, (N_WORDS, N_CHARACTERS))
    spelled[:, 9:] = 261
    ids = spelled[words]
    if encoder.words is not None:
        ids = torch.cat([ids, (words % (N_WORDS // 2))[:, :, None]], dim=2)  # half are unknown
    return ids * mask[:, :, None], mask


def gradients(
    bilm: BiLM, layers_of: Callable[[Tensor, Tensor], Tensor]
) -> dict[str, Tensor | None]:
    bilm.zero_grad()
    layers = layers_of(*batch(bilm))
    weights = torch.randn(layers.shape, generator=torch.Generator().manual_seed(5))
    (layers * weights).sum().backward()
    return {"layers": layers.detach()} | {
        name: None if weight.grad is None else weight.grad.clone()
        for name, weight in bilm.named_parameters()
    }


def same(bilm: BiLM) -> dict[str, Tensor | None]:
    expected = gradients(bilm, lambda ids, mask: bilm(ids, mask).layers)
    found = gradients(bilm, lambda ids, mask: differentiable_layers(bilm, ids, mask))
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(
            found[name], value, atol=2e-5, rtol=2e-5, msg=lambda m, n=name: f"{n}: {m}"
        )
    return found


@pytest.mark.parametrize("name", NETWORKS)
def test_equal_to_autograd(name: str, threads: int) -> None:
    found = same(network(NETWORKS[name]))
    assert all(value is not None and value.abs().max() > 0 for value in found.values())


@pytest.mark.parametrize("learns", ["lstm.layers.1", "lstm.layers", "token_encoder"])
def test_frozen_parts_have_no_gradient(learns: str) -> None:
    bilm = network(NETWORKS["characters and words"])
    for name, weight in bilm.named_parameters():
        weight.requires_grad_(learns in name)
    found = same(bilm)
    assert {name for name, value in found.items() if value is not None} == {"layers"} | {
        name for name, _ in bilm.named_parameters() if learns in name
    }


def test_gradients_are_taken_once() -> None:
    bilm = network(NETWORKS["characters"])
    total = differentiable_layers(bilm, *batch(bilm)).sum()
    total.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="taken before"):
        total.backward()


def test_padding_must_end_each_row() -> None:
    bilm = network(NETWORKS["characters"])
    ids, mask = batch(bilm)
    with pytest.raises(DataError, match="padding must end each row"):
        differentiable_layers(bilm, ids, mask.flip(1))
