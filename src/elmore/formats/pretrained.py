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
from elmore.model import BiLM, BiLMConfig, ConcatConfig, WordTableConfig
from elmore.text import (
    ALPHABET_MARKS,
    BEGIN_SENTENCE,
    END_SENTENCE,
    OUTSIDE,
    AlphabetEncoder,
    CharEncoder,
    CharWordEncoder,
    Normalization,
    Vocab,
    has_marks,
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
    alphabet: Vocab | None = None
    """The characters of a model that reads code points."""

    def fingerprint(self) -> str:
        """Return a hash of all that decides the vectors: the weights, the shape, the words."""
        digest = hashlib.sha256(repr((self.bilm.config, self.vocab and self.vocab.words)).encode())
        # Later fields are hashed only where they are used, so that no other hash changes.
        if self.bilm.config.lstm.forget_bias != 1:
            digest.update(f"forget_bias {float(self.bilm.config.lstm.forget_bias)}".encode())
        if self.alphabet is not None:
            digest.update(repr(self.alphabet.words).encode())
        for name, tensor in sorted(self.bilm.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.numpy(force=True).data)
        return digest.hexdigest()

    @property
    def encoder(self) -> CharEncoder | CharWordEncoder | AlphabetEncoder | Vocab:
        """What turns words into the biLM's ids."""
        encoder = self.bilm.config.token_encoder
        if isinstance(encoder, ConcatConfig):
            words = None if encoder.words is None else self.vocab
            return AlphabetEncoder(encoder.max_characters, self.alphabet, words)
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
    marks: tuple[str, ...] = ()
    if isinstance(config.token_encoder, WordTableConfig):
        marks = (BEGIN_SENTENCE, END_SENTENCE)
    elif isinstance(config.token_encoder, ConcatConfig) and config.token_encoder.words is not None:
        marks = () if vocab is not None and has_marks(vocab) else (OUTSIDE,)
    for mark in marks:
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


def check_alphabet(config: BiLMConfig, alphabet: Vocab | None, where: Path) -> None:
    """Refuse an alphabet that is missing, not needed, or of another length than its table."""
    n_characters = config.alphabet_size
    if (n_characters is None) != (alphabet is None):
        has, lacks = "an alphabet", "the model reads none"
        if alphabet is None:
            has, lacks = f"a table of {n_characters} characters", "the alphabet is missing"
        raise FormatError(f"{where} has {has}, but {lacks}; they must be of one training run")
    if alphabet is None:
        return
    missing = [mark for mark in ALPHABET_MARKS if mark not in alphabet]
    if missing:
        raise FormatError(
            f"the alphabet of {where} lacks {', '.join(missing)}, which every text needs"
        )
    if len(alphabet) != n_characters:
        raise FormatError(
            f"{where} has a table of {n_characters} characters but an alphabet of "
            f"{len(alphabet)}; they must be of one training run"
        )


def build_bilm(
    config: BiLMConfig, tensors: Mapping[str, Tensor], where: Path, *, verified: bool = False
) -> BiLM:
    """Make the network around its weights, strictly; nothing is drawn at random on the way.

    Weights that are `verified` were finite when they were written, and are the same still.
    """
    with torch.device("meta"):
        bilm = BiLM(config)
    expected = {name: tuple(tensor.shape) for name, tensor in bilm.state_dict().items()}
    check_arrays({name: tuple(tensor.shape) for name, tensor in tensors.items()}, expected, where)
    # Copied into memory of torch's own alignment: matrix products round by how memory is aligned.
    owned = {name: tensor.to(torch.float32, copy=True) for name, tensor in tensors.items()}
    if not verified:
        for name in not_finite(owned):
            raise FormatError(
                f"{where}: {name} has weights that are not finite; copy or download it again"
            )
    bilm.load_state_dict(owned, assign=True)
    return bilm.eval()


def not_finite(tensors: Mapping[str, Tensor]) -> list[str]:
    """Return the names of tensors with values that are not finite."""
    # The sum alone is fast; it may overflow where no value did.
    return [
        name
        for name, tensor in tensors.items()
        if not math.isfinite(tensor.sum().item()) and not tensor.isfinite().all()
    ]
