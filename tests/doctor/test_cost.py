"""Memory is computed from the shapes that training has."""

from pathlib import Path

import pytest
import torch

from elmore.corpus.prepare import prepare
from elmore.doctor.cost import TrainingState
from elmore.pretrain.distributed import ProcessGroup
from elmore.pretrain.initial_network import new_bilm
from elmore.pretrain.trainer import Trainer
from tests.pretrain.small_runs import small


@pytest.mark.parametrize("optimizer", ["adagrad", "adamw"])
def test_the_state_is_that_of_training(text: Path, tmp_path: Path, optimizer: str) -> None:
    recipe = small(optimizer=optimizer, frozen=("token_encoder",))
    corpus = prepare([text], tmp_path / "corpus", recipe.corpus)
    bilm = new_bilm(recipe, corpus.vocab, None)
    trainer = Trainer(bilm, corpus, recipe.training, tmp_path, ProcessGroup())
    kept = TrainingState.of(recipe, len(corpus.vocab))
    assert kept.weights == sum(p.nbytes for p in bilm.parameters())
    assert kept.gradients == trainer.step.gradients.values.nbytes
    assert kept.optimizer == sum(tensor.nbytes for _, tensor in trainer.optimizer.state())
    states = (trainer.state.forward, trainer.state.backward)
    assert kept.states == sum(state.h.nbytes + state.c.nbytes for state in states)
    buffers = [
        value
        for stack in trainer.step.stacks
        for layer in stack.layers
        for value in vars(layer).values()
        if isinstance(value, torch.Tensor)
    ]
    assert kept.buffers == sum(buffer.nbytes for buffer in buffers)
