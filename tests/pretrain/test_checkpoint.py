"""A checkpoint is read whole, also while a run writes the next one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open

from elmore.errors import FormatError
from elmore.pretrain import checkpoint as module
from elmore.pretrain.checkpoint import Checkpoint, read_checkpoint, write_checkpoint


def write_mixed(path: Path) -> None:
    """Write what a reader saw that opened a file's header and the tensors of the next one."""
    write_checkpoint(path, Checkpoint({"weight": np.ones(3, np.float32)}, {"update": 1}))
    content = bytearray(path.read_bytes())
    content[-12:] = np.full(3, 2.0, np.float32).tobytes()
    path.write_bytes(content)


def test_replaced_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "last.safetensors"
    write_mixed(path)
    n_opened = 0

    def open_and_replace(path: Path, framework: str) -> Any:
        nonlocal n_opened
        n_opened += 1
        file = safe_open(path, framework)
        if n_opened == 1:
            write_checkpoint(
                path, Checkpoint({"weight": np.full(3, 2.0, np.float32)}, {"update": 2})
            )
        return file

    monkeypatch.setattr(module, "safe_open", open_and_replace)
    found = read_checkpoint(path)
    assert found.facts == {"update": 2}
    assert found.arrays["weight"].tolist() == [2.0] * 3
    assert n_opened == 2


def test_damaged_on_disk(tmp_path: Path) -> None:
    write_mixed(tmp_path / "last.safetensors")
    with pytest.raises(FormatError, match="is damaged: its checksum does not match its content"):
        read_checkpoint(tmp_path / "last.safetensors")
