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
from elmore.model.lstm import LstmState
from elmore.model.mix import Norm, ScalarMix

__all__ = [
    "BiLM",
    "BiLMConfig",
    "BiLMOutput",
    "BiLMState",
    "CharCnnConfig",
    "CharWordConfig",
    "ElmoLayer",
    "ElmoLayerOutput",
    "LstmConfig",
    "LstmState",
    "Norm",
    "ScalarMix",
    "WordTableConfig",
    "context_states",
    "expected_states",
    "with_context_layer",
]
