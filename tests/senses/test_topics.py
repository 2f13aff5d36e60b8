"""The topic of an occurrence by a word table."""

import numpy as np
import torch

from elmore import Elmo
from elmore.bilm_config import BiLMConfig, LstmConfig, TokenEncoderConfig, WordTableConfig
from elmore.formats import Pretrained
from elmore.model.bilm import BiLM
from elmore.senses.index import Occurrence
from elmore.senses.topics import topic_vectors
from elmore.text import Vocab


def test_the_topic_by_a_word_table(english: Elmo) -> None:
    """The rows of the table without their mean, less for a frequent word."""
    assert english.model.vocab is not None
    vocab = Vocab(["<S>", "</S>", "<UNK>", "the", "river", *(f"w{k}" for k in range(2000))])
    char_cnn = english.config.token_encoder.chars
    assert char_cnn is not None
    config = BiLMConfig(
        token_encoder=TokenEncoderConfig(char_cnn, WordTableConfig(len(vocab), 4)),
        lstm=LstmConfig(n_layers=1, cell_dim=8, projection_dim=4),
    )
    bilm = BiLM(config)
    table = torch.randn(len(vocab), 4, generator=torch.Generator().manual_seed(1))
    bilm.token_encoder.words.weight.data = table
    elmo = Elmo(Pretrained(bilm.config, bilm.arrays, "whitespace", vocab))
    (found,) = topic_vectors(elmo, [Occurrence("x", ("x", "River", "the", "nowhere"), 0)])
    the, river = (table - table.mean(dim=0))[[3, 4]].numpy()
    weights = 1e-4 / (1e-4 + vocab.zipf()[[3, 4]])
    wanted = weights[0] * the + weights[1] * river
    np.testing.assert_allclose(found, wanted / np.linalg.norm(wanted), atol=1e-5)
