"""What a GPU computes by autograd is what a CPU computes by kernels; it runs on the CPU here."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from elmore.pretrain import trainer
from elmore.pretrain.autograd_step import AutogradStep
from elmore.pretrain.checkpoint import read_checkpoint
from elmore.pretrain.metrics import read_metrics
from elmore.pretrain.run import pretrain
from tests.pretrain.small_runs import small, write_text, write_vectors


def test_fifty_updates_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = write_text(tmp_path / "text.txt")
    recipe = small(
        static=str(write_vectors(tmp_path / "vectors.txt")), dropout=0.2, accumulate=2,
        softmax="sampled", optimizer="adagrad", learning_rate=0.1, n_epochs=4.5,
    )  # fmt: skip
    pretrain([text], tmp_path / "kernels", recipe)
    monkeypatch.setattr(trainer, "_step", lambda device: partial(AutogradStep, device=device))
    pretrain([text], tmp_path / "autograd", recipe)
    assert [*read_metrics(tmp_path / "kernels")][-1]["update"] >= 50
    found, expected = (
        read_checkpoint(tmp_path / name / "last.safetensors").arrays
        for name in ("autograd", "kernels")
    )
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, atol=1e-4, rtol=1e-4, err_msg=name)
