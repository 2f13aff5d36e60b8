"""Ids to token vectors to layers to mix: the network. Tensors only, no strings and no files."""

from elmore.model.bilm import BiLM, BiLMOutput, BiLMState
from elmore.model.config import (
    BiLMConfig,
    CharCnnConfig,
    CharWordConfig,
    LstmConfig,
    WordTableConfig,
)
from elmore.model.context import context_states, expected_states, with_context_layer
from elmore.model.elmo_layer import ElmoLayer, ElmoLayerOutput
from elmore.model.engine import Engine, Sentences, TextbookEngine
from elmore.model.fast import FastEngine
from elmore.model.lstm import LstmState
from elmore.model.mix import Norm, ScalarMix
from elmore.model.products import Precision, has_bfloat16

__all__ = [
    "BiLM",
    "BiLMConfig",
    "BiLMOutput",
    "BiLMState",
    "CharCnnConfig",
    "CharWordConfig",
    "ElmoLayer",
    "ElmoLayerOutput",
    "Engine",
    "FastEngine",
    "LstmConfig",
    "LstmState",
    "Norm",
    "Precision",
    "ScalarMix",
    "Sentences",
    "TextbookEngine",
    "WordTableConfig",
    "context_states",
    "expected_states",
    "has_bfloat16",
    "with_context_layer",
]
