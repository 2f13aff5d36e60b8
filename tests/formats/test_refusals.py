"""A folder that is not what it says gets one sentence, naming what is wrong."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from elmore.bilm_config import (
    BiLMConfig,
    CharCnnConfig,
    LstmConfig,
    TokenEncoderConfig,
    WordTableConfig,
)
from elmore.errors import ConfigError, DataError, FormatError
from elmore.formats import (
    Pretrained,
    read_pretrained,
    read_word_vectors,
    write_bilm_tf,
    write_native,
    write_word_vectors,
)
from elmore.model.bilm import BiLM
from elmore.text import Vocab

WORDS = ["<S>", "</S>", "<UNK>", "bank"]


@pytest.fixture
def model() -> Pretrained:
    torch.manual_seed(0)
    config = BiLMConfig(
        TokenEncoderConfig(CharCnnConfig(3, ((1, 2),), 1, "relu")), LstmConfig(1, 4, 3), len(WORDS)
    )
    return Pretrained(config, BiLM(config).arrays, "whitespace", Vocab(WORDS))


@pytest.fixture
def ours(model: Pretrained, tmp_path: Path) -> Path:
    """A folder without checksums, so that each part is looked at by itself."""
    write_native(model, tmp_path / "ours")
    set_config(files=KeyError)(tmp_path / "ours")
    return tmp_path / "ours"


@pytest.fixture
def theirs(model: Pretrained, tmp_path: Path) -> Path:
    write_bilm_tf(model, tmp_path / "theirs")
    return tmp_path / "theirs"


def set_config(**changes: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        content = json.loads((folder / "config.json").read_text())
        for name, value in changes.items():
            *sections, key = name.split("__")
            target = content
            for section in sections:
                target = target[section]
            if value is KeyError:
                del target[key]
            else:
                target[key] = value
        (folder / "config.json").write_text(json.dumps(content))

    return change


def set_weights(change: Callable[[dict[str, torch.Tensor]], object]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        tensors = load_file(folder / "model.safetensors")
        change(tensors)
        save_file(tensors, folder / "model.safetensors")

    return apply


OURS = {
    "format is 'other'": set_config(format="other"),
    "lacks lstm.cell_dim": set_config(lstm__cell_dim=KeyError),
    "has the unknown field lstm.size": set_config(lstm__size=3),
    "config.json lacks tokenizer": set_config(tokenizer=KeyError),
    "has the unknown field dropout": set_config(dropout=0.1),
    "no tokenizer is called 'x'": set_config(tokenizer="x"),
    "token_encoder.combine is 'mean'": set_config(token_encoder__combine="mean"),
    r"token_encoder is \[\]; expected an object": set_config(token_encoder=[]),
    r"token_encoder.combine is \[\]; expected one of add": set_config(token_encoder__combine=[]),
    r"tokenizer is \[\]; expected a string": set_config(tokenizer=[]),
    "token_encoder.chars.filters is 5; expected a list": set_config(
        token_encoder__chars__filters=5
    ),
    r"token_encoder.chars.filters\[0\] is 1; expected": set_config(
        token_encoder__chars__filters=[1, 2]
    ),
    "training is 5; expected an object": set_config(training=5),
    "token_encoder.chars.char_encoding is 'sound'; expected": set_config(
        token_encoder__chars__char_encoding="sound"
    ),
    "normalization is 'NFD'; expected one of NFC, uncased or null": set_config(normalization="NFD"),
    "normalization is 5": set_config(normalization=5),
    r"normalization is \[\]": set_config(normalization=[]),
    "n_layers is 1000000000000; expected at most": set_config(lstm__n_layers=10**12),
    "lstm is 3; expected an object": set_config(lstm=3),
    "cell_dim is 'big'": set_config(lstm__cell_dim="big"),
    "lacks softmax.bias": set_weights(lambda t: t.pop("softmax.bias")),
    "has unexpected extra": set_weights(lambda t: t.update(extra=torch.zeros(1))),
    r"softmax.bias has shape \(2,\), expected \(4,\)": set_weights(
        lambda t: t.update({"softmax.bias": torch.zeros(2)})
    ),
    "cannot be read": lambda f: os.truncate(f / "model.safetensors", 100),
    "no model.safetensors": lambda f: (f / "model.safetensors").unlink(),
    "but no vocabulary": lambda f: (f / "vocab.txt").unlink(),
    "a softmax of 4 words but a vocabulary of 2": lambda f: (f / "vocab.txt").write_text("a\nb\n"),
    "is not JSON": lambda f: (f / "config.json").write_text("{"),
    r"holds \[\]; expected an object": lambda f: (f / "config.json").write_text("[]"),
}


@pytest.mark.parametrize("message", OURS)
def test_ours(ours: Path, message: str) -> None:
    read_pretrained(ours)
    OURS[message](ours)
    with pytest.raises(FormatError, match=message):
        read_pretrained(ours)


def integer_bias(folder: Path) -> None:
    with h5py.File(folder / "weights.hdf5", "a") as file:
        del file["CNN/b_cnn_0"]
        file["CNN/b_cnn_0"] = np.zeros(2, dtype=np.int64)


THEIRS = {
    "neither a config.json nor an options.json": lambda f: (f / "options.json").unlink(),
    "2 options files": lambda f: shutil.copy(f / "options.json", f / "my_options.json"),
    "no HDF5 of weights": lambda f: (f / "weights.hdf5").unlink(),
    "2 weights": lambda f: shutil.copy(f / "weights.hdf5", f / "more.h5"),
    "2 softmax files": lambda f: shutil.copy(f / "softmax.hdf5", f / "more.h5"),
    "2 vocabularies": lambda f: shutil.copy(f / "vocab.txt", f / "vocab2.txt"),
    "put its vocab.txt there": lambda f: (f / "vocab.txt").unlink(),
    "CNN/b_cnn_0 holds int64": integer_bias,
    "not a whole HDF5 file": lambda f: os.truncate(f / "softmax.hdf5", 900),
}


@pytest.mark.parametrize("message", THEIRS)
def test_theirs(theirs: Path, message: str) -> None:
    read_pretrained(theirs)
    THEIRS[message](theirs)
    with pytest.raises(FormatError, match=message):
        read_pretrained(theirs)


def test_names_that_are_no_model(tmp_path: Path) -> None:
    with pytest.raises(
        FormatError, match="there is no folder 'klingon', and no model of that name"
    ):
        read_pretrained("klingon")
    (tmp_path / "file").touch()
    with pytest.raises(FormatError, match="is a file; give the folder"):
        read_pretrained(tmp_path / "file")


def test_word_vectors_of_another_shape(tmp_path: Path) -> None:
    write_word_vectors(tmp_path / "words.hdf5", np.zeros((4, 3), dtype=np.float32))
    with pytest.raises(FormatError, match=r"embedding has shape \(4, 3\), expected \(4, 5\)"):
        read_word_vectors(tmp_path / "words.hdf5", Vocab(WORDS), 5)
    with pytest.raises(DataError, match=r"expected \(words, numbers\)"):
        write_word_vectors(tmp_path / "words.hdf5", np.zeros(3, dtype=np.float32))


def test_nothing_is_overwritten_and_nothing_left_half_written(
    model: Pretrained, ours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in ours.iterdir()}
    for write in (write_native, write_bilm_tf):
        with pytest.raises(ConfigError, match="exists already and is not empty"):
            write(model, ours)

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Vocab, "save", full_disk)  # the last file of a folder
    for write in (write_native, write_bilm_tf):
        with pytest.raises(OSError, match="No space left"):
            write(model, tmp_path / "new")
    assert {path.name: path.read_bytes() for path in ours.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["ours"]


def test_a_hub_name_is_read_from_the_cache_when_offline(
    ours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "hub/models--someone--elmo"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs/main").write_text("0" * 40)
    shutil.copytree(ours, repository / "snapshots" / ("0" * 40))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert read_pretrained("hf://someone/elmo").vocab is not None
    with pytest.raises(FormatError, match="hf://someone/else cannot be fetched"):
        read_pretrained("hf://someone/else")
    with pytest.raises(FormatError, match="cannot be fetched"):
        read_pretrained("hf://not a name")


def test_a_word_table_needs_the_sentence_marks(tmp_path: Path) -> None:
    config = BiLMConfig(TokenEncoderConfig(words=WordTableConfig(2, 3)), LstmConfig(1, 4, 3))
    write_native(
        Pretrained(config, BiLM(config).arrays, "whitespace", Vocab(["a", "<UNK>"])), tmp_path / "m"
    )
    with pytest.raises(FormatError, match="lacks <S>"):
        read_pretrained(tmp_path / "m")


def test_a_vocabulary_beside_a_folder_without_one(tmp_path: Path) -> None:
    config = BiLMConfig(
        TokenEncoderConfig(CharCnnConfig(3, ((1, 2),), 1, "relu")), LstmConfig(1, 4, 3)
    )
    write_native(Pretrained(config, BiLM(config).arrays, "whitespace"), tmp_path / "m")
    Vocab(WORDS).save(tmp_path / "words.txt")
    assert read_pretrained(tmp_path / "m", tmp_path / "words.txt").vocab is not None
    Vocab(WORDS).save(tmp_path / "m/vocab.txt")
    with pytest.raises(FormatError, match="has its own vocabulary"):
        read_pretrained(tmp_path / "m", tmp_path / "words.txt")


def test_a_foreign_config_does_not_hide_a_published_model(theirs: Path) -> None:
    (theirs / "config.json").write_text('{"model_type": "elmo"}')
    assert read_pretrained(theirs).vocab is not None
