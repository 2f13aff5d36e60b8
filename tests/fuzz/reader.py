"""What a reader under test is, and the small model that most of them read or use."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from elmore import Elmo
from elmore.bilm_config import (
    BiLMConfig,
    CharCnnConfig,
    LstmConfig,
    TokenEncoderConfig,
    WordTableConfig,
)
from elmore.formats import Calibration, Pretrained
from elmore.model.bilm import BiLM
from elmore.text import Vocab

WORDS = ["<S>", "</S>", "<UNK>", "bank", "은행", "river"]


@dataclass(frozen=True)
class Reader:
    """One thing that reads files."""

    make: Callable[[Path], None]
    read: Callable[[Path], Any]
    files: tuple[str, ...]
    checked: tuple[str, ...] = ()


def small_model(*, table: bool) -> Pretrained:
    torch.manual_seed(0)
    chars = CharCnnConfig(3, ((1, 2), (2, 3)), 1, "relu")
    encoder = TokenEncoderConfig(chars, WordTableConfig(len(WORDS), 3) if table else None)
    config = BiLMConfig(encoder, LstmConfig(1, 4, 3), len(WORDS))
    ones = dict.fromkeys((0, 1, "context"), np.ones(6, np.float32))
    ones["expected"] = np.ones(3, np.float32)
    calibration = Calibration(ones, ones, 10, ("a.txt",))
    return Pretrained(
        config, BiLM(config).arrays, "whitespace", Vocab(WORDS), {"epochs": 1}, None, calibration
    )


@cache
def small_elmo() -> Elmo:
    return Elmo(small_model(table=True), tokenizer="whitespace")
