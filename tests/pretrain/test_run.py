"""A whole run learns, and leaves a model that every other part of the program can use."""

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from elmore import Elmo
from elmore.bilm_config import TokenEncoderConfig
from elmore.cli.main import run as run_elmore
from elmore.corpus.shards import Corpus, Split
from elmore.errors import ConfigError
from elmore.formats import read_bilm_tf_folder, read_native, write_bilm_tf
from elmore.pretrain.checkpoint import read_checkpoint
from elmore.pretrain.metrics import read_metrics
from elmore.pretrain.perplexity import NOTHING, Score, score_texts
from elmore.pretrain.run import PretrainResult, pretrain
from elmore.pretrain.step import is_sampled
from tests.conftest import SHARED
from tests.pretrain.small_runs import small, write_text

TOY = SHARED / "fixtures/bilm-tf/tests/fixtures/train/data.txt"


def updates_of(folder: Path) -> list[dict[str, Any]]:
    return [facts for facts in read_metrics(folder) if "forward_loss" in facts]


def measurements_of(folder: Path) -> list[dict[str, Any]]:
    return [facts for facts in read_metrics(folder) if "held_out_mean" in facts]


def texts_of(corpus: Corpus, split: Split) -> list[list[str]]:
    """Return the sentences of a text whose words are all in the vocabulary."""
    return [
        [corpus.vocab.words[word] for word in sentence]
        for shard in split.shards
        for sentence in np.split(np.array(shard.ids), shard.ends)[:-1]
    ]


@pytest.mark.skipif(not TOY.exists(), reason="the toy text of bilm-tf is not here (shared/)")
def test_bilm_tf_s_toy_text_is_learned(tmp_path: Path) -> None:
    recipe = small(
        held_out=0.0, batch_size=4, unroll_steps=10, n_epochs=40, cell_dim=64, projection_dim=32,
        filters=((1, 16), (2, 32)), dropout=0.0, softmax="full", learning_rate=0.02, decay="none",
    )  # fmt: skip
    run = pretrain([TOY], tmp_path / "run", recipe)
    assert run.held_out is None
    updates = updates_of(tmp_path / "run")
    assert math.exp(updates[0]["forward_loss"]) > 50  # of some eighty words
    for direction in ("forward", "backward"):
        last = [facts[f"{direction}_loss"] for facts in updates[-10:]]
        assert math.exp(sum(last) / len(last)) < 20


# --- one run, looked at from all sides ------------------------------------------------------------

LEARNED = {
    "held_out": 0.1, "n_epochs": 8, "batch_size": 16, "unroll_steps": 6, "learning_rate": 0.04,
    "cell_dim": 32, "evaluate_every": 20,
}  # fmt: skip


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PretrainResult]:
    folder = tmp_path_factory.mktemp("learned")
    text = write_text(folder / "text.txt", 300)
    return folder / "run", pretrain([text], folder / "run", small(**LEARNED))


def unigram_perplexity(training: list[list[str]], held_out: list[list[str]]) -> float:
    """Return how well counting alone predicts words and the ends of sentences."""
    counts = Counter(word for words in training for word in [*words, "</S>"])
    predicted = [word for words in held_out for word in [*words, "</S>"]]
    nll = -sum(math.log(counts[word] / counts.total()) for word in predicted)
    return math.exp(nll / len(predicted))


def test_more_is_learned_than_how_often_words_occur(learned: tuple[Path, PretrainResult]) -> None:
    folder, run = learned
    corpus = Corpus.load(folder / "corpus")
    training, held_out = (texts_of(corpus, split) for split in (corpus.training, corpus.held_out))
    unigram = unigram_perplexity(training, held_out)
    assert 10 < unigram < 23
    measured = measurements_of(folder)
    assert measured[0]["held_out_mean"] > 0.8 * unigram
    assert run.held_out is not None
    assert run.held_out.forward < 0.6 * unigram
    assert run.held_out.backward < 0.6 * unigram
    assert run.held_out.mean == min(facts["held_out_mean"] for facts in measured)


def total(model: Any, texts: list[list[str]]) -> Score:
    return sum(score_texts(model, texts), NOTHING)


def test_the_model_folder_is_one_like_any_other(
    learned: tuple[Path, PretrainResult], tmp_path: Path
) -> None:
    folder, run = learned
    elmo = Elmo.from_pretrained(folder / "model")
    vectors = elmo.encode_tokens(["w1 w2 unheard-of"])[0].vectors
    assert vectors.shape == (3, 16)
    assert np.isfinite(vectors).all()
    assert len({row.tobytes() for row in vectors}) == 3

    model = read_native(folder / "model")
    assert model.tokenizer == "whitespace"
    corpus = Corpus.load(folder / "corpus")
    held_out = texts_of(corpus, corpus.held_out)
    ours = total(model, held_out)
    assert run.held_out is not None
    assert ours.n_predictions == run.held_out.n_predictions
    assert ours.mean == pytest.approx(run.held_out.mean, rel=1e-5)
    said = model.training["held_out"]
    assert said["mean_perplexity"] == run.held_out.mean
    assert said["predictions"] == run.held_out.n_predictions

    write_bilm_tf(model, tmp_path / "written")
    assert run_elmore(
        ["convert", str(folder / "model"), "--to", "bilm-tf", "--out", str(tmp_path / "converted")]
    ) == 0  # fmt: skip
    for name in ("written", "converted"):
        published = read_bilm_tf_folder(tmp_path / name)
        shape = model.config
        # which it does not store
        chars = replace(shape.token_encoder.chars, char_encoding="bilm-tf")
        assert published.config == replace(shape, token_encoder=TokenEncoderConfig(chars))
        theirs = total(published, held_out)
        assert theirs.forward == pytest.approx(ours.forward, rel=1e-6)
        assert theirs.backward == pytest.approx(ours.backward, rel=1e-6)


def test_a_run_can_be_watched(learned: tuple[Path, PretrainResult]) -> None:
    folder, _ = learned
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    assert "tokens_per_second" in events.Tags()["scalars"]
    shown = [event.value for event in events.Scalars("forward_loss")]
    updates = updates_of(folder)
    assert shown == pytest.approx([facts["forward_loss"] for facts in updates], rel=1e-6)
    assert [facts["update"] for facts in updates] == list(range(1, len(updates) + 1))
    assert updates[-1]["tokens"] == len(updates) * 16 * 6
    measured = [event.value for event in events.Scalars("held_out_mean")]
    assert measured == pytest.approx(
        [facts["held_out_mean"] for facts in measurements_of(folder)], rel=1e-6
    )


# --- what decides a run ---------------------------------------------------------------------------


def test_the_clock_decides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = write_text(tmp_path / "text.txt")
    recipe = small(held_out=0.1, evaluate_every=10, n_epochs=1)
    pretrain([text], tmp_path / "one", recipe)
    ticks = iter(range(0, 10**9, 1000))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(ticks)))
    pretrain([text], tmp_path / "two", recipe)
    for name in ("metrics.jsonl", "run.json", "model/model.safetensors", "model/config.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    pretrain([text], tmp_path / "three", small(held_out=0.1, evaluate_every=10, n_epochs=1, seed=2))
    losses = [updates_of(tmp_path / name)[0]["forward_loss"] for name in ("one", "three")]
    assert losses[0] != losses[1]


def test_training_ends_where_nothing_is_gained(tmp_path: Path) -> None:
    text = write_text(tmp_path / "text.txt", 30)
    recipe = small(
        held_out=0.2, n_epochs=50, evaluate_every=5, patience=3, learning_rate=0.03, dropout=0.0,
        checkpoint_every=7, decay="none",
    )  # fmt: skip
    folder = tmp_path / "run"
    run = pretrain([text], folder, recipe)
    measured = measurements_of(folder)
    means = [facts["held_out_mean"] for facts in measured]
    best = means.index(min(means))
    assert best > 0
    assert len(means) == best + 1 + 3
    last = updates_of(folder)[-1]["update"]
    assert last == measured[-1]["update"] == 5 * len(means) < 300

    assert run.held_out is not None
    assert run.held_out.mean == min(means)
    assert run.model.training["updates"] == measured[best]["update"]
    model = load_file(folder / "model/model.safetensors")
    at_best, at_last = (
        read_checkpoint(folder / f"{name}.safetensors") for name in ("best", "last")
    )
    assert at_best.facts["update"] == measured[best]["update"]
    assert at_last.facts["update"] == last
    for name, array in model.items():
        assert np.array_equal(array, at_best.arrays[name])
    assert any(not np.array_equal(model[name], at_last.arrays[f"bilm.{name}"]) for name in model)

    before = (folder / "metrics.jsonl").read_bytes()
    again = pretrain([text], folder, recipe)  # there is nothing left to do
    assert again.held_out == run.held_out
    assert (folder / "metrics.jsonl").read_bytes() == before


def test_the_softmax_is_sampled_where_that_halves_it(tmp_path: Path) -> None:
    text = write_text(tmp_path / "text.txt")
    n_words = 23  # with the marks
    metrics = {}
    for n_samples in (11, 12):
        for softmax in ("auto", "sampled", "full"):
            recipe = small(
                n_epochs=0.2, held_out=0.0, softmax=softmax, n_samples=n_samples
            )  # fmt: skip
            folder = tmp_path / f"{softmax}-{n_samples}"
            run = pretrain([text], folder, recipe)
            assert run.model.vocab is not None
            assert len(run.model.vocab) == n_words
            metrics[softmax, n_samples] = (folder / "metrics.jsonl").read_bytes()
        assert metrics["sampled", n_samples] != metrics["full", n_samples]
    assert metrics["auto", 11] == metrics["sampled", 11]
    assert metrics["auto", 12] == metrics["full", 12]
    config = small(n_samples=5).training
    assert [is_sampled(config, n_words) for n_words in (9, 10, 11)] == [False, True, True]


def test_one_folder_has_one_run_at_a_time(tmp_path: Path) -> None:
    text, folder = write_text(tmp_path / "text.txt"), tmp_path / "run"
    recipe = small(n_epochs=0.2)

    def second(report: object) -> None:
        with pytest.raises(ConfigError, match="another program is writing to"):
            pretrain([text], folder, recipe)

    pretrain([text], folder, recipe, on_update=second)
    pretrain([text], folder, recipe)
    assert json.loads((folder / "run.json").read_text())["recipe"]["training"]["n_epochs"] == 0.2
