"""Ids to token vectors to layers to mix: the network. Tensors only, no strings and no files.

Names are imported when first used, so that the configuration can be imported without torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elmore.model.bilm import BiLM, BiLMOutput, BiLMState
    from elmore.model.config import (
        AlphabetCnnConfig,
        BiLMConfig,
        CharCnnConfig,
        CharWordConfig,
        ConcatConfig,
        LstmConfig,
        Norm,
        WordEmbeddingConfig,
        WordTableConfig,
    )
    from elmore.model.context import context_states, expected_states, with_context_layer
    from elmore.model.elmo_layer import ElmoLayer, ElmoLayerOutput
    from elmore.model.lstm import LstmState
    from elmore.model.mix import ScalarMix

__all__ = [
    "AlphabetCnnConfig",
    "BiLM",
    "BiLMConfig",
    "BiLMOutput",
    "BiLMState",
    "CharCnnConfig",
    "CharWordConfig",
    "ConcatConfig",
    "ElmoLayer",
    "ElmoLayerOutput",
    "LstmConfig",
    "LstmState",
    "Norm",
    "ScalarMix",
    "WordEmbeddingConfig",
    "WordTableConfig",
    "context_states",
    "expected_states",
    "with_context_layer",
]

_HOMES = {
    "bilm": ("BiLM", "BiLMOutput", "BiLMState"),
    "config": (
        "AlphabetCnnConfig",
        "BiLMConfig",
        "CharCnnConfig",
        "CharWordConfig",
        "ConcatConfig",
        "LstmConfig",
        "Norm",
        "WordEmbeddingConfig",
        "WordTableConfig",
    ),
    "context": ("context_states", "expected_states", "with_context_layer"),
    "elmo_layer": ("ElmoLayer", "ElmoLayerOutput"),
    "lstm": ("LstmState",),
    "mix": ("ScalarMix",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"elmore.model.{module}"), name)
    raise AttributeError(f"module 'elmore.model' has no attribute {name!r}")
