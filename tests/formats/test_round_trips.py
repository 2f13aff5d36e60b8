"""What is written can be read, from wherever it was moved to, with every array equal."""

import io
import json
import shutil
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

from elmore import Elmo
from elmore.bilm_config import (
    BiLMConfig,
    CharCnnConfig,
    LstmConfig,
    TokenEncoderConfig,
    WordTableConfig,
    array_shapes,
)
from elmore.errors import ConfigError, FormatError
from elmore.formats import (
    Pretrained,
    read_bilm_tf,
    read_bilm_tf_folder,
    read_native,
    read_pretrained,
    read_word_vectors,
    write_bilm_tf,
    write_native,
    write_word_vectors,
)
from elmore.model.bilm import BiLM
from elmore.text import Vocab

WORDS = ["<S>", "</S>", "<UNK>", "bank", "은행"]
CHARACTERS = CharCnnConfig(
    3, ((1, 2), (2, 3)), n_highway=2, activation="tanh", char_encoding="bilm-tf"
)


TABLE = {"n_words": 5, "dim": 3, "max_length": None}


def arrays(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with h5py.File(path) as file:
        file.visititems(lambda name, item: found.update({name: item[...]}) if hasattr(item, "shape") else None)  # noqa: E501  # fmt: skip
    return found


def model(config: BiLMConfig, vocab: list[str] | None) -> Pretrained:
    torch.manual_seed(0)
    words = Vocab(vocab) if vocab else None
    return Pretrained(config, BiLM(config).arrays, "whitespace", words, {"n_train_tokens": 7})


MODELS = {
    "characters": model(BiLMConfig(TokenEncoderConfig(CHARACTERS), LstmConfig(2, 6, 3)), None),
    "no projections": model(BiLMConfig(TokenEncoderConfig(CHARACTERS), LstmConfig(1, 5, 5)), None),
    "no clips": model(
        BiLMConfig(TokenEncoderConfig(CHARACTERS), LstmConfig(3, 6, 3, None, None, False)), None
    ),
    "softmax": model(BiLMConfig(TokenEncoderConfig(CHARACTERS), LstmConfig(2, 6, 3), 5), WORDS),
    "words": model(
        BiLMConfig(TokenEncoderConfig(words=WordTableConfig(5, 3)), LstmConfig(2, 6, 3), 5), WORDS
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_published_to_ours_to_published(tmp_path: Path, name: str) -> None:
    write_bilm_tf(MODELS[name], tmp_path / "one")
    write_native(read_pretrained(tmp_path / "one"), tmp_path / "two")
    write_bilm_tf(read_pretrained(tmp_path / "two"), tmp_path / "three")
    files = {path.name for path in (tmp_path / "one").iterdir()}
    assert files == {path.name for path in (tmp_path / "three").iterdir()}
    assert ("softmax.hdf5" in files) == (MODELS[name].config.n_softmax_words is not None)
    for file in files - {"options.json", "vocab.txt"}:
        before, after = arrays(tmp_path / "one" / file), arrays(tmp_path / "three" / file)
        assert before.keys() == after.keys()
        for key, array in before.items():
            np.testing.assert_array_equal(array, after[key], err_msg=key)
    options = [json.loads((tmp_path / n / "options.json").read_text()) for n in ("one", "three")]
    assert options[0] == options[1]
    assert options[0]["n_train_tokens"] == 7


def test_golden_weights_come_back_equal(golden: Path, tmp_path: Path) -> None:
    write_native(read_pretrained(golden), tmp_path / "ours")
    write_bilm_tf(read_pretrained(tmp_path / "ours"), tmp_path / "theirs")
    before = arrays(golden / "lm_weights.hdf5")
    after = arrays(tmp_path / "theirs/weights.hdf5")
    assert before.keys() == after.keys()
    for key, array in before.items():
        np.testing.assert_array_equal(array, after[key], err_msg=key)


@pytest.mark.parametrize("name", MODELS)
def test_ours_is_complete_in_itself(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_native(MODELS[name], tmp_path / "here")
    shutil.move(tmp_path / "here", tmp_path / "elsewhere")
    monkeypatch.chdir(tmp_path)
    found = read_native(Path("elsewhere"))
    assert found.config == MODELS[name].config
    assert found.training == {"n_train_tokens": 7}
    assert (found.vocab and found.vocab.words) == (MODELS[name].vocab and MODELS[name].vocab.words)  # type: ignore[union-attr]
    for key, array in MODELS[name].arrays.items():
        np.testing.assert_array_equal(found.arrays[key], array, err_msg=key)
    assert str(tmp_path) not in (tmp_path / "elsewhere/config.json").read_text()


def test_every_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that what was checked is what is loaded."""
    write_native(MODELS["softmax"], tmp_path / "m")
    write_bilm_tf(MODELS["softmax"], tmp_path / "published")
    opened: list[str] = []
    open_file, open_hdf5 = io.open, h5py.File

    def counted(opener: Any) -> Any:
        def call(path: Any, *arguments: Any, **options: Any) -> Any:
            opened.append(Path(path).name)
            return opener(path, *arguments, **options)

        return call

    monkeypatch.setattr(io, "open", counted(open_file))
    read_pretrained(tmp_path / "m")
    assert sorted(opened) == ["config.json", "model.safetensors", "vocab.txt"]
    opened.clear()
    monkeypatch.setattr(h5py, "File", counted(open_hdf5))
    folder = tmp_path / "published"
    read_bilm_tf(
        folder / "options.json", folder / "weights.hdf5",
        softmax=folder / "softmax.hdf5", vocab=folder / "vocab.txt",
    )  # fmt: skip
    assert sorted(opened) == ["options.json", "softmax.hdf5", "vocab.txt", "weights.hdf5"]


@pytest.mark.parametrize("name", MODELS)
def test_the_arrays_of_a_network_are_those_of_its_configuration(name: str) -> None:
    found = MODELS[name]
    shapes = {key: tuple(value.shape) for key, value in BiLM(found.config).state_dict().items()}
    assert array_shapes(found.config) == shapes
    assert {key: array.shape for key, array in found.arrays.items()} == shapes


def test_what_only_our_folder_holds(tmp_path: Path) -> None:
    shape = BiLMConfig(
        TokenEncoderConfig(replace(CHARACTERS, char_encoding="jamo")), LstmConfig(1, 5, 5)
    )
    ours = replace(model(shape, None), tokenizer="korean-eojeol", normalization="NFC")
    write_native(ours, tmp_path / "ours")
    found = Elmo.from_pretrained(tmp_path / "ours")
    assert (found.model.tokenizer, found.model.normalization) == ("korean-eojeol", "NFC")
    assert found.config.token_encoder == shape.token_encoder
    whole, parts = "사과", unicodedata.normalize("NFD", "사과")
    a, b, c = (v.vectors for v in found.encode_tokens([whole, parts, [parts]]))
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(a, c)
    with pytest.raises(ConfigError, match="reads Hangul as jamo, which bilm-tf cannot; keep it"):
        write_bilm_tf(found.model, tmp_path / "theirs")


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_native(MODELS["softmax"], tmp_path / name)
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


def test_half_precision_is_read_as_it_is_stored(tmp_path: Path) -> None:
    write_native(MODELS["characters"], tmp_path / "half", dtype="float16")
    half = read_native(tmp_path / "half")
    for key, array in half.arrays.items():
        assert array.dtype == np.float16
        np.testing.assert_array_equal(array, MODELS["characters"].arrays[key].astype(np.float16))
    wide = {name: array.astype(np.float32) for name, array in half.arrays.items()}
    assert replace(half, arrays=wide).fingerprint() == half.fingerprint()  # of the values
    network = BiLM.from_arrays(half.config, half.arrays)
    for key, tensor in network.state_dict().items():
        assert tensor.dtype == torch.float32
        np.testing.assert_array_equal(tensor.numpy(), wide[key])
    write_bilm_tf(half, tmp_path / "published")
    assert read_bilm_tf_folder(tmp_path / "published").fingerprint() == half.fingerprint()


def test_saved_by_its_user(tiny_model: Path, tmp_path: Path) -> None:
    original = Elmo.from_pretrained(tiny_model)
    original.save_pretrained(tmp_path / "saved")
    loaded = Elmo.from_pretrained(tmp_path / "saved")
    a, b = (e.encode_tokens([["a", "b"]])[0].vectors for e in (original, loaded))
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n_characters", [261, 262])
def test_both_counts_of_characters_are_read(tmp_path: Path, n_characters: int) -> None:
    write_bilm_tf(MODELS["characters"], tmp_path / "m")
    options = json.loads((tmp_path / "m/options.json").read_text())
    options["char_cnn"]["n_characters"] = n_characters
    (tmp_path / "m/options.json").write_text(json.dumps(options))
    assert read_bilm_tf_folder(tmp_path / "m").config == MODELS["characters"].config


def test_fields_that_options_may_lack(tmp_path: Path) -> None:
    plain = model(
        BiLMConfig(
            TokenEncoderConfig(replace(CHARACTERS, n_highway=0)),
            LstmConfig(1, 6, 3, None, None, False),
        ),
        None,
    )
    write_bilm_tf(plain, tmp_path / "m")
    options = json.loads((tmp_path / "m/options.json").read_text())
    for key in ("cell_clip", "proj_clip", "use_skip_connections"):
        del options["lstm"][key]
    del options["char_cnn"]["n_highway"]
    (tmp_path / "m/options.json").write_text(json.dumps(options))
    assert read_bilm_tf_folder(tmp_path / "m").config == plain.config


def test_word_vectors(tmp_path: Path) -> None:
    vectors = np.arange(15, dtype=np.float32).reshape(5, 3)
    write_word_vectors(tmp_path / "words.hdf5", vectors)
    np.testing.assert_array_equal(
        read_word_vectors(tmp_path / "words.hdf5", Vocab(WORDS), 3), vectors
    )
    assert [path.name for path in tmp_path.iterdir()] == ["words.hdf5"]


def test_characters_and_words(tmp_path: Path) -> None:
    config = BiLMConfig(
        TokenEncoderConfig(CHARACTERS, WordTableConfig(5, 3)), LstmConfig(2, 6, 3), 5
    )
    written = model(config, WORDS)
    written.arrays["token_encoder.words.weight"][...] = np.random.default_rng(1).normal(size=(5, 3))
    write_native(written, tmp_path / "model")
    read = read_native(tmp_path / "model")
    assert read.config == config
    assert read.fingerprint() == written.fingerprint()
    with pytest.raises(ConfigError, match="word table to its characters, which bilm-tf cannot"):
        write_bilm_tf(read, tmp_path / "published")
    assert not (tmp_path / "published").exists()


def test_a_word_outside_the_table_has_its_characters(tmp_path: Path) -> None:
    config = BiLMConfig(TokenEncoderConfig(CHARACTERS, WordTableConfig(5, 3)), LstmConfig(2, 6, 3))
    written = model(config, WORDS)
    table = written.arrays["token_encoder.words.weight"]
    table[...] = np.random.default_rng(1).normal(size=(5, 3))
    write_native(written, tmp_path / "model")
    elmo = Elmo.from_pretrained(tmp_path / "model")
    spelled = Elmo(_without_table(written))
    words = ["bank", "banker", "은행"]
    difference = elmo.word_vectors(words) - spelled.word_vectors(words)
    np.testing.assert_array_equal(difference[1], 0)
    np.testing.assert_allclose(difference[[0, 2]], table[[3, 4]], atol=1e-6)
    ids = elmo.ids([["bank", "banker"]])
    assert ids.ids[0, :, -1].tolist() == [1, 4, 0, 2]  # the marks have rows too


def _without_table(model: Pretrained) -> Pretrained:
    config = replace(model.config, token_encoder=TokenEncoderConfig(CHARACTERS))
    arrays = {name: model.arrays[name] for name in array_shapes(config)}
    return Pretrained(config, arrays, "whitespace")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"words": TABLE | {"n_words": 7}}, "a word table of 7 words but a vocabulary of 5"),
        ({"words": TABLE | {"n_words": "5"}}, "words.n_words is '5'; expected a whole number"),
        ({"words": TABLE | {"dim": 4}}, "words.dim is 4, and projection_dim is 3"),
        ({"words": None, "chars": None}, "has neither chars nor words"),
        ({"chars": []}, r"token_encoder.chars is \[\]; expected an object"),
        ({"chars": {}}, "lacks token_encoder.chars.char_dim"),
    ],
)
def test_a_damaged_encoder_of_characters_and_words(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    config = BiLMConfig(
        TokenEncoderConfig(CHARACTERS, WordTableConfig(5, 3)), LstmConfig(2, 6, 3), 5
    )
    write_native(model(config, WORDS), tmp_path / "model")
    path = tmp_path / "model/config.json"
    content = json.loads(path.read_text())
    content["token_encoder"] |= change
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError, match=message):
        read_native(tmp_path / "model")
