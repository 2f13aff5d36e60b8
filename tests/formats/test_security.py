"""What a model's files can never do: lead elsewhere, run code, or promise more than they hold."""

import pickle
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from elmore.bilm_config import BiLMConfig, CharCnnConfig, LstmConfig, TokenEncoderConfig
from elmore.errors import DataError, FormatError
from elmore.formats import Pretrained, read_pretrained, write_bilm_tf, write_native
from elmore.model.bilm import BiLM

BIAS = "CNN/b_cnn_0"


@pytest.fixture
def model() -> Pretrained:
    torch.manual_seed(0)
    config = BiLMConfig(
        TokenEncoderConfig(CharCnnConfig(3, ((1, 2),), 1, "relu")), LstmConfig(1, 4, 3)
    )
    return Pretrained(config, BiLM(config).arrays, "whitespace")


@pytest.fixture
def published(model: Pretrained, tmp_path: Path) -> Path:
    write_bilm_tf(model, tmp_path / "model")
    with h5py.File(tmp_path / "secret.h5", "w") as file:
        file["bias"] = np.full(2, 42, np.float32)
    (tmp_path / "secret.bin").write_bytes(np.full(2, 42, np.float32).tobytes())
    return tmp_path / "model"


def soft_link(file: h5py.File, folder: Path) -> None:
    file[BIAS] = h5py.SoftLink("/CNN/W_cnn_0")


def dangling_link(file: h5py.File, folder: Path) -> None:
    file[BIAS] = h5py.SoftLink("/nothing")


def external_link(file: h5py.File, folder: Path) -> None:
    file[BIAS] = h5py.ExternalLink(str(folder / "secret.h5"), "/bias")


def external_storage(file: h5py.File, folder: Path) -> None:
    stored = [(str(folder / "secret.bin"), 0, 8)]
    file.create_dataset(BIAS, (2,), np.float32, external=stored)


def virtual(file: h5py.File, folder: Path) -> None:
    layout = h5py.VirtualLayout((2,), np.float32)
    layout[:] = h5py.VirtualSource(str(folder / "secret.h5"), "bias", (2,))
    file.create_virtual_dataset(BIAS, layout)


def empty_chunks(file: h5py.File, folder: Path) -> None:
    file.create_dataset(BIAS, (2**32,), np.float32, chunks=(2**20,))


def never_written(file: h5py.File, folder: Path) -> None:
    file.create_dataset(BIAS, (2**32,), np.float32)


def compressed_beyond_belief(file: h5py.File, folder: Path) -> None:
    file.create_dataset(BIAS, data=np.zeros(2**23, np.float32), chunks=(2**23,), compression=9)


def loop(file: h5py.File, folder: Path) -> None:
    file[BIAS] = np.zeros(2, np.float32)
    file["RNN_0/again"] = file["/RNN_0"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (soft_link, f"{BIAS} is a link; expected the array itself"),
        (dangling_link, f"{BIAS} is a link"),
        (external_link, f"{BIAS} is a link"),
        (external_storage, f"{BIAS} is in another file"),
        (virtual, f"{BIAS} is in another file"),
        (empty_chunks, f"{BIAS} promises 4,294,967,296 numbers, but the file has 0 bytes"),
        (never_written, f"{BIAS} promises 4,294,967,296 numbers, but the file has 0 bytes"),
        (compressed_beyond_belief, f"{BIAS} promises 8,388,608 numbers"),
        (loop, "again twice"),
    ],
)
def test_hdf5_that_leads_elsewhere_or_promises_too_much(
    published: Path, change: Callable[[h5py.File, Path], None], message: str
) -> None:
    with h5py.File(published / "weights.hdf5", "a") as file:
        del file[BIAS]
        change(file, published.parent)
    with pytest.raises(FormatError, match=message):
        read_pretrained(published)


def test_hdf5_may_be_compressed(published: Path) -> None:
    expected = read_pretrained(published).fingerprint()
    with h5py.File(published / "weights.hdf5", "a") as file:
        names: list[str] = []
        file.visit(names.append)
        for name in names:
            if isinstance(file[name], h5py.Dataset):
                array = file[name][...]
                del file[name]
                file.create_dataset(name, data=array, chunks=array.shape, compression="gzip")
    assert read_pretrained(published).fingerprint() == expected


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite(model: Pretrained, tmp_path: Path, value: float) -> None:
    model.arrays["forward_lstm.layers.0.bias"][1] = value
    write_bilm_tf(model, tmp_path / "model")
    with pytest.raises(FormatError, match="has weights that are not finite"):
        read_pretrained(tmp_path / "model")
    with pytest.raises(DataError, match="has weights that are not finite in float32"):
        write_native(model, tmp_path / "native")
    assert not (tmp_path / "native").exists()


def test_weights_beyond_float16(model: Pretrained, tmp_path: Path) -> None:
    model.arrays["forward_lstm.layers.0.bias"][1] = 70_000.0
    with pytest.raises(DataError, match="has weights that are not finite in float16"):
        write_native(model, tmp_path / "native", "float16")


def test_large_weights_whose_sum_is_not_finite(model: Pretrained, tmp_path: Path) -> None:
    model.arrays["forward_lstm.layers.0.bias"][:] = 3e38
    write_native(model, tmp_path / "model")
    assert read_pretrained(tmp_path / "model").fingerprint() == model.fingerprint()


class _Trap:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (Path("unpickled"),)  # type: ignore[return-value]


@pytest.mark.parametrize("name", ["model.safetensors", "vocab.txt", "calibration.safetensors"])
@pytest.mark.parametrize("save", [pickle.dumps, torch.save])
def test_nothing_is_unpickled(
    model: Pretrained,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    save: Callable[..., object],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_native(model, tmp_path / "model")
    if save is torch.save:
        torch.save(_Trap(), tmp_path / "model" / name)
    else:
        (tmp_path / "model" / name).write_bytes(pickle.dumps(_Trap()))
    for verify in (True, False):
        try:
            read_pretrained(tmp_path / "model", verify=verify)
        except FormatError:
            pass
        else:  # what was not listed, and is not weights, may be read as words
            assert name == "vocab.txt"
    assert not (tmp_path / "unpickled").exists()
