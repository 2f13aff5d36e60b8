"""A biLM with all that its use needs, and the strictness that every format shares."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from elmore.errors import FormatError
from elmore.formats.arrays import check_arrays
from elmore.formats.calibration import Calibration
from elmore.model import BiLM, BiLMConfig
from elmore.text import (
    BEGIN_SENTENCE,
    END_SENTENCE,
    CharEncoder,
    CharWordEncoder,
    Normalization,
    Vocab,
)


@dataclass(frozen=True)
class Pretrained:
    """What a model folder holds, whatever its format."""

    bilm: BiLM
    """The network with its weights."""
    tokenizer: str
    """The name of the tokenizer for raw text."""
    vocab: Vocab | None = None
    """The words of the softmax or of the word table."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Where the weights came from: whatever the trainer wrote down."""
    normalization: Normalization | None = None
    """How text is normalized before anything else is done with it."""
    calibration: Calibration | None = None
    """The means and deviations of its layers, where they were measured."""

    def fingerprint(self) -> str:
        """Return a hash of all that decides the vectors: the weights, the shape, the words."""
        digest = hashlib.sha256(repr((self.bilm.config, self.vocab and self.vocab.words)).encode())
        for name, tensor in sorted(self.bilm.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.numpy(force=True).data)
        return digest.hexdigest()

    @property
    def encoder(self) -> CharEncoder | CharWordEncoder | Vocab:
        """What turns words into the biLM's ids."""
        char_cnn = self.bilm.config.char_cnn
        if char_cnn is None:
            assert self.vocab is not None  # held by check_vocab
            return self.vocab
        chars = CharEncoder(char_cnn.max_characters, char_cnn.spelling)
        if self.bilm.config.n_table_words is None:
            return chars
        assert self.vocab is not None
        return CharWordEncoder(chars, self.vocab)


def check_vocab(config: BiLMConfig, vocab: Vocab | None, where: Path) -> None:
    """Refuse a vocabulary that is missing or of another length than the rows it names."""
    rows = {"softmax": config.n_softmax_words, "word table": config.n_table_words}
    if config.char_cnn is None:
        for mark in (BEGIN_SENTENCE, END_SENTENCE):
            if vocab is not None and mark not in vocab:
                raise FormatError(f"the vocabulary of {where} lacks {mark}, which every text needs")
    for part, n_rows in rows.items():
        if n_rows is not None and vocab is None:
            raise FormatError(
                f"{where} has a {part} of {n_rows} words but no vocabulary; put its vocab.txt there"
            )
        if n_rows is not None and vocab is not None and len(vocab) != n_rows:
            raise FormatError(
                f"{where} has a {part} of {n_rows} words but a vocabulary of {len(vocab)}; "
                "they must be of one training run"
            )


def build_bilm(config: BiLMConfig, tensors: Mapping[str, Tensor], where: Path) -> BiLM:
    """Make the network around its weights, strictly; nothing is drawn at random on the way."""
    with torch.device("meta"):
        bilm = BiLM(config)
    expected = {name: tuple(tensor.shape) for name, tensor in bilm.state_dict().items()}
    check_arrays({name: tuple(tensor.shape) for name, tensor in tensors.items()}, expected, where)
    # Copied into memory of torch's own alignment: matrix products round by how memory is aligned.
    owned = {name: tensor.to(torch.float32, copy=True) for name, tensor in tensors.items()}
    for name, tensor in owned.items():
        # The sum alone is fast; it may overflow where no weight did.
        if not math.isfinite(tensor.sum().item()) and not tensor.isfinite().all():
            raise FormatError(
                f"{where}: {name} has weights that are not finite; copy or download it again"
            )
    bilm.load_state_dict(owned, assign=True)
    return bilm.eval()
