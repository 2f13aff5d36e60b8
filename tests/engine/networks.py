"""Random biLMs of every kind, and sentences for them."""

from typing import Any

import numpy as np
import torch

from elmore.bilm_config import (
    BiLMConfig,
    CharCnnConfig,
    LstmConfig,
    TokenEncoderConfig,
    WordTableConfig,
)
from elmore.engine.network import Sentences
from elmore.model.bilm import BiLM

FILTERS = ((1, 4), (2, 6), (7, 9))
BYTES = CharCnnConfig(5, FILTERS, n_highway=2, activation="relu", max_characters=20)
ALPHABET = CharCnnConfig(
    5, FILTERS, n_highway=2, activation="tanh", max_characters=20, char_encoding="alphabet",
    alphabet_size=60,
)  # fmt: skip
LARGE = CharCnnConfig(
    5, FILTERS, n_highway=1, activation="relu", max_characters=20, char_encoding="alphabet",
    alphabet_size=5000,
)  # fmt: skip
LSTM = LstmConfig(2, 12, 6)
ENCODERS = {
    "characters": TokenEncoderConfig(BYTES),
    "characters and words": TokenEncoderConfig(BYTES, WordTableConfig(9, 6)),
    "words": TokenEncoderConfig(None, WordTableConfig(9, 6)),
    "concatenated": TokenEncoderConfig(ALPHABET, WordTableConfig(9, 7), "concat"),
    "concatenated words": TokenEncoderConfig(None, WordTableConfig(9, 7), "concat"),
    "alphabet": TokenEncoderConfig(ALPHABET, None, "concat"),
    "large alphabet": TokenEncoderConfig(LARGE, None, "concat"),
}


def random_bilm(encoder: TokenEncoderConfig, lstm: LstmConfig = LSTM, seed: int = 0) -> BiLM:
    """A textbook network whose words and biases are not zero."""
    torch.manual_seed(seed)
    bilm = BiLM(BiLMConfig(encoder, lstm)).requires_grad_(False)
    for parameter in bilm.parameters():
        if not parameter.any():
            parameter.normal_(std=0.3)
    return bilm.eval()


def arrays_of(bilm: BiLM, dtype: Any = np.float32) -> dict[str, np.ndarray]:
    """The weights by name."""
    return {name: x.numpy().astype(dtype) for name, x in bilm.state_dict().items()}


def random_ids(config: TokenEncoderConfig, n_words: int, seed: int = 1) -> np.ndarray:
    """Ids of words, the characters of most ending in padding."""
    rng = np.random.default_rng(seed)
    columns = []
    if config.chars is not None:
        n, width = config.chars.n_characters, config.chars.max_characters
        ids = rng.integers(1, n, (n_words, width))
        ids[np.arange(width) >= rng.integers(0, width + 1, (n_words, 1))] = min(n - 1, 261)
        columns.append(ids)
    if config.words is not None:
        columns.append(rng.integers(0, config.words.n_words + 1, (n_words, 1)))
    return np.concatenate(columns, axis=1)


def random_sentences(n_words: int, lengths: list[int], seed: int = 2) -> Sentences:
    """Sentences, longest first, of so many distinct words."""
    words = np.random.default_rng(seed).integers(0, n_words, sum(lengths))
    return Sentences(words.astype(np.int32), np.array(sorted(lengths, reverse=True), np.int64))
