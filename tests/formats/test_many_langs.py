"""ELMoForManyLangs folders: the vectors of its own code, and one sentence for what is wrong.

The folders in many_langs/ and their vectors were made by make_many_langs_goldens.py.
"""

import json
import os
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from elmore import Elmo
from elmore.embed.networks import EngineName
from elmore.errors import ConfigError, FormatError
from elmore.formats import read_native, read_pretrained, write_bilm_tf, write_native
from elmore.formats.many_langs import _SAMPLE, _read_architecture
from elmore.formats.native import ALPHABET, CONFIG
from elmore.model.elmo_layer import ElmoLayer

HOME = Path(__file__).parent / "many_langs"
SENTENCES = json.loads((HOME / "sentences.json").read_text(encoding="utf-8"))
KINDS = ("both", "characters", "words")


def difference(elmo: Elmo, kind: str) -> float:
    """Return the largest difference from the golden vectors, over all layers."""
    with np.load(HOME / kind / "vectors.npz") as golden:
        expected = [golden[f"arr_{i}"] for i in range(len(SENTENCES))]
    found = elmo.encode_tokens(SENTENCES, layers="all")
    assert [one.vectors.shape for one in found] == [one.shape for one in expected]
    pairs = zip(found, expected, strict=True)
    return max(float(np.abs(one.vectors - other).max()) for one, other in pairs)


@pytest.mark.parametrize("engine", ["fast", "textbook"])
@pytest.mark.parametrize("kind", KINDS)
def test_equals_the_original(kind: str, engine: EngineName) -> None:
    assert difference(Elmo.from_pretrained(HOME / kind, engine=engine), kind) <= 1e-5


@pytest.mark.parametrize("kind", KINDS)
def test_a_converted_folder_has_the_same_vectors(kind: str, tmp_path: Path) -> None:
    original = read_pretrained(HOME / kind)
    write_native(original, tmp_path / "converted")
    converted = read_native(tmp_path / "converted")
    assert converted.fingerprint() == original.fingerprint()
    assert converted.config == original.config
    assert difference(Elmo(converted), kind) <= 1e-5
    vectors = (Elmo(model).encode_tokens(SENTENCES) for model in (original, converted))
    for one, other in zip(*vectors, strict=True):
        assert np.array_equal(one.vectors, other.vectors)


@pytest.mark.parametrize("kind", KINDS)
def test_the_layer_that_tasks_train_on(kind: str) -> None:
    elmo = Elmo.from_pretrained(HOME / kind)
    batch = elmo.ids(SENTENCES)
    found = ElmoLayer(elmo.bilm)(batch.ids)  # the mask is found from the ids
    assert torch.equal(found.mask, batch.mask[:, 2:])
    for row, one in zip(found.mixes[0], elmo.encode_tokens(SENTENCES), strict=True):
        np.testing.assert_allclose(row[: len(one.tokens)].numpy(force=True), one.vectors, atol=1e-5)


def test_a_sentence_is_the_same_in_any_company() -> None:
    """ELMoForManyLangs carries its state from call to call; elmore does not."""
    elmo = Elmo.from_pretrained(HOME / "both")
    together = elmo.encode_tokens(SENTENCES)
    for sentence, one in zip(SENTENCES, together, strict=True):
        (alone,) = elmo.encode_tokens([sentence])
        np.testing.assert_array_equal(alone.vectors, one.vectors)


def test_what_it_is() -> None:
    model = read_pretrained(HOME / "both")
    encoder = model.config.token_encoder
    assert encoder.words is not None
    assert encoder.chars is not None
    assert (encoder.words.dim, encoder.words.max_length, encoder.combine) == (3, 10, "concat")
    assert encoder.chars.max_characters == 12
    assert model.config.lstm.forget_bias == 0
    assert model.tokenizer == "whitespace"
    assert model.training["trained_with"] == "ELMoForManyLangs"
    assert model.alphabet is not None
    assert "\u3000" in model.alphabet  # from a line without its first column


def test_the_fingerprint_knows_the_alphabet_and_the_forget_bias(folder: Path) -> None:
    before = read_pretrained(folder)
    text = (folder / "char.dic").read_text()
    (folder / "char.dic").write_text(text.replace("나\t", "너\t"))
    other_alphabet = read_pretrained(folder)
    assert other_alphabet.fingerprint() != before.fingerprint()
    write_native(before, folder.parent / "converted")
    change_json(folder.parent / "converted" / CONFIG, lstm={"forget_bias": 1.0})
    assert read_native(folder.parent / "converted").fingerprint() != before.fingerprint()


@pytest.mark.parametrize("name", ["cnn_50_100_512_4096_sample.json", "C:\\x\\tiny.json"])
def test_the_architecture_by_its_name(name: str, folder: Path) -> None:
    found, _ = _read_architecture(folder, name)
    is_sample = "sample" in name
    assert found.encoder.dim == (_SAMPLE["encoder"]["dim"] if is_sample else 10)
    assert found.token_embedder.char_dim == (50 if is_sample else 5)


def test_white_space_in_a_dictionary_is_what_it_is(folder: Path) -> None:
    """The original takes all of it for U+3000, and cannot load a dictionary with two."""
    text = (folder / "char.dic").read_text()
    (folder / "char.dic").write_text(text.replace("나\t", "\u00a0\t"))
    alphabet = read_pretrained(folder).alphabet
    assert alphabet is not None
    assert {"\u00a0", "\u3000"} <= set(alphabet)


# --- what is wrong --------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(HOME / "both", tmp_path / "model"))


def change_json(path: Path, **changes: dict[str, object]) -> None:
    content = json.loads(path.read_text())
    for section, fields in changes.items():
        content[section] |= fields
    path.write_text(json.dumps(content))


def architecture(**changes: dict[str, object]) -> Callable[[Path], None]:
    return lambda folder: change_json(folder / "tiny.json", **changes)


def replace(file: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / file).read_text(encoding="utf-8")
        assert old in text
        (folder / file).write_text(text.replace(old, new), encoding="utf-8")

    return change


class _Code:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("code-was-run",)


def code(folder: Path) -> None:
    (folder / "encoder.pkl").write_bytes(pickle.dumps({"x": _Code()}, protocol=2))


def code_in_a_zip(folder: Path) -> None:
    torch.save({"x": _Code()}, folder / "encoder.pkl")


def tensors(change: Callable[[dict[str, torch.Tensor]], object], file: str) -> Callable[..., None]:
    def apply(folder: Path) -> None:
        found = torch.load(folder / file, weights_only=True)
        change(found)
        torch.save(found, folder / file)

    return apply


def compressed(folder: Path) -> None:
    with zipfile.ZipFile(folder / "encoder.pkl") as old:
        parts = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(folder / "encoder.pkl", "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in parts.items():
            new.writestr(name, content)


def truncate(file: str, size: int) -> Callable[[Path], None]:
    return lambda folder: os.truncate(folder / file, size)


BIAS = "forward_layer_0.state_linearity.bias"
WRONG: dict[str, Callable[[Path], object]] = {
    r"encoder.pkl holds code \(posix.mkdir\), which is never run": code,
    r"encoder.pkl holds code \(posix.mkdir\), which is never": code_in_a_zip,
    r"encoder.pkl cannot be read as weights that torch.save wrote \(at position 0": (
        lambda f: (f / "encoder.pkl").write_bytes(b"<html>404</html>")
    ),
    r"encoder.pkl cannot .* \(its instruction FRAME is not for weights\); download": lambda f: (
        f / "encoder.pkl"
    ).write_bytes(pickle.dumps({"x": _Code()}, protocol=4)),
    "encoder.pkl cannot be read": truncate("encoder.pkl", 5000),
    "token_embedder.pkl cannot be read": truncate("token_embedder.pkl", 99),
    "there is no .*encoder.pkl": lambda f: (f / "encoder.pkl").unlink(),
    "encoder.pkl is compressed": compressed,
    r"char_emb_layer.embedding.weight has shape \(\), expected \(25, 5\)": tensors(
        lambda t: t.update({"char_emb_layer.embedding.weight": torch.tensor(1.0)}),
        "token_embedder.pkl",
    ),
    "encoder.pkl holds a list": lambda f: torch.save([], f / "encoder.pkl"),
    f"encoder.pkl lacks {BIAS}": tensors(lambda t: t.pop(BIAS), "encoder.pkl"),
    "encoder.pkl has unexpected x": tensors(lambda t: t.update(x=torch.zeros(1)), "encoder.pkl"),
    rf"{BIAS} has shape \(3,\), expected \(40,\)": tensors(
        lambda t: t.update({BIAS: torch.zeros(3)}), "encoder.pkl"
    ),
    f"{BIAS} is not a tensor of floating point": tensors(
        lambda t: t.update({BIAS: torch.zeros(40, dtype=torch.int64)}), "encoder.pkl"
    ),
    f"{BIAS} is not a tensor of floating point with all its": tensors(
        lambda t: t.update({BIAS: torch.zeros(1).expand(40)}), "encoder.pkl"
    ),
    "bias has weights that are not finite": tensors(
        lambda t: t[BIAS].fill_(float("nan")), "encoder.pkl"
    ),
    "char.dic has 24 rows, but token_embedder.pkl was trained with 25": replace(
        "char.dic", "k\t24\n", ""
    ),
    "word.dic has 12 rows, but token_embedder.pkl was trained with 11": replace(
        "word.dic", "강\t10\n", "강\t10\n산\t11\n"
    ),
    "there is no .*char.dic": lambda f: (f / "char.dic").unlink(),
    "char.dic is not UTF-8": lambda f: (f / "char.dic").write_bytes(b"\xff\t0\n"),
    r"char.dic has row 3 in line \d+; expected the rows 0 to 24": replace(
        "char.dic", "나\t6\n", "나\t3\n"
    ),
    "char.dic has row 25 in line": replace("char.dic", "나\t6\n", "나\t25\n"),
    "char.dic has '나' in line": replace("char.dic", "나\t6\n", "나\n"),
    "char.dic has '' in line": replace("char.dic", "나\t6\n", "\n"),
    r"char.dic has '나\\t6\\t6' in line": replace("char.dic", "나\t6\n", "나\t6\t6\n"),
    "char.dic: the vocabulary has '는' twice": replace("char.dic", "나\t6\n", "는\t6\n"),
    "the alphabet of .* lacks <bow>": replace("char.dic", "<bow>", "x"),
    "the vocabulary of .* lacks <oov>": replace("word.dic", "<oov>", "x"),
    "encoder.name is 'lstm'; of ELMoForManyLangs' variants elmore reads 'elmo'": architecture(
        encoder={"name": "lstm"}
    ),
    "token_embedder.name is 'lstm'; of .* elmore reads 'cnn'": architecture(
        token_embedder={"name": "lstm"}
    ),
    r"input_linearity.weight has shape \(40, 6\), expected \(24, 6\)": architecture(
        encoder={"dim": 6}
    ),
    "filters is .*expected pairs": architecture(token_embedder={"filters": []}),
    "token_embedder.char_dim is -1; expected a whole number, at least 0": architecture(
        token_embedder={"char_dim": -1}
    ),
    "neither chars nor words": architecture(token_embedder={"char_dim": 0, "word_dim": 0}),
    "max_characters_per_token is 2; expected a whole number, at least 3": architecture(
        token_embedder={"max_characters_per_token": 2}
    ),
    "config_path is '/home/author/configs/other.json', and .* has no file of that name": replace(
        "config.json", "tiny.json", "other.json"
    ),
    "config.json lacks config_path": replace("config.json", "config_path", "path"),
    "tiny.json is not JSON": lambda f: (f / "tiny.json").write_text("{"),
    "has weights of ELMoForManyLangs but no config.json": lambda f: (f / "config.json").unlink(),
}


@pytest.mark.parametrize("message", WRONG)
def test_one_sentence(folder: Path, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    WRONG[message](folder)
    with pytest.raises(FormatError, match=message) as caught:
        read_pretrained(folder)
    assert "\n" not in str(caught.value)
    assert not (folder / "code-was-run").exists()


def test_the_char_dic_of_another_folder(folder: Path) -> None:
    (folder / "char.dic").write_text((folder / "word.dic").read_text())
    with pytest.raises(FormatError, match=r"the alphabet of .* lacks <bow>, <eow>"):
        read_pretrained(folder)


def test_a_vocabulary_besides(folder: Path) -> None:
    with pytest.raises(FormatError, match=r"is of ELMoForManyLangs, with its word.dic"):
        read_pretrained(folder, folder / "word.dic")


@pytest.mark.parametrize(
    ("message", "change"),
    {
        "but the alphabet is missing": lambda f: (f / ALPHABET).unlink(),
        "a table of 25 characters but an alphabet of 26": lambda f: (f / ALPHABET).write_text(
            (f / ALPHABET).read_text() + "힣\n"
        ),
        "forget_bias is 1000; expected a number": lambda f: change_json(
            f / CONFIG, lstm={"forget_bias": 1000}
        ),
        "lacks token_encoder.words.dim": lambda f: change_json(
            f / CONFIG, token_encoder={"words": {"n_words": 11}}
        ),
    }.items(),
)
def test_a_converted_folder_that_is_wrong(
    message: str, change: Callable[[Path], object], tmp_path: Path
) -> None:
    write_native(read_pretrained(HOME / "both"), tmp_path / "converted")
    content = json.loads((tmp_path / "converted" / CONFIG).read_text())
    del content["files"]
    (tmp_path / "converted" / CONFIG).write_text(json.dumps(content))
    read_native(tmp_path / "converted")
    change(tmp_path / "converted")
    with pytest.raises(FormatError, match=message):
        read_native(tmp_path / "converted")


def test_projections_as_wide_as_their_cells(folder: Path, tmp_path: Path) -> None:
    """That package makes such models; bilm-tf has no projection then."""
    change_json(folder / "tiny.json", encoder={"dim": 6})
    torch.manual_seed(1)
    old = torch.load(folder / "encoder.pkl", weights_only=True)
    new = {name: torch.randn(_square(tuple(tensor.shape))) for name, tensor in old.items()}
    torch.save(new, folder / "encoder.pkl")
    model = read_pretrained(folder)
    for direction in ("forward", "backward"):
        for layer in range(2):
            projection = new[f"{direction}_layer_{layer}.state_projection.weight"]
            ours = model.arrays[f"{direction}_lstm.layers.{layer}.projection"]
            np.testing.assert_array_equal(ours, projection.numpy())
    write_native(model, tmp_path / "converted")
    vectors = [
        Elmo(read, engine=engine).encode_tokens(SENTENCES)[0].vectors
        for read in (model, read_native(tmp_path / "converted"))
        for engine in ("fast", "textbook")
    ]
    for other in vectors[1:]:
        np.testing.assert_allclose(other, vectors[0], atol=2e-6)
    with pytest.raises(ConfigError, match="which bilm-tf cannot"):
        write_bilm_tf(model, tmp_path / "published")


def _square(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a tensor with cells of 6 dimensions instead of 10."""
    return tuple({40: 24, 10: 6}.get(size, size) for size in shape)


def test_what_it_cannot_become(tmp_path: Path) -> None:
    model = read_pretrained(HOME / "both")
    with pytest.raises(ConfigError, match="which bilm-tf cannot"):
        write_bilm_tf(model, tmp_path / "published")
    assert not (tmp_path / "published").exists()
