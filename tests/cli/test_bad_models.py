"""A model that is not one is refused in one line that names the file and the fault."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from .conftest import Refused


def test_no_such_folder(refused: Refused, tmp_path: Path) -> None:
    assert "none" in refused("embed", "hi", "-m", tmp_path / "none")


def test_a_folder_with_nothing_in_it(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    out = tmp_path / "out.npz"
    assert "neither a config.json nor an options.json" in refused(
        "embed", "hi", "-m", tmp_path / "empty", "--out", out
    )


def test_a_file_instead_of_its_folder(refused: Refused, broken_model: Path) -> None:
    assert "give the folder" in refused("info", broken_model / "options.json")


# --- options.json ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"lstm"',
        b"\xff\xfe{\x00}\x00",
        b'{"lstm": ' + b"1" * 5000 + b"}",
        b"[" * 100_000,
    ],
    ids=["empty", "half", "list", "null", "string", "UTF-16", "long number", "deep"],
)
def test_options_that_are_no_json_object(
    refused: Refused, broken_model: Path, content: bytes
) -> None:
    (broken_model / "options.json").write_bytes(content)
    assert "options.json" in refused("info", broken_model)


def change_options(folder: Path, field: str, change: Callable[[dict[str, Any], str], Any]) -> None:
    path = folder / "options.json"
    options = json.loads(path.read_text())
    *sections, name = field.split(".")
    section = options
    for part in sections:
        section = section[part]
    change(section, name)
    path.write_text(json.dumps(options))


@pytest.mark.parametrize(
    "field",
    [
        "lstm",
        "lstm.dim",
        "lstm.projection_dim",
        "lstm.n_layers",
        "char_cnn",
        "char_cnn.embedding",
        "char_cnn.embedding.dim",
        "char_cnn.filters",
        "char_cnn.activation",
        "char_cnn.max_characters_per_token",
    ],
)
def test_options_that_lack_a_field(refused: Refused, broken_model: Path, field: str) -> None:
    change_options(broken_model, field, dict.pop)
    message = refused("info", broken_model)
    assert str(broken_model / "options.json") in message
    assert f"lacks {field}" in message


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("lstm", None),
        ("lstm", [1]),
        ("lstm.dim", "12"),
        ("lstm.dim", 12.5),
        ("lstm.dim", True),
        ("lstm.projection_dim", 0),
        ("lstm.projection_dim", 24),
        ("lstm.n_layers", -1),
        ("lstm.cell_clip", "3"),
        ("lstm.cell_clip", True),
        ("lstm.proj_clip", -3.0),
        ("lstm.use_skip_connections", "yes"),
        ("char_cnn", 5),
        ("char_cnn.embedding", 5),
        ("char_cnn.embedding.dim", [5]),
        ("char_cnn.filters", 7),
        ("char_cnn.filters", []),
        ("char_cnn.filters", [1, 4]),
        ("char_cnn.filters", [[1]]),
        ("char_cnn.filters", [["one", 4]]),
        ("char_cnn.filters", [[60, 4]]),
        ("char_cnn.n_highway", "1"),
        ("char_cnn.activation", "gelu"),
        ("char_cnn.activation", []),
        ("char_cnn.max_characters_per_token", 2.0),
        ("char_cnn.n_characters", 100),
        ("char_cnn.n_characters", "262"),
    ],
)
def test_options_of_a_wrong_kind(
    refused: Refused, broken_model: Path, field: str, value: object
) -> None:
    change_options(broken_model, field, lambda section, name: section.update({name: value}))
    assert str(broken_model / "options.json") in refused("info", broken_model)


# --- HDF5 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [0.0, 0.01, 0.5, 0.999])
def test_weights_cut_short(refused: Refused, broken_model: Path, part: float) -> None:
    path = broken_model / "weights.hdf5"
    content = path.read_bytes()
    path.write_bytes(content[: int(part * len(content))])
    assert f"{path} is not a whole HDF5 file" in refused("embed", "hi", "-m", broken_model)


def test_weights_that_are_no_hdf5(refused: Refused, broken_model: Path) -> None:
    path = broken_model / "weights.hdf5"
    path.write_text("<html>404 Not Found</html>" * 1000)
    assert f"{path} is not a whole HDF5 file" in refused("embed", "hi", "-m", broken_model)


@pytest.mark.parametrize("kept", [0, 1])
@pytest.mark.parametrize("signature", [b"TREE", b"HEAP", b"SNOD"])
def test_weights_damaged_inside(
    refused: Refused, broken_model: Path, signature: bytes, kept: int
) -> None:
    """HDF5's own tables are overwritten, all of them or all but the first."""
    path = broken_model / "weights.hdf5"
    content = path.read_bytes()
    healthy = content.find(signature) + len(signature) if kept else 0
    path.write_bytes(content[:healthy] + content[healthy:].replace(signature, bytes(4)))
    assert str(path) in refused("info", broken_model)


def another_shape(file: h5py.File) -> None:
    del file["char_embed"]
    file["char_embed"] = np.zeros((261, 4), np.float32)


def missing(file: h5py.File) -> None:
    del file["CNN_proj/b_proj"]


def extra(file: h5py.File) -> None:
    file["CNN_high_7/W_carry"] = np.zeros((2, 2), np.float32)


def a_number(file: h5py.File) -> None:
    del file["char_embed"]
    file["char_embed"] = np.float32(1)


def whole_numbers(file: h5py.File) -> None:
    file["char_embed_2"] = np.zeros(3, np.int64)


def nothing(file: h5py.File) -> None:
    del file["char_embed"]
    file["char_embed"] = h5py.Empty("f4")


def a_softmax_of_one_number(file: h5py.File) -> None:
    file["softmax/W"] = np.zeros((1, 6), np.float32)
    file["softmax/b"] = np.float32(1)


def an_array_for_a_group(file: h5py.File) -> None:
    del file["RNN_1"]
    file["RNN_1"] = np.zeros(3, np.float32)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (another_shape, "char_embed has shape (261, 4), expected (261, 5)"),
        (missing, "lacks CNN_proj/b_proj"),
        (extra, "has unexpected CNN_high_7/W_carry"),
        (a_number, "char_embed has shape (), expected (261, 5)"),
        (whole_numbers, "char_embed_2 holds int64"),
        (nothing, "char_embed"),
        (a_softmax_of_one_number, "softmax"),
        (an_array_for_a_group, "RNN_1/RNN/MultiRNNCell/Cell0/LSTMCell/B"),
    ],
)
def test_weights_of_another_model(
    refused: Refused, broken_model: Path, change: Callable[[h5py.File], None], named: str
) -> None:
    with h5py.File(broken_model / "weights.hdf5", "a") as file:
        change(file)
    message = refused("embed", "hi", "-m", broken_model)
    assert str(broken_model) in message
    assert named in message


def test_folders_of_another_kind_say_where_the_model_is(
    refused: Refused, broken_model: Path, tmp_path: Path
) -> None:
    (tmp_path / "task").mkdir()
    (tmp_path / "task/config.json").write_text('{"format": "elmore-task-1", "task": "tag"}')
    for command in (["info"], ["embed", "hi", "-m"]):
        said = refused(*command, tmp_path / "task")
        assert "task is a trained task, not a model; use it with elmore predict" in said
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_text('{"recipe": {}, "start": null}')
    said = refused("embed", "hi", "-m", run)
    assert f"without a model yet; resume it: elmore pretrain --out {run}" in said
    (run / "model").mkdir()
    (run / "model/config.json").write_text("{}")
    said = refused("embed", "hi", "-m", run)
    assert f"run is a training run; its model is {run / 'model'}" in said
