"""Fine-tuning a model keeps what it is told to keep."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from elmore import BiLM, Elmo
from elmore.bilm_config import BiLMConfig, LstmConfig, TokenEncoderConfig, WordTableConfig
from elmore.cli.main import run as run_elmore
from elmore.corpus.tokenizing import draw_held_out
from elmore.engine.parameters import part_of
from elmore.formats import Pretrained, read_native, read_pretrained, write_native
from elmore.pretrain.config import Part
from elmore.pretrain.initial_network import Start, new_model, recipe_of_start
from elmore.pretrain.metrics import read_metrics
from elmore.pretrain.perplexity import NOTHING, score_texts
from elmore.pretrain.run import pretrain
from elmore.text import Vocab
from tests.pretrain.small_runs import SMALL, small, write_text

TRAINING = {
    name: SMALL[name]
    for name in ("min_count", "batch_size", "unroll_steps", "n_samples", "warmup_steps", "n_epochs")
}
"""What there is to say where the network is given."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An elmore model folder."""
    folder = tmp_path_factory.mktemp("model")
    text = write_text(folder / "text.txt")
    pretrain([text], folder / "run", small(learning_rate=0.02, n_epochs=1))
    return folder / "run/model"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Another text, which has lost w0 and gained a word."""
    path = write_text(tmp_path / "text.txt", seed=2)
    path.write_text(path.read_text().replace("w0 ", "new ").replace("w0\n", "new\n"))
    return path


def elmore(*arguments: object, **changes: object) -> int:
    """Run `elmore pretrain` with these changes of the recipe tiny."""
    flags = ["--recipe", "tiny", "--processes", "1"]
    for name, value in (TRAINING | changes).items():
        flags += [f"--{name.replace('_', '-')}", str(value)]
    return run_elmore([*map(str, ["pretrain", *arguments]), *flags])


def network(model: Pretrained) -> BiLM:
    return BiLM.from_arrays(model.config, model.arrays)


def held_out_lines(text: Path) -> list[list[str]]:
    """Return the lines that a run keeps from training."""
    drawn = draw_held_out(text.read_text().splitlines(), 0.2)
    return [line.split() for line, is_held_out in drawn if is_held_out]


def test_the_same_vocabulary(model: Path, text: Path, tmp_path: Path) -> None:
    before = read_native(model)
    # One update that is too small to change anything: the measurement after it is the model's own.
    code = elmore(
        text, "--from", model, "--out", tmp_path / "run", n_epochs=0.01, held_out=0.2,
        optimizer="adagrad", learning_rate=1e-12, dropout=0.0, softmax="full",
    )  # fmt: skip
    assert code == 0
    after = read_native(tmp_path / "run/model")
    assert after.vocab is not None
    assert before.vocab is not None
    assert after.vocab.words == before.vocab.words
    assert after.tokenizer == before.tokenizer == "whitespace"  # the recipe has another
    assert after.config == before.config
    update, measured = read_metrics(tmp_path / "run")
    assert update["update"] == 1
    expected = sum(score_texts(before, held_out_lines(text)), NOTHING)
    assert measured["held_out_mean"] == pytest.approx(expected.mean, rel=1e-5)
    assert measured["held_out_unknown_rate"] == expected.unknown_rate > 0
    untrained = small(held_out=0.2, n_epochs=0.01, learning_rate=1e-12, optimizer="adagrad")
    pretrain([text], tmp_path / "untrained", untrained)
    other = list(read_metrics(tmp_path / "untrained"))[-1]
    assert other["held_out_mean"] > 1.05 * expected.mean  # something had been learned


def test_a_new_vocabulary_keeps_the_rows_of_known_words(
    model: Path, text: Path, tmp_path: Path
) -> None:
    before = read_native(model)
    assert before.vocab is not None
    start = Start(before, new_vocabulary=True)
    recipe = recipe_of_start("tiny", TRAINING | {"frozen": ("softmax",), "n_epochs": 0.2}, start)
    run = pretrain([text], tmp_path / "run", recipe, start=start)
    vocab, softmax, old = run.model.vocab, network(run.model).softmax, network(before).softmax
    assert vocab is not None
    assert softmax is not None
    assert old is not None
    assert set(vocab) == set(before.vocab) - {"w0"} | {"new"}
    assert vocab.words != before.vocab.words
    drawn = torch.from_numpy(new_model(recipe, vocab, start).arrays["softmax.weight"])
    for row, word in enumerate(vocab):
        if word == "new":
            assert torch.equal(softmax.weight[row], drawn[row])
            assert softmax.weight[row].any()
        else:
            (place,) = before.vocab.encode([word])
            assert torch.equal(softmax.weight[row], old.weight[place])
            assert softmax.bias[row] == old.bias[place]


def test_a_published_model_without_softmax(
    tiny_model: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert elmore(text, "--from", tiny_model, "--out", tmp_path / "run") == 2
    err = capsys.readouterr().err
    assert f"{tiny_model} has no softmax; give the new text's words one (--new-vocabulary)" in err
    assert not (tmp_path / "run").exists()
    code = elmore(
        text, "--from", tiny_model, "--new-vocabulary", "--out", tmp_path / "run",
        n_epochs=0.2, frozen="token_encoder", learning_rate=0.02, tokenizer="whitespace",
    )  # fmt: skip
    assert code == 0
    before, after = read_pretrained(str(tiny_model)), read_native(tmp_path / "run/model")
    assert after.config.lstm == before.config.lstm
    assert after.config.n_softmax_words == 23
    weights = network(after).state_dict()
    for name, tensor in network(before).state_dict().items():
        assert torch.equal(tensor, weights[name]) == name.startswith("token_encoder"), name


@pytest.mark.parametrize(
    "frozen",
    [("token_encoder",), ("lstm",), ("softmax",), ("token_encoder", "lstm"), ("lstm", "softmax")],
)
@pytest.mark.parametrize("optimizer", ["adagrad", "adamw"])
def test_frozen_parts_stay_as_they_are(
    model: Path, text: Path, tmp_path: Path, frozen: tuple[Part, ...], optimizer: str
) -> None:
    start = Start(read_native(model))
    changes = {"frozen": frozen, "n_epochs": 0.3, "optimizer": optimizer, "weight_decay": 0.1}
    recipe = recipe_of_start("tiny", TRAINING | changes, start)
    run = pretrain([text], tmp_path / "run", recipe, start=start)
    weights = network(run.model).state_dict()
    for name, tensor in network(read_native(model)).state_dict().items():
        part = "lstm" if "_lstm" in name else name.partition(".")[0]
        assert torch.equal(tensor, weights[name]) == (part in frozen), name


class CrashError(Exception):
    pass


def test_resuming_a_stopped_run(model: Path, text: Path, tmp_path: Path) -> None:
    start = Start(read_native(model))
    changes = TRAINING | {"n_epochs": 0.5, "checkpoint_every": 2, "frozen": ("lstm",)}
    recipe = recipe_of_start("tiny", changes, start)

    def crash(report: object) -> None:
        if len(list(read_metrics(tmp_path / "run"))) == 5:
            raise CrashError

    pretrain([text], tmp_path / "whole", recipe, start=start)
    with pytest.raises(CrashError):
        pretrain([text], tmp_path / "run", recipe, start=start, on_update=crash)
    pretrain([text], tmp_path / "run", recipe, start=start)
    for name in ("metrics.jsonl", "model/model.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


# --- refusals -------------------------------------------------------------------------------------


def refused(capsys: pytest.CaptureFixture[str], *arguments: object, **changes: object) -> str:
    assert elmore(*arguments, **changes) == 2
    err = capsys.readouterr().err
    assert err.startswith("elmore: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    ("name", "value"),
    [("cell_dim", 16), ("projection_dim", 8), ("filters", "1:4"), ("n_layers", 1), ("char_dim", 4)],
)
def test_the_shape_is_the_model_s(
    *,
    model: Path,
    text: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    value: object,
) -> None:
    message = refused(capsys, text, "--from", model, "--out", tmp_path / "run", **{name: value})
    assert f"{name} cannot change: the network has the shape of the model" in message
    assert not (tmp_path / "run").exists()


def test_a_run_of_another_model_does_not_resume(
    model: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("--out", tmp_path / "run")
    assert elmore(text, "--from", model, *out, n_epochs=0.1) == 0
    other = read_native(model)
    changed = {"softmax.bias": other.arrays["softmax.bias"] + 1}
    other = dataclasses.replace(other, arrays={**other.arrays, **changed})
    write_native(other, tmp_path / "other")
    capsys.readouterr()
    message = refused(capsys, text, "--from", tmp_path / "other", *out, n_epochs=0.1)
    assert "was begun from another model" in message


def test_a_new_vocabulary_needs_a_model(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(capsys, text, "--new-vocabulary", "--out", tmp_path / "run")
    assert "--new-vocabulary goes with --from" in message


def test_a_model_without_characters(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vocab = Vocab(["<S>", "</S>", "<UNK>", "w1"])
    config = BiLMConfig(TokenEncoderConfig(words=WordTableConfig(4, 4)), LstmConfig(1, 8, 4), 4)
    write_native(Pretrained(config, BiLM(config).arrays, "whitespace", vocab), tmp_path / "words")
    message = refused(capsys, text, "--from", tmp_path / "words", "--out", tmp_path / "run")
    assert "looks words up in a table; training needs a character model" in message


MANY_LANGS = Path(__file__).parents[1] / "formats/many_langs"


@pytest.mark.parametrize("kind", ["both", "characters"])
def test_many_langs(
    kind: str, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = MANY_LANGS / kind
    before = read_pretrained(folder)
    common = (text, "--from", folder, "--out", tmp_path / "run")
    assert "--new-vocabulary" in refused(capsys, *common)
    changes = {"n_epochs": 1, "learning_rate": 0.02, "tokenizer": "whitespace", "held_out": 0.2}
    assert elmore(*common, "--new-vocabulary", **changes) == 0
    after = read_native(tmp_path / "run/model")
    assert after.alphabet is not None
    assert after.alphabet.words == before.alphabet.words
    assert after.config.lstm == before.config.lstm
    assert after.config.n_softmax_words == len(after.vocab) == 23
    weights = network(after).state_dict()
    for name, tensor in network(before).state_dict().items():
        assert tensor.shape != weights[name].shape or not torch.equal(tensor, weights[name]), name
    # It is a model like any other: vectors, perplexity as in training, and it can be trained again.
    lines = held_out_lines(text)
    score = sum(score_texts(after, lines), NOTHING)
    said = after.training["held_out"]["forward_perplexity"]
    assert score.forward == pytest.approx(said, rel=1e-4)
    again = (text, "--from", tmp_path / "run/model", "--out", tmp_path / "again")
    assert elmore(*again, **changes | {"n_epochs": 0.1}) == 0


def test_many_langs_starts_with_the_same_vectors() -> None:
    before = read_pretrained(MANY_LANGS / "both")
    known = [word for word in before.vocab if not word.startswith("<")][:5]
    vocab = Vocab(["<S>", "</S>", "<UNK>", *known, "entirely-new"])
    after = new_model(small(), vocab, Start(before, new_vocabulary=True))
    texts = [[*known, "entirely-new", "newer"]]
    for layers in (0, "top"):
        (one,), (other,) = (Elmo(m).encode_tokens(texts, layers=layers) for m in (before, after))
        assert np.abs(one.vectors - other.vectors).max() <= 1e-6


def test_resuming_many_langs(text: Path, tmp_path: Path) -> None:
    start = Start(read_pretrained(MANY_LANGS / "both"), new_vocabulary=True)
    changes = TRAINING | {"n_epochs": 0.5, "checkpoint_every": 2, "tokenizer": "whitespace"}
    recipe = recipe_of_start("tiny", changes, start)

    def crash(report: object) -> None:
        if len(list(read_metrics(tmp_path / "run"))) == 5:
            raise CrashError

    with pytest.raises(CrashError):
        pretrain([text], tmp_path / "run", recipe, start=start, on_update=crash)
    resumed = pretrain([text], tmp_path / "run", recipe, start=start)
    straight = pretrain([text], tmp_path / "straight", recipe, start=start)
    assert resumed.model.fingerprint() == straight.model.fingerprint()


def test_many_langs_without_characters(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(capsys, text, "--from", MANY_LANGS / "words", "--out", tmp_path / "run")
    assert "looks words up in a table; training needs a character model" in message


def test_frozen_parts_of_many_langs(text: Path, tmp_path: Path) -> None:
    start = Start(read_pretrained(MANY_LANGS / "both"), new_vocabulary=True)
    for frozen in (("token_encoder",), ("word_table",)):
        changes = {"frozen": frozen, "n_epochs": 0.1, "tokenizer": "whitespace"}
        recipe = recipe_of_start("tiny", TRAINING | changes, start)
        run = pretrain([text], tmp_path / frozen[0], recipe, start=start)
        weights = network(run.model).state_dict()
        for name, array in new_model(recipe, run.model.vocab, start).arrays.items():
            is_frozen = part_of(name) in frozen
            assert np.array_equal(array, weights[name]) == is_frozen, name
