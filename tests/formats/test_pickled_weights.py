"""Pickled weights are what torch.load says they are; whatever else a file holds never runs."""

import io
import os
import pickle
import struct
import tarfile
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from elmore.errors import FormatError
from elmore.formats.pickled_weights import read_state_dict


def state_dict() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    whole = torch.randn(4, 6)
    return {
        **nn.LSTM(3, 2).state_dict(),
        "view": whole[1:3, ::2],
        "transposed": whole.T,
        "parameter": nn.Parameter(torch.randn(2)),
        "double": torch.randn(2, dtype=torch.float64),
        "half": torch.randn(3).half(),
        "bfloat16": torch.randn(3).bfloat16(),
        "nothing": torch.zeros(0, 5),
        "number": torch.tensor(2.5),
    }


@pytest.mark.parametrize("is_zip", [True, False])
@pytest.mark.parametrize("cls", [dict, OrderedDict])
def test_tensors_are_those_of_torch(tmp_path: Path, is_zip: bool, cls: Any) -> None:
    path = tmp_path / "weights.pkl"
    torch.save(cls(state_dict()), path, _use_new_zipfile_serialization=is_zip)
    found = read_state_dict(path)
    expected = torch.load(path, weights_only=True)
    assert list(found) == list(expected)
    for name, tensor in expected.items():
        assert found[name].dtype == (np.float16 if name == "half" else np.float32)
        np.testing.assert_array_equal(found[name], tensor.detach().float().numpy(), err_msg=name)


@pytest.mark.parametrize("is_zip", [True, False])
def test_the_state_dict_of_a_module_has_metadata(tmp_path: Path, is_zip: bool) -> None:
    module = nn.Linear(3, 2)
    torch.save(module.state_dict(), tmp_path / "w", _use_new_zipfile_serialization=is_zip)
    weight = read_state_dict(tmp_path / "w")["weight"]
    np.testing.assert_array_equal(weight, module.weight.detach())


class Calls:
    """Pickled, this calls any function."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def legacy(content: bytes) -> bytes:
    head = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})
    return b"".join(pickle.dumps(one, 2) for one in head) + content + pickle.dumps([], 2)


def zipped(content: bytes, **parts: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a/data.pkl", content)
        for name, part in parts.items():
            archive.writestr(f"a/{name}", part)
    return buffer.getvalue()


def call(module: str, name: str, arguments: bytes = b")") -> bytes:
    """Return a pickle that calls a function of a module; its arguments are instructions."""
    return b"\x80\x02}X\x01\x00\x00\x00xc" + f"{module}\n{name}\n".encode() + arguments + b"Rs."


def storage(n_numbers: int, kind: str = "FloatStorage") -> bytes:
    size = b"\x8a\x08" + struct.pack("<q", n_numbers)
    return (
        b"(X\x07\x00\x00\x00storage" + f"ctorch\n{kind}\n".encode()
        + b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpu" + size + b"tQ"
    )  # fmt: skip


def tensor(n_numbers: int, shape: bytes, strides: bytes, offset: bytes = b"K\x00") -> bytes:
    arguments = b"(" + storage(n_numbers) + offset + shape + strides + b"\x89}t"
    return call("torch._utils", "_rebuild_tensor_v2", arguments)


def nested_tuples(n: int) -> bytes:
    """Return a tuple of tuples whose hash takes 2^n steps, as a key."""
    made = b"K\x01\x85q\x00" + b"".join(b"h\x00h\x00\x86q\x00" for _ in range(n))
    return b"\x80\x02}" + made + b"Ns."


HOSTILE = {
    "reduce": lambda: pickle.dumps({"x": Calls(os.mkdir, "ran")}, 2),
    "protocol 0": lambda: pickle.dumps({"x": Calls(os.mkdir, "ran")}, 0),
    "protocol 5": lambda: pickle.dumps({"x": Calls(os.mkdir, "ran")}, 5),
    "eval": lambda: pickle.dumps({"x": Calls(eval, "__import__('os').mkdir('ran')")}, 2),
    "exec in place of the dictionary": lambda: pickle.dumps(Calls(exec, "import os"), 2),
    "instance": lambda: b"(dS'x'\n(S'ran'\nios\nmkdir\ns.",
    "object": lambda: b"\x80\x02}X\x01\x00\x00\x00x(cos\nmkdir\nX\x03\x00\x00\x00ranos.",
    "name by the stack": lambda: b"\x80\x04}\x8c\x01x\x8c\x02os\x8c\x05mkdir\x93\x8c\x03ran\x85Rs.",
    "extension": lambda: b"\x80\x02}X\x01\x00\x00\x00x\x82\x01)Rs.",
    "a module that is imported": lambda: call("antigravity", "geohash"),
    "what torch allows": lambda: call("torch._tensor", "_rebuild_from_type_v2"),
    "state of an object": lambda: b"\x80\x02cos\nmkdir\n}b.",
    "memory by bytearray": lambda: call("builtins", "bytearray", b"\x8a\x06\0\0\0\0\0\x01\x85"),
    "memory by a storage": lambda: call("torch", "FloatStorage", b"\x8a\x06\0\0\0\0\0\x01\x85"),
    "memory by promise": lambda: tensor(2**40, b"J\0\0\0\x7f\x85", b"K\x01\x85"),
    "numbers before the file": lambda: tensor(1, b"K\x01\x85", b"K\x01\x85", b"J\xff\xff\xff\xff"),
    "numbers after the file": lambda: tensor(1, b"K\x01\x85", b"K\x01\x85", b"K\x09"),
    "strides": lambda: tensor(9, b"K\x02K\x02\x86", b"M\xff\xffM\xff\xff\x86"),
    "many dimensions": lambda: tensor(1, b"(" + b"K\x01" * 99 + b"t", b"(" + b"K\x01" * 99 + b"t"),
    "time by a key's hash": lambda: nested_tuples(60),
    "memory by a memo": lambda: b"\x80\x02}r\xff\xff\xff\x7f.",
    "no end": lambda: b"\x80\x02}(X\x01\x00\x00\x00x",
    "a stack without a mark": lambda: b"\x80\x02}u.",
    "nothing on the stack": lambda: b"\x80\x02R.",
    "a long string": lambda: b"\x80\x02X\xff\xff\xff\x7fa.",
    "itself": lambda: b"\x80\x02}q\x00X\x01\x00\x00\x00xh\x00s.",
}  # fmt: skip


@pytest.mark.parametrize("form", ["plain", "legacy", "zip", "zip after legacy"])
@pytest.mark.parametrize("attack", HOSTILE)
def test_hostile_pickles(
    attack: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = HOSTILE[attack]()
    whole = {
        "plain": content,
        "legacy": legacy(content),
        "zip": zipped(content, **{"data/0": bytes(36)}),
        "zip after legacy": legacy(content) + zipped(pickle.dumps({}, 2)),
    }[form]
    Path("weights.pkl").write_bytes(whole)
    if attack == "memory by a memo" and form != "plain":
        assert read_state_dict(Path("weights.pkl")) == {}  # a number like any other
    else:
        with pytest.raises(FormatError) as caught:
            read_state_dict(Path("weights.pkl"))
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 500
    assert os.listdir() == ["weights.pkl"]  # noqa: PTH208  no code made a folder


def test_archives_that_torch_would_unpack(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "w", "w") as archive:
        archive.add(__file__, "pickle")
    with pytest.raises(FormatError, match="cannot be read as weights that torch"):
        read_state_dict(tmp_path / "w")
    script = zipped(call("__torch__", "Net"), **{"code/__torch__.py": b"import os"})
    (tmp_path / "script").write_bytes(script)
    with pytest.raises(FormatError, match=r"holds code \(__torch__.Net\)"):
        read_state_dict(tmp_path / "script")


def test_parts_of_a_zip_that_overlap(tmp_path: Path) -> None:
    buffer, numbers = io.BytesIO(), bytes(4000)
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("abc/data/1", numbers)
        (inner,) = archive.filelist
    entry = buffer.getvalue()[: archive.start_dir]  # data/1 with its header, inside of data/0
    tensors = {"x": torch.zeros(len(entry) // 4), "y": torch.zeros(1000)}
    torch.save(tensors, tmp_path / "w")
    with zipfile.ZipFile(tmp_path / "w") as saved:
        content = saved.read("w/data.pkl")
    with zipfile.ZipFile(tmp_path / "w", "w") as archive:
        archive.writestr("abc/data.pkl", content)
        archive.writestr("abc/data/0", entry)
        inner.header_offset = archive.start_dir - len(entry)
        archive.filelist.append(inner)
    with pytest.raises(FormatError, match="its parts overlap"):
        read_state_dict(tmp_path / "w")
