"""Memory is computed from the shapes that training has."""

from pathlib import Path

import numpy as np
import pytest

from elmore.corpus.prepare import prepare
from elmore.doctor.cost import TrainingState
from elmore.engine.training.lstm import DirectionTraining
from elmore.kernels.packed import PackedMatrix
from elmore.pretrain.distributed import ProcessGroup
from elmore.pretrain.initial_network import new_model
from elmore.pretrain.trainer import Trainer
from tests.pretrain.small_runs import small


@pytest.mark.parametrize("optimizer", ["adagrad", "adamw"])
def test_the_state_is_that_of_training(text: Path, tmp_path: Path, optimizer: str) -> None:
    recipe = small(optimizer=optimizer, frozen=("token_encoder",))
    corpus = prepare([text], tmp_path / "corpus", recipe.corpus)
    model = new_model(recipe, corpus.vocab, None)
    trainer = Trainer(model, corpus, recipe.training, tmp_path, ProcessGroup())
    kept = TrainingState.of(recipe, len(corpus.vocab))
    assert kept.weights == sum(array.nbytes for array in model.arrays.values())
    assert kept.gradients == trainer.step.gradients.values.nbytes
    assert kept.optimizer == sum(tensor.nbytes for _, tensor in trainer.optimizer.state())
    assert kept.states == sum(state.h.nbytes + state.c.nbytes for state in trainer.states)
    assert kept.buffers == sum(map(held_bytes, trainer.step.directions))


def held_bytes(direction: DirectionTraining) -> int:
    """The memory that a direction holds between updates."""
    arrays = [*vars(direction).values()]
    for layer in direction.layers:
        held = [*vars(layer).values(), *(layer.projections or ())]
        arrays += [x.panels if isinstance(x, PackedMatrix) else x for x in held]
        weights = (layer.input_weight, layer.recurrent_weight, layer.bias, layer.projection)
        arrays = [x for x in arrays if not any(x is weight for weight in weights)]
    return sum(x.nbytes for x in arrays if isinstance(x, np.ndarray))
