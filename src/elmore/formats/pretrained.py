"""A model with all that its use needs, and the strictness that every format shares."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from elmore.bilm_config import BiLMConfig, array_shapes, canonical_json
from elmore.errors import FormatError
from elmore.formats.arrays import check_arrays, not_finite, shapes_of
from elmore.formats.calibration import Calibration
from elmore.kernels.library import Arrays
from elmore.text import (
    ALPHABET_MARKS,
    BEGIN_SENTENCE,
    END_SENTENCE,
    OUTSIDE,
    IdEncoder,
    Normalization,
    Vocab,
)
from elmore.text.id_encoder import has_marks


@dataclass(frozen=True, eq=False)
class Pretrained:
    """What a model folder holds, whatever its format."""

    config: BiLMConfig
    """The shape of the network."""
    arrays: Arrays
    """Its weights, those of `array_shapes`."""
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
        facts = canonical_json(
            self.config,
            vocab=self.vocab and self.vocab.words,
            alphabet=self.alphabet and self.alphabet.words,
        )
        digest = hashlib.sha256(facts.encode())
        for name, array in sorted(self.arrays.items()):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(array, np.float32).data)
        return digest.hexdigest()

    @property
    def encoder(self) -> IdEncoder:
        """What turns tokens into the ids that the network reads."""
        config = self.config.token_encoder
        return IdEncoder(config, None if config.words is None else self.vocab, self.alphabet)


def check_vocab(config: BiLMConfig, vocab: Vocab | None, where: Path) -> None:
    """Refuse a vocabulary that is missing or of another length than the rows it names."""
    encoder = config.token_encoder
    n_table_words = None if encoder.words is None else encoder.words.n_words
    rows = {"softmax": config.n_softmax_words, "word table": n_table_words}
    marks: tuple[str, ...] = ()
    if encoder.words is not None and encoder.combine == "concat":
        marks = () if vocab is not None and has_marks(vocab) else (OUTSIDE,)
    elif encoder.words is not None and encoder.chars is None:
        marks = (BEGIN_SENTENCE, END_SENTENCE)
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
    chars = config.token_encoder.chars
    n_characters = None if chars is None else chars.alphabet_size
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


def check_weights(arrays: Arrays, config: BiLMConfig, where: Path, *, finite: bool = True) -> None:
    """Refuse arrays that are not those of the configuration or, with `finite`, are not finite."""
    check_arrays(shapes_of(arrays), array_shapes(config), where)
    for name in not_finite(arrays) if finite else ():
        raise FormatError(
            f"{where}: {name} has weights that are not finite; copy or download it again"
        )
