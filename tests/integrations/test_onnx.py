"""An exported model gives the vectors of `Elmo` in onnxruntime, and its metadata say the ids."""

import errno
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmore import Elmo, ScalarMix
from elmore.bilm_config import (
    BiLMConfig,
    CharCnnConfig,
    LstmConfig,
    TokenEncoderConfig,
    WordTableConfig,
)
from elmore.errors import ConfigError, MissingExtraError
from elmore.formats import Pretrained, read_pretrained, write_native
from elmore.integrations.onnx import export_onnx, to_onnx
from elmore.model.bilm import BiLM
from elmore.pretrain.initial_network import Start, new_model
from elmore.pretrain.recipes import read_recipe
from elmore.text import Vocab
from tests.cli.conftest import Refused, Run, elmore, refused  # noqa: F401

onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")

MANY_LANGS = Path(__file__).parents[1] / "formats/many_langs"
WORDS = ["<S>", "</S>", "<UNK>", "bank", "the", "은행", "<oov>", "."]
NEW_WORDS = ["river", "은행나무", "é", "가각힣", "a" * 30, "한" * 30, "x" * 9 + "é", ""]
CHARACTERS = CharCnnConfig(4, ((1, 3), (2, 4), (3, 5)), 2, "tanh", max_characters=12)
CLIPPED = LstmConfig(2, 7, 4, cell_clip=0.3, projection_clip=0.2)


def model(config: BiLMConfig, *, words: bool = False) -> Pretrained:
    torch.manual_seed(0)
    bilm = BiLM(config).requires_grad_(False).eval()
    for weight in bilm.parameters():
        weight.copy_(0.5 * torch.randn_like(weight))  # so that clips bite, and tables are not zero
    return Pretrained(bilm.config, bilm.arrays, "whitespace", Vocab(WORDS) if words else None)


def fine_tuned(start: Pretrained) -> Pretrained:
    """A model of ELMoForManyLangs with a softmax, and a vocabulary of elmore's training."""
    tuned = new_model(read_recipe("tiny"), Vocab(WORDS), Start(start, new_vocabulary=True))
    return replace(tuned, tokenizer="whitespace", normalization=None)


MODELS = {
    "characters": lambda: model(BiLMConfig(TokenEncoderConfig(CHARACTERS), CLIPPED)),
    "jamo": lambda: model(
        BiLMConfig(TokenEncoderConfig(replace(CHARACTERS, char_encoding="jamo")), CLIPPED)
    ),
    "bilm-tf": lambda: model(
        BiLMConfig(TokenEncoderConfig(replace(CHARACTERS, char_encoding="bilm-tf")), CLIPPED)
    ),
    "relu, no highway": lambda: model(
        BiLMConfig(TokenEncoderConfig(replace(CHARACTERS, activation="relu", n_highway=0)), CLIPPED)
    ),
    "as many filters as dimensions": lambda: model(
        BiLMConfig(TokenEncoderConfig(CHARACTERS), LstmConfig(1, 13, 12))
    ),
    "no projections": lambda: model(
        BiLMConfig(TokenEncoderConfig(CHARACTERS), LstmConfig(2, 5, 5, 0.3))
    ),
    "no clips, no skips": lambda: model(
        BiLMConfig(TokenEncoderConfig(CHARACTERS), LstmConfig(3, 6, 4, None, None, False))
    ),
    "forget bias": lambda: model(
        BiLMConfig(TokenEncoderConfig(CHARACTERS), replace(CLIPPED, forget_bias=0.0))
    ),
    "softmax": lambda: model(
        BiLMConfig(TokenEncoderConfig(CHARACTERS), CLIPPED, len(WORDS)), words=True
    ),
    "words": lambda: model(
        BiLMConfig(
            TokenEncoderConfig(words=WordTableConfig(len(WORDS), CLIPPED.projection_dim)), CLIPPED
        ),
        words=True,
    ),
    "characters and words": lambda: model(
        BiLMConfig(
            TokenEncoderConfig(CHARACTERS, WordTableConfig(len(WORDS), CLIPPED.projection_dim)),
            CLIPPED,
        ),
        words=True,
    ),
    "concat": lambda: read_pretrained(MANY_LANGS / "both"),
    "concat, fine-tuned": lambda: fine_tuned(read_pretrained(MANY_LANGS / "both")),
    "concat, characters": lambda: read_pretrained(MANY_LANGS / "characters"),
    "concat, words": lambda: read_pretrained(MANY_LANGS / "words"),
}


@pytest.fixture(params=MODELS)
def elmo(request: pytest.FixtureRequest) -> Elmo:
    return Elmo(MODELS[request.param]())


def session_of(elmo: Elmo) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(to_onnx(elmo).SerializeToString(), options)


def run(session: Any, elmo: Elmo, texts: list[list[str]]) -> dict[str, np.ndarray]:
    batch = elmo.ids(texts)
    names = [output.name for output in session.get_outputs()]
    feeds = {"token_ids": batch.ids.numpy(), "lengths": batch.mask.sum(dim=1).numpy()}
    return dict(zip(names, session.run(names, feeds), strict=True))


def random_texts(lengths: list[int]) -> list[list[str]]:
    rng = np.random.default_rng(len(lengths))
    words = [*WORDS[2:], *NEW_WORDS]
    return [[words[i] for i in rng.integers(len(words), size=n)] for n in lengths]


def test_equals_elmo(elmo: Elmo) -> None:
    elmo.mix = ScalarMix(
        elmo.n_layers, weights=range(1, elmo.n_layers + 1), gamma=1.7, trainable=False
    )
    session = session_of(elmo)
    for lengths in ([5], [1], [0, 0], [3, 17, 0, 1, 9, 9], [40, 2]):
        texts = random_texts(lengths)
        found = run(session, elmo, texts)
        batch = elmo.ids(texts)
        layers = elmo.bilm(batch.ids, batch.mask).layers.transpose(0, 1).numpy(force=True)
        assert found["layers"].shape == layers.shape
        assert np.abs(found["layers"] - layers).max() <= 1e-5
        half = elmo.dim // 2
        assert np.array_equal(found["token_vectors"], found["layers"][:, 0, :, :half])
        for row, one in enumerate(elmo.encode_tokens(texts, layers="mix")):
            n = len(one.tokens)
            assert np.abs(found["mix"][row, 1 : n + 1] - one.vectors).max(initial=0) <= 1e-5
            assert not found["mix"][row, n + 2 :].any()  # padding


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "sentence"),
    [("en", "The bank of the river was steep ."), ("ko", "그 는 강 은행 에 갔 다 .")],
)
def test_equals_the_bundled_models(name: str, sentence: str) -> None:
    elmo = Elmo.from_pretrained(name)
    words = sentence.split()
    texts = [words[:n] for n in (8, 1, 3, 0)] + [words * 6]
    found = run(session_of(elmo), elmo, texts)
    for row, one in enumerate(elmo.encode_tokens(texts, layers="all")):
        layers = found["layers"][row, :, 1 : len(one.tokens) + 1]
        assert np.abs(layers - one.vectors).max(initial=0) <= 1e-5


def test_the_checker_accepts_it(elmo: Elmo) -> None:
    exported = to_onnx(elmo)
    onnx.checker.check_model(exported, full_check=True)
    assert [(one.domain, one.version) for one in exported.opset_import] == [("", 18)]
    assert exported.producer_name == "elmore"


def ids_by_metadata(metadata: dict[str, str], word: str) -> Any:
    """Make the ids of a word as docs/reference/formats.md says."""
    rule = json.loads(metadata["token_ids"])
    marks = {"<S>": "begin_sentence", "</S>": "end_sentence"}
    kind, width = rule.get("characters"), rule.get("max_characters")
    table_word = word
    words = json.loads(metadata.get("vocabulary", "[]"))
    if "<oov>" in words and not {*marks, "<UNK>"} <= {*words}:
        table_word = {"<S>": "<bos>", "</S>": "<eos>"}.get(word, word)
    if word not in marks:
        table_word = word[: rule.get("max_word_length")]
    ids: list[int] = []
    if kind is not None:
        if word in marks:
            ids = [rule[marks[word]]]
        elif kind == "alphabet":
            alphabet = json.loads(metadata["alphabet"])
            ids = [
                alphabet.index(c) + rule["first_character"]
                if c in alphabet
                else rule["unknown_character"]
                for c in word[: width - 2]
            ]
        elif kind == "bilm-tf":
            ids = [byte + rule["first_byte"] for byte in word.encode()[: width - 2]]
        else:
            for c in word:
                some = [byte + rule["first_byte"] for byte in c.encode()]
                syllable = ord(c) - 0xAC00
                if kind == "jamo" and 0 <= syllable < 11172:
                    letters = (syllable // 588, syllable // 28 % 21, syllable % 28)
                    some = [a + b for a, b in zip(rule["first_jamo"], letters, strict=True)]
                if len(ids) + len(some) > width - 2:
                    break
                ids += some
        ids = [rule["begin_word"], *ids, rule["end_word"]]
        ids += [rule["padding"]] * (width - len(ids))
    if "first_word" not in rule:
        return ids
    row = words.index(table_word) + rule["first_word"] if table_word in words else None
    ids.append(rule["unknown_word"] if row is None else row)
    return ids


def test_the_metadata_say_how_words_become_ids(elmo: Elmo) -> None:
    metadata = {one.key: one.value for one in to_onnx(elmo).metadata_props}
    assert metadata["fingerprint"] == elmo.model.fingerprint()
    assert (metadata["tokenizer"], metadata["normalization"]) == (elmo.model.tokenizer, "none")
    alphabet = elmo.model.alphabet.words[6:9] if elmo.model.alphabet else ()
    words = ["<S>", "</S>", *WORDS, *NEW_WORDS, *alphabet]
    expected = elmo.model.encoder.encode(words).tolist()
    assert [ids_by_metadata(metadata, word) for word in words] == expected


@pytest.fixture
def small(tmp_path: Path) -> Path:
    write_native(MODELS["characters"](), tmp_path / "small")
    return tmp_path / "small"


def test_command(elmore: Run, small: Path, tmp_path: Path) -> None:  # noqa: F811
    (said,) = elmore("export", small, "--to", tmp_path / "small.onnx").records
    content = (tmp_path / "small.onnx").read_bytes()
    assert said["opset"] == 18
    assert said["bytes"] == len(content)
    assert content == to_onnx(Elmo.from_pretrained(small)).SerializeToString()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small", "small.onnx"]


def test_refusals(refused: Refused, small: Path, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "old.onnx").touch()
    long = tmp_path / f"{'x' * 245}.onnx"  # whose temporary name is longer than a name may be
    for to, why in (
        (tmp_path / "small.pt", "does not end in .onnx"),
        (tmp_path / "none/small.onnx", "there is no folder"),
        (tmp_path / "old.onnx", "exists already"),
        (tmp_path / "old.onnx/small.onnx", "there is no folder"),
    ):
        assert why in refused("export", small, "--to", to)
    assert f"{long} cannot be written (File name too long); choose" in refused(
        "export", small, "--to", long
    )
    assert "there is no folder" in refused("export", "no-model", "--to", tmp_path / "new.onnx")
    assert "config.json" in refused("export", tmp_path, "--to", tmp_path / "new.onnx")


def test_without_the_extra(
    refused: Refused,  # noqa: F811
    small: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loaded = Elmo.from_pretrained(small)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'elmore\[onnx\]'"):
        export_onnx(loaded, tmp_path / "new.onnx")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    said = refused("export", "no-model", "--to", tmp_path / "new.onnx")
    assert "an ONNX file needs an extra: pip install 'elmore[onnx]'" in said


def test_an_interrupted_write_leaves_nothing(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(path: Path, content: bytes) -> int:
        with path.open("wb") as file:
            file.write(content[:10])
        raise OSError("No space left on device")

    loaded = Elmo.from_pretrained(small)
    monkeypatch.setattr(Path, "write_bytes", full_disk)
    with pytest.raises(ConfigError, match=r"new.onnx cannot be written \(No space left on device"):
        export_onnx(loaded, tmp_path / "new.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["small"]


def test_a_folder_that_cannot_be_written_to(
    refused: Refused,  # noqa: F811
    small: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read_only(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "x.part"))

    monkeypatch.setattr("tempfile.mkdtemp", read_only)  # root may write everywhere
    said = refused("export", small, "--to", tmp_path / "new.onnx")
    assert f"{tmp_path / 'new.onnx'} cannot be written (Permission denied); choose another" in said


def test_what_cannot_be_exported(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elmo = Elmo.from_pretrained(small)
    elmo.mix = ScalarMix(3, norm="token")
    with pytest.raises(ConfigError, match="the norm 'token', which cannot be exported"):
        to_onnx(elmo)
    elmo.mix = ScalarMix(3, context_layer=True)
    with pytest.raises(ConfigError, match="a context layer, which cannot be exported"):
        to_onnx(elmo)
    elmo.mix = ScalarMix(3)
    monkeypatch.setattr("elmore.integrations.onnx.export._MAX_BYTES", 1000)
    with pytest.raises(ConfigError, match="an ONNX file can hold 2 GB"):
        to_onnx(elmo)
