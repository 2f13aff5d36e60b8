"""The fast step's losses and gradients are the textbook's."""

from dataclasses import replace

import numpy as np
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
from elmore.engine.parameters import Parameters
from elmore.model.bilm import BiLMState
from elmore.model.lstm import LstmState
from elmore.pretrain.autograd_step import AutogradStep
from elmore.pretrain.config import TrainingConfig
from elmore.pretrain.step import (
    States,
    StreamState,
    TrainingStep,
    Update,
    Window,
    zero_states,
)
from elmore.text import ALPHABET_MARKS, IdEncoder, Vocab
from tests.engine.networks import arrays_of
from tests.oracle.training import Batch, Masks, Sampled, textbook_loss

B, T, V = 5, 7, 60
N_OUTSIDE = 20  # words outside the vocabulary
NUMBER = 4  # of the update
ALPHABET = [*ALPHABET_MARKS, *"wx0123456789"]


def network(**lstm: object) -> BiLM:
    torch.manual_seed(3)
    options = {"cell_clip": 0.05, "projection_clip": 0.02} | lstm  # clips that bite
    projection_dim = int(options.pop("projection_dim", 6))
    activation = options.pop("activation", "relu")
    n_highway = options.pop("n_highway", 1)
    has_table = options.pop("word_table", False)
    concat = options.pop("concat", None)
    characters = CharCnnConfig(5, ((1, 4), (2, 6), (3, 8)), n_highway, activation)
    table = WordTableConfig(V, projection_dim) if has_table else None
    encoder = TokenEncoderConfig(characters, table)
    if concat is not None:
        alphabet = replace(
            characters, max_characters=12, char_encoding="alphabet", alphabet_size=len(ALPHABET)
        )
        words = WordTableConfig(V, 7, max_length=10) if concat == "both" else None
        encoder = TokenEncoderConfig(alphabet, words, "concat")
    bilm = BiLM(BiLMConfig(encoder, LstmConfig(2, 12, projection_dim, **options), V))
    if has_table:
        torch.nn.init.normal_(bilm.token_encoder.words.weight)
    return bilm


def spelled(bilm: BiLM) -> np.ndarray:
    """The token ids of every word; those outside the vocabulary have no row of the word table."""
    words = ["<S>", "</S>", "<UNK>"] + [f"w{'x' * (k % 9)}{k}" for k in range(V + N_OUTSIDE - 3)]
    config = bilm.config.token_encoder
    return IdEncoder(config, Vocab(words[:V]), Vocab(ALPHABET)).encode(words).astype(np.int16)


def windows(seed: int) -> tuple[Window, Window]:
    random = np.random.default_rng(seed)

    def draw() -> Window:
        inputs, targets = random.integers(0, V + N_OUTSIDE, (2, T, B))
        return Window(inputs, targets, random.random((T, B)) < 0.3)

    return draw(), draw()


def textbook(
    bilm: BiLM, pairs: list[tuple[Window, Window]], step: TrainingStep, states: States
) -> tuple[list[float], list[Tensor]]:
    config, number = step.config, NUMBER
    rows = torch.from_numpy(spelled(bilm)).long()
    samples = None
    if step.sampler is not None:
        drawn = step.sampler.draw(np.random.default_rng([config.seed, number]))
        log_expected = step.sampler.log_expected(drawn, np.arange(V, dtype=np.int32))
        samples = Sampled(torch.from_numpy(drawn.words).long(), torch.from_numpy(log_expected))
    total = torch.zeros(())
    losses = torch.zeros(2)
    state = BiLMState(*(LstmState(*map(torch.from_numpy, (x.h, x.c))) for x in states))
    for place, pair in enumerate(pairs):
        batches = []
        for window in pair:
            targets = torch.from_numpy(window.targets.T.copy())
            inputs = torch.from_numpy(window.inputs.T.copy())
            starts = torch.from_numpy(window.starts.T.copy()) if config.state == "zero" else None
            token_ids = rows[inputs]
            if step.encoder.has_words and step.encoder.adds:
                dropped = torch.from_numpy(~step.kept_rows(number, place))
                token_ids[..., -1][(inputs < V) & dropped[inputs.clamp(max=V - 1)]] = 0
            batches.append(Batch(token_ids, targets.masked_fill(targets >= V, 2), starts))
        masks = None
        if config.dropout:
            drawn_masks = []
            for direction in range(2):
                found = []
                for dropout in step.dropouts(number, place, direction):
                    mask = np.ones((T, B, step.directions[0].config.projection_dim), np.float32)
                    dropout.drop(mask)
                    found.append(torch.from_numpy(mask).transpose(0, 1))
                drawn_masks.append(Masks(found[:-1], found[-1]))
            masks = (drawn_masks[0], drawn_masks[1])
        forward, backward, state = textbook_loss(
            bilm, *batches, state, samples=samples, masks=masks
        )
        losses += torch.stack([forward, backward]).detach() / len(pairs)
        total = total + T * (forward + backward) / 2 / len(pairs)
    gradients = torch.autograd.grad(total, list(bilm.parameters()))
    return losses.tolist(), list(gradients)


def run(
    bilm: BiLM, config: TrainingConfig, n_windows: int = 1
) -> tuple[TrainingStep, Update, list[tuple[Window, Window]], States]:
    step = TrainingStep(
        bilm.config, Parameters(arrays_of(bilm), config.frozen), config,
        lambda ids: spelled(bilm)[ids], unknown=2,
    )  # fmt: skip
    pairs = [windows(seed) for seed in range(n_windows)]
    random = np.random.default_rng(9)

    def draw(x: np.ndarray) -> np.ndarray:
        return 0.1 * random.standard_normal(x.shape).astype(np.float32)

    forward, backward = (
        StreamState(draw(state.h), draw(state.c)) for state in zero_states(bilm.config, B)
    )
    return step, step(pairs, (forward, backward), NUMBER), pairs, (forward, backward)


def gradients_of(bilm: BiLM, step: TrainingStep, update: Update) -> list[Tensor]:
    found = []
    for name, parameter in bilm.named_parameters():
        if name in update.rows:
            rows = update.rows[name].rows
            gradient = np.zeros(parameter.shape, np.float32)
            gradient[slice(None) if rows is None else rows] = update.rows[name].values
        else:
            gradient = step.gradients.arrays[name].copy()
        found.append(torch.from_numpy(gradient))
    return found


CASES = {
    "no forget bias": ({"forget_bias": 0.0}, {"softmax": "full"}),
    "full softmax": ({}, {"softmax": "full"}),
    "sampled softmax": ({}, {"softmax": "sampled", "n_samples": 20}),
    "all words sampled": ({}, {"softmax": "sampled", "n_samples": V}),
    "dropout": ({}, {"softmax": "full", "dropout": 0.3}),
    "sentences from nothing": ({}, {"softmax": "full", "state": "zero"}),
    "no skip": ({"skip_connections": False}, {"softmax": "full", "dropout": 0.3}),
    "no clips": ({"cell_clip": None, "projection_clip": None}, {"softmax": "full"}),
    "no projection": ({"projection_dim": 12}, {"softmax": "full"}),
    "tanh, two highways": ({"activation": "tanh", "n_highway": 2}, {"softmax": "full"}),
    "no highway": ({"n_highway": 0}, {"softmax": "full"}),
    "word table": (
        {"word_table": True},
        {"softmax": "sampled", "n_samples": 20, "word_dropout": 0.0},
    ),
    "word table, word dropout": ({"word_table": True}, {"softmax": "full", "word_dropout": 0.4}),
    "concat": ({"concat": "both", "forget_bias": 0.0}, {"softmax": "full"}),
    "concat, characters": ({"concat": "characters", "n_highway": 2}, {"softmax": "full"}),
}


@pytest.mark.parametrize("name", CASES)
def test_equal_to_the_textbook(name: str) -> None:
    lstm, training = CASES[name]
    bilm = network(**lstm)
    config = TrainingConfig(**({"batch_size": B, "unroll_steps": T, "dropout": 0.0} | training))
    step, update, pairs, state = run(bilm, config)
    losses, expected = textbook(bilm, pairs, step, state)
    np.testing.assert_allclose(update.losses, losses, atol=1e-5)
    for (parameter_name, _), gradient, found in zip(
        bilm.named_parameters(), expected, gradients_of(bilm, step, update), strict=True
    ):
        torch.testing.assert_close(
            found, gradient, atol=1e-5, rtol=1e-5, msg=lambda m, n=parameter_name: f"{n}: {m}"
        )


def test_clips_bite() -> None:
    bilm = network()
    step, *_ = run(bilm, TrainingConfig(batch_size=B, unroll_steps=T, softmax="full", dropout=0.0))
    for direction in step.directions:
        for layer in direction.layers:
            assert 0.02 < (np.abs(layer.c[1:, :, :12]) >= 0.05).mean() < 0.98
            assert 0.02 < (np.abs(layer.h) >= 0.02).mean() < 0.98


@pytest.mark.parametrize("word_table", [False, True])
def test_accumulated_windows_are_one_update(word_table: bool) -> None:
    bilm = network(word_table=word_table)
    config = TrainingConfig(
        batch_size=B, unroll_steps=T, dropout=0.2, softmax="sampled", n_samples=20, accumulate=3
    )
    step, update, pairs, state = run(bilm, config, n_windows=3)
    losses, expected = textbook(bilm, pairs, step, state)
    np.testing.assert_allclose(update.losses, losses, atol=1e-5)
    for gradient, found in zip(expected, gradients_of(bilm, step, update), strict=True):
        torch.testing.assert_close(found, gradient, atol=1e-5, rtol=1e-5)


def test_bfloat16_is_close() -> None:
    bilm = network(cell_clip=None, projection_clip=None)
    config = TrainingConfig(batch_size=B, unroll_steps=T, dropout=0.0, softmax="full")
    step, update, _, _ = run(bilm, config)
    exact = torch.cat([gradient.flatten() for gradient in gradients_of(bilm, step, update)])
    step, rounded, _, _ = run(bilm, replace(config, precision="bfloat16"))
    found = torch.cat([gradient.flatten() for gradient in gradients_of(bilm, step, rounded)])
    np.testing.assert_allclose(rounded.losses, update.losses, atol=0.02)
    assert not torch.equal(found, exact)
    assert torch.cosine_similarity(found, exact, dim=0) > 0.999


@pytest.mark.parametrize("name", CASES)
def test_autograd_computes_the_same(name: str) -> None:
    lstm, training = CASES[name]
    bilm = network(**lstm)
    config = TrainingConfig(**({"batch_size": B, "unroll_steps": T, "dropout": 0.0} | training))
    step, update, pairs, states = run(bilm, config)
    by_autograd = AutogradStep(
        bilm.config, Parameters(arrays_of(bilm)), config, step.encode_ids, unknown=2, device="cpu"
    )
    expected = by_autograd(pairs, states, NUMBER)
    np.testing.assert_allclose(update.losses, expected.losses, atol=1e-5)
    for key, found in step.gradients.arrays.items():
        np.testing.assert_allclose(found, by_autograd.gradients.arrays[key], atol=1e-5, rtol=1e-5)
    assert update.rows.keys() == expected.rows.keys()
    for key, row_gradient in update.rows.items():
        np.testing.assert_array_equal(row_gradient.rows, expected.rows[key].rows)
        np.testing.assert_allclose(row_gradient.values, expected.rows[key].values, atol=1e-5)
    for one, other in zip(update.states, expected.states, strict=True):
        np.testing.assert_allclose(one.h, other.h, atol=1e-6)
        np.testing.assert_allclose(one.c, other.c, atol=1e-6)
