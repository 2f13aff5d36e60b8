"""The differentiable face: gradients, what is frozen, what the marks do."""

import pickle
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch

from elmore import Elmo, ElmoLayer
from elmore.bilm_config import (
    BiLMConfig,
    CharCnnConfig,
    LstmConfig,
    TokenEncoderConfig,
    WordTableConfig,
)
from elmore.errors import ConfigError, DataError
from elmore.formats import Pretrained
from elmore.model.bilm import BiLM
from elmore.model.frozen import kernels_can_run
from tests.oracle import elmo as oracle

TEXTS = [["river", "bank", "."], ["은행"], []]


def small_bilm(dtype: torch.dtype = torch.float32, seed: int = 0) -> BiLM:
    torch.manual_seed(seed)
    config = BiLMConfig(
        TokenEncoderConfig(
            CharCnnConfig(3, ((1, 2), (2, 3)), n_highway=1, activation="tanh", max_characters=8)
        ),
        LstmConfig(2, cell_dim=4, projection_dim=3, cell_clip=0.2, projection_clip=0.1),
    )
    return BiLM(config).to(dtype)


def test_gradients_of_every_weight_with_clips_that_bite() -> None:
    bilm = small_bilm(torch.float64)
    with torch.no_grad():
        for parameter in bilm.parameters():
            parameter.mul_(1.5)
        bilm.token_encoder.char_cnn.embedding.weight[0] = 0  # type: ignore[index, union-attr]
    layer = ElmoLayer(bilm, freeze=False, norm="token").double()
    batch = Elmo(Pretrained(bilm.config, bilm.arrays, "whitespace")).ids(TEXTS)
    clipped = bilm(batch.ids).state
    assert (clipped.forward.c.abs() == 0.2).any()
    assert (clipped.forward.h.abs() == 0.1).any()
    # Row 0 of the table is padding, which takes no gradient by definition.
    names = [name for name, _ in layer.named_parameters() if "embedding" not in name]
    parameters = dict(layer.named_parameters())

    def run(*values: torch.Tensor) -> Any:
        weights = dict(zip(names, values, strict=True))
        return torch.func.functional_call(layer, weights, (batch.ids,)).mixes

    assert torch.autograd.gradcheck(run, tuple(parameters[name] for name in names))


def test_frozen_means_frozen() -> None:
    layer = ElmoLayer(small_bilm(), n_mixes=2)
    batch = Elmo(Pretrained(layer.bilm.config, layer.bilm.arrays, "whitespace")).ids(TEXTS)
    sum(mix.sum() for mix in layer(batch.ids).mixes).backward()
    with_gradient = {name for name, p in layer.named_parameters() if p.grad is not None}
    assert with_gradient == {"mixes.0.w", "mixes.0.gamma", "mixes.1.w", "mixes.1.gamma"}


def test_an_elmo_made_during_fine_tuning_leaves_it_to_learn() -> None:
    layer = ElmoLayer(small_bilm(), freeze=False)
    elmo = Elmo(Pretrained(layer.bilm.config, layer.bilm.arrays, "whitespace"))
    before = elmo.encode_tokens(TEXTS)[0].vectors
    assert all(weight.requires_grad for weight in layer.bilm.parameters())
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    layer(elmo.ids(TEXTS).ids).mixes[0].sum().backward()
    optimizer.step()
    assert all(weight.grad is not None for weight in layer.bilm.parameters())
    tuned = elmo.with_bilm(layer.bilm).encode_tokens(TEXTS)[0].vectors
    assert np.abs(tuned - before).max() > 1e-3


def test_equals_elmo(tiny_elmo: Elmo) -> None:
    layer = ElmoLayer(tiny_elmo.bilm)
    for keep in (False, True):
        layer.keep_sentence_marks = keep
        output = layer(tiny_elmo.ids(TEXTS).ids)
        expected = tiny_elmo.encode_tokens(TEXTS, keep_sentence_marks=keep)
        assert output.mask.sum(dim=1).tolist() == [len(text.tokens) for text in expected]
        for row, text in enumerate(expected):
            found = output.mixes[0][row].detach().numpy()
            np.testing.assert_allclose(found[: len(text.tokens)], text.vectors, atol=5e-6)
            assert (found[len(text.tokens) :] == 0).all()


@pytest.mark.parametrize("norm", ["bilm-tf", "allennlp"])
def test_published_norms_count_the_marks_as_their_libraries_do(tiny_elmo: Elmo, norm: Any) -> None:
    batch = tiny_elmo.ids(TEXTS)
    output = ElmoLayer(tiny_elmo.bilm, norm=norm)(batch.ids)
    layers = tiny_elmo.bilm(batch.ids).layers.transpose(0, 1).numpy()
    mask = batch.mask.numpy()
    if norm == "bilm-tf":
        expected = oracle.mix(layers[:, :, 1:-1], [0.0] * 3, 1.0, norm, mask[:, 2:])
    else:
        expected = oracle.mix(layers, [0.0] * 3, 1.0, norm, mask)[:, 1:-1]
    real = output.mask.numpy()
    np.testing.assert_allclose(output.mixes[0].detach().numpy()[real], expected[real], atol=1e-5)


def test_several_mixes_learn_apart(tiny_elmo: Elmo) -> None:
    layer = ElmoLayer(tiny_elmo.bilm, n_mixes=2)
    layer(tiny_elmo.ids(TEXTS).ids).mixes[0].sum().backward()
    first, second = (mix.w.grad for mix in layer.mixes)
    assert first is not None
    assert second is None


def test_a_model_of_words_alone() -> None:
    bilm = BiLM(BiLMConfig(TokenEncoderConfig(words=WordTableConfig(4, 2)), LstmConfig(1, 4, 2)))
    ids = torch.tensor([[2, 1, 1, 3], [2, 1, 3, 0]])[:, :, None]
    output = ElmoLayer(bilm)(ids)
    assert output.mask.tolist() == [[True, True], [True, False]]


def test_padding_must_come_last(tiny_elmo: Elmo) -> None:
    batch = tiny_elmo.ids(TEXTS)
    with pytest.raises(DataError, match="padding must end each row"):
        tiny_elmo.bilm(batch.ids, batch.mask.flip(1))


def test_an_elmo_or_texts_are_refused(tiny_elmo: Elmo) -> None:
    with pytest.raises(ConfigError, match="is of type Elmo; expected a BiLM, such as"):
        ElmoLayer(tiny_elmo)  # type: ignore[arg-type]
    layer = ElmoLayer(tiny_elmo.bilm)
    for wrong, name in ((TEXTS, "list"), (tiny_elmo.ids(TEXTS), "TokenIds")):
        with pytest.raises(DataError, match=f"the ids are of type {name}; expected a tensor"):
            layer(wrong)


def test_a_batch_without_marks_is_too_narrow(tiny_elmo: Elmo) -> None:
    with pytest.raises(DataError, match="at least 2"):
        ElmoLayer(tiny_elmo.bilm)(tiny_elmo.ids([[]]).ids[:, :1])


def test_frozen_it_runs_on_the_kernels_and_is_the_textbook() -> None:
    bilm = small_bilm()
    layer = ElmoLayer(bilm, weights=[0.2, 0.5, 0.3], keep_sentence_marks=True)
    ids = Elmo(Pretrained(bilm.config, bilm.arrays, "whitespace")).ids([*TEXTS, ["a"] * 9, []]).ids
    output = bilm(ids)
    expected = layer.mixes[0](output.layers, output.mask)
    found = layer(ids)
    torch.testing.assert_close(found.mixes[0], expected, atol=2e-6, rtol=0)
    assert torch.equal(found.mask, output.mask)
    found.mixes[0].sum().backward()
    assert layer.mixes[0].gamma.grad is not None
    for made in (deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(made(ids).mixes[0], layer(ids).mixes[0])
    padded = output.mask.clone()
    padded[0, 0] = False
    with pytest.raises(DataError, match="padding must end each row"):
        layer(ids, padded)


def changed_in_place(layer: ElmoLayer) -> None:
    with torch.no_grad():
        next(layer.bilm.parameters()).mul_(1.5)


def changed_data(layer: ElmoLayer) -> None:
    for weight in layer.bilm.parameters():
        weight.data = weight * 1.5


def another_network(layer: ElmoLayer) -> None:
    layer.bilm = small_bilm(seed=5).requires_grad_(False)


def another_precision(layer: ElmoLayer) -> None:
    layer.double().float()


def loaded(layer: ElmoLayer) -> None:
    layer.bilm.load_state_dict(small_bilm(seed=5).state_dict())


def assigned(layer: ElmoLayer) -> None:
    layer.bilm.load_state_dict(small_bilm(seed=5).state_dict(), assign=True)
    layer.bilm.requires_grad_(False)


@pytest.mark.parametrize(
    "change", [changed_in_place, changed_data, another_network, another_precision, loaded, assigned]
)
def test_frozen_it_notices_other_weights(change: Callable[[ElmoLayer], None]) -> None:
    layer = ElmoLayer(small_bilm(), keep_sentence_marks=True)
    ids = torch.randint(1, 200, (3, 4, 8))
    layer(ids)
    change(layer)
    assert kernels_can_run(layer.bilm)
    expected = layer.mixes[0](layer.bilm(ids).layers, torch.ones(3, 4, dtype=torch.bool))
    torch.testing.assert_close(layer(ids).mixes[0], expected, atol=2e-6, rtol=0)


def test_what_the_kernels_cannot_run() -> None:
    assert not kernels_can_run(small_bilm())
    assert not kernels_can_run(small_bilm(torch.float64).requires_grad_(False))
    ids = torch.randint(1, 200, (3, 4, 8))
    with torch.inference_mode():
        bilm = BiLM.from_arrays(small_bilm().config, small_bilm().arrays)
        assert not kernels_can_run(bilm)
        found = ElmoLayer(bilm)(ids).mixes[0]
    torch.testing.assert_close(found, ElmoLayer(small_bilm())(ids).mixes[0], atol=2e-6, rtol=0)


def test_weights_that_are_not_finite_are_refused() -> None:
    bilm = small_bilm()
    elmo = Elmo(Pretrained(bilm.config, bilm.arrays, "whitespace"))
    with torch.no_grad():
        elmo.bilm.forward_lstm.layers[0].bias[3] = torch.nan  # type: ignore[index]
    with pytest.raises(DataError, match=r"forward_lstm.layers.0.bias of the network is not finite"):
        ElmoLayer(elmo.bilm)(elmo.ids(TEXTS).ids)
    with pytest.raises(DataError, match=r"forward_lstm.layers.0.bias of the network is not finite"):
        elmo.with_bilm(elmo.bilm)


@pytest.mark.parametrize("freeze", [True, False])
def test_a_mask_of_another_kind_or_shape_is_refused(*, freeze: bool) -> None:
    layer = ElmoLayer(small_bilm(), freeze=freeze)
    ids = torch.randint(1, 200, (3, 4, 8))
    with pytest.raises(DataError, match=r"torch.int64 of shape \(3, 4\); expected torch.bool"):
        layer(ids, torch.ones(3, 4, dtype=torch.int64))
    with pytest.raises(DataError, match=r"shape \(3, 3\); expected torch.bool of shape \(3, 4\)"):
        layer(ids, torch.ones(3, 3, dtype=torch.bool))
