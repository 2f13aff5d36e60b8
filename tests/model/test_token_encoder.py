"""Characters and words, added or concatenated, or either alone."""

import pytest
import torch

from elmore.bilm_config import (
    BiLMConfig,
    CharCnnConfig,
    Combine,
    LstmConfig,
    TokenEncoderConfig,
    WordTableConfig,
)
from elmore.errors import ConfigError
from elmore.model.bilm import BiLM
from elmore.model.token_encoder import TokenEncoder

CNN = CharCnnConfig(5, ((1, 4), (2, 6), (3, 8)), n_highway=1, activation="relu", max_characters=9)
N_WORDS = 30


@pytest.fixture
def bilm() -> BiLM:
    torch.manual_seed(0)
    bilm = BiLM(
        BiLMConfig(TokenEncoderConfig(CNN, WordTableConfig(N_WORDS, 6)), LstmConfig(2, 12, 6))
    )
    torch.nn.init.normal_(bilm.token_encoder.words.weight)
    return bilm


def ids_of(n_words: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    characters = torch.randint(1, 200, (n_words, 9), generator=generator)
    numbers = torch.randint(0, N_WORDS + 1, (n_words, 1), generator=generator)
    return torch.cat([characters, numbers], dim=1)


def test_a_word_is_its_characters_plus_its_row(bilm: BiLM) -> None:
    ids = ids_of(20)
    ids[:3, -1] = torch.tensor([0, 1, N_WORDS])
    vectors = bilm.token_encoder(ids)
    encoder = bilm.token_encoder
    spelled, rows = encoder.projection(encoder.char_cnn(ids[:, :-1])), encoder.words.weight
    assert torch.equal(vectors[0], spelled[0])  # outside the table
    assert torch.equal(vectors[1], spelled[1] + rows[0])
    assert torch.equal(vectors[2], spelled[2] + rows[-1])


def test_a_word_is_its_row_and_its_characters_projected() -> None:
    torch.manual_seed(0)
    encoder = TokenEncoder(TokenEncoderConfig(CNN, WordTableConfig(N_WORDS, 7), "concat"), 6)
    ids = ids_of(20)
    ids[0, -1] = 0  # outside the table
    rows = torch.cat([torch.zeros(1, 7), encoder.words.weight])[ids[:, -1]]
    both = torch.cat([rows, encoder.char_cnn(ids[:, :-1])], dim=1)
    torch.testing.assert_close(encoder(ids), encoder.projection(both))


@pytest.mark.parametrize("combine", ["add", "concat"])
def test_words_alone(combine: Combine) -> None:
    torch.manual_seed(0)
    encoder = TokenEncoder(TokenEncoderConfig(None, WordTableConfig(N_WORDS, 6), combine), 6)
    rows = encoder.words.weight[[4, 0]]
    expected = rows if combine == "add" else encoder.projection(rows)
    torch.testing.assert_close(encoder(torch.tensor([[5], [1]])), expected)


def test_as_many_filters_as_dimensions() -> None:
    """Then characters that are added need no projection, and concatenated ones have it still."""
    added, concatenated = (
        TokenEncoder(TokenEncoderConfig(CNN, None, how), 18) for how in ("add", "concat")
    )
    assert added.projection is None
    assert concatenated.projection is not None
    ids = ids_of(3)[:, :-1]
    assert torch.equal(added(ids), added.char_cnn(ids))


def test_only_rows_of_the_batch_have_a_gradient(bilm: BiLM) -> None:
    ids = ids_of(8).view(2, 4, -1)
    ids[0, 0, -1] = 0
    bilm(ids).layers[1:].sum().backward()
    gradient = bilm.token_encoder.words.weight.grad
    assert gradient is not None
    touched = set(ids[..., -1].flatten().tolist()) - {0}
    assert {row + 1 for row in gradient.any(dim=1).nonzero()[:, 0].tolist()} == touched


def test_rows_of_zeros_are_padding(bilm: BiLM) -> None:
    ids = torch.zeros(2, 5, 10, dtype=torch.int64)
    ids[0] = ids_of(5)
    ids[1, :3] = ids_of(8)[5:]
    output = bilm(ids)
    assert output.mask.tolist() == [[True] * 5, [True] * 3 + [False] * 2]
    torch.testing.assert_close(output.layers[:, 1, :3], bilm(ids[1:, :3]).layers[:, 0])


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(ConfigError, match="n_words is 0; expected a whole number, at least 1"):
        WordTableConfig(0, 6)
