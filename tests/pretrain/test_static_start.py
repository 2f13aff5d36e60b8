"""A biLM that starts from static word vectors: what they fill, and what a run remembers of them."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmore import StaticVectors
from elmore.cli.main import run as run_elmore
from elmore.corpus.prepare import prepare
from elmore.corpus.shards import Corpus
from elmore.errors import ConfigError, DataError, ElmoreError
from elmore.formats import Pretrained, read_pretrained
from elmore.pretrain.config import Recipe, StaticConfig
from elmore.pretrain.initial_network import Start, fill, new_model
from elmore.pretrain.run import pretrain
from elmore.pretrain.static_start import (
    fill_from_static,
    fill_new_words,
    log_unigrams,
    vectors_of,
)
from elmore.pretrain.trainer import Report
from elmore.text import Vocab
from tests.pretrain.small_runs import small, small_flags, write_text, write_vectors

TABLE, SOFTMAX = "token_encoder.words.weight", "softmax.weight"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return write_text(tmp_path / "text.txt")


@pytest.fixture
def corpus(tmp_path: Path, text: Path) -> Corpus:
    return prepare([text], tmp_path / "corpus", small(held_out=0.1).corpus)


def static_of(corpus: Corpus, dim: int) -> StaticVectors:
    words = corpus.vocab.words[3:]
    vectors = np.random.default_rng(1).normal(5.0, 3.0, (len(words), dim)).astype(np.float32)
    return StaticVectors(words, vectors)


# --- what they fill -------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [3, 8, 50])  # the projection has 8
def test_vectors_of_any_dimension_fill_both_ends(corpus: Corpus, dim: int) -> None:
    recipe = small(static="vectors.txt", static_scale=0.5)
    model, static = new_model(recipe, corpus.vocab, None), static_of(corpus, dim)
    fill_from_static(model, corpus, static, recipe.static)
    table, softmax = (torch.from_numpy(model.arrays[name]) for name in (TABLE, SOFTMAX))
    rows = table[3:]
    assert not table[:3].any()  # the marks have no vectors
    torch.testing.assert_close(rows.mean(dim=0), torch.zeros(8), atol=1e-6, rtol=0)
    torch.testing.assert_close(rows.std(correction=0), torch.tensor(0.5))
    torch.testing.assert_close(softmax[3:] * 8**0.5, rows / 0.5)
    if dim <= 8:  # turned, and nothing lost: cosines are those of the centred vectors
        centred = torch.from_numpy(static.vectors - static.vectors.mean(axis=0))
        cosines = [torch.nn.functional.normalize(x) for x in (rows, centred)]
        torch.testing.assert_close(
            cosines[0] @ cosines[0].T, cosines[1] @ cosines[1].T, atol=1e-5, rtol=0
        )


def test_wide_vectors_keep_their_largest_axes(corpus: Corpus) -> None:
    static = static_of(corpus, 50)
    static.vectors[:, 8:] *= 1e-4  # all that matters is in eight of them
    recipe = small(static="vectors.txt")
    model = new_model(recipe, corpus.vocab, None)
    fill_from_static(model, corpus, static, recipe.static)
    rows = torch.from_numpy(model.arrays[TABLE])[3:].double()
    wide = torch.from_numpy(static.vectors).double()
    ratio = torch.cdist(rows, rows) / torch.cdist(wide, wide).clamp(min=1e-9)
    ratio = ratio[~torch.eye(len(rows), dtype=torch.bool)]
    assert ratio.std() < 1e-3 * ratio.mean()


def test_the_bias_is_the_logarithm_of_counts(corpus: Corpus, text: Path) -> None:
    probabilities = np.exp(log_unigrams(corpus).astype(float))
    assert probabilities.sum() == pytest.approx(1, abs=1e-5)
    shard = corpus.training.shards[0]
    counts = 2 * np.bincount(shard.ids, minlength=len(corpus.vocab))
    counts[:2] += corpus.training.n_sentences
    np.testing.assert_allclose(probabilities, (counts + 1) / (counts + 1).sum(), rtol=1e-5)


@pytest.mark.parametrize("place", ["word_table", "softmax"])
def test_one_end_only(corpus: Corpus, place: str) -> None:
    recipe = small(static="vectors.txt", static_fills=(place,))
    model, untouched = (new_model(recipe, corpus.vocab, None) for _ in range(2))
    fill_from_static(model, corpus, static_of(corpus, 8), recipe.static)
    assert (model.config.token_encoder.words is not None) == (place == "word_table")
    is_same = np.array_equal(model.arrays[SOFTMAX], untouched.arrays[SOFTMAX])
    assert is_same == (place == "word_table")


def test_how_words_are_looked_up() -> None:
    vocab = Vocab(["<S>", "</S>", "<UNK>", "Bank", "bank", "river", "xyzzy"])
    static = StaticVectors(["bank", "River"], np.eye(2, dtype=np.float32))
    found = vectors_of(vocab, static, StaticConfig(static="x"))
    assert found.vocab.words == ("Bank", "bank", "river")
    np.testing.assert_array_equal(found.vectors, [[1, 0], [1, 0], [0, 1]])
    exact = vectors_of(vocab, static, StaticConfig(static="x", static_lookup="exact"))
    assert exact.vocab.words == ("bank",)


@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e12])
def test_words_new_to_a_model_are_put_by_its_own(corpus: Corpus, scale: float) -> None:
    """Where a model's rows are a linear map of the vectors, new words are mapped by it too."""
    model, static = new_model(small(static="x"), corpus.vocab, None), static_of(corpus, 4)
    known = Vocab(corpus.vocab.words[:18])
    linear = np.random.default_rng(0).standard_normal((4, 8))
    rows = static.vectors @ linear
    weights = [model.arrays[name] for name in (TABLE, SOFTMAX)]
    for weight in weights:
        weight[3:18] = rows[:15]
    scaled = StaticVectors(static.vocab.words, static.vectors * np.float32(scale))
    fill_new_words(model, corpus.vocab, known, scaled)
    for weight in weights:
        error = np.linalg.norm(weight[18:] - rows[15:]) / np.linalg.norm(rows[15:])
        assert error < 0.1  # the ridge shrinks a little


# --- a run ----------------------------------------------------------------------------------------


def test_a_model_needs_no_file_but_itself(tmp_path: Path, text: Path) -> None:
    static = write_vectors(tmp_path / "vectors.txt", words=range(15))
    pretrain([text], tmp_path / "run", small(static=str(static)))
    static.unlink()
    model = read_pretrained(tmp_path / "run/model")
    assert model.config.token_encoder.words.n_words == len(model.vocab)
    written = model.training["static"]
    assert written["name"] == "vectors.txt"
    assert set(written["files"]["vectors.txt"]) == {"size", "sha256"}
    assert str(tmp_path) not in (tmp_path / "run/model/config.json").read_text()


def test_skipgram_of_the_same_text(tmp_path: Path, text: Path) -> None:
    pytest.importorskip("gensim", reason="gensim is in elmore[static]")
    told: list[str] = []
    pretrain(
        [text], tmp_path / "run", small(static="skipgram", skipgram_dim=6),
        on_progress=lambda stage, n_words: told.append(stage),
    )  # fmt: skip
    assert "skip-gram" in told
    vectors = StaticVectors.load(tmp_path / "run/static")
    assert vectors.dim == 6
    assert set(vectors.vocab) == {f"w{k}" for k in range(20)}
    assert not (tmp_path / "run/skipgram").exists()


class StopError(Exception):
    """Ends a run."""


def stop_after(update: int) -> Any:
    def tell(report: Report) -> None:
        if report.update == update:
            raise StopError

    return tell


def begun(folder: Path, text: Path, recipe: Recipe) -> None:
    with pytest.raises(StopError):
        pretrain([text], folder, recipe, on_update=stop_after(12))


def test_a_run_resumes_when_the_file_is_gone(tmp_path: Path, text: Path) -> None:
    static = write_vectors(tmp_path / "vectors.txt")
    recipe = small(static=str(static), checkpoint_every=10)
    pretrain([text], tmp_path / "whole", recipe)
    begun(tmp_path / "run", text, recipe)
    static.unlink()
    pretrain([text], tmp_path / "run", recipe)
    weights = [
        (tmp_path / name / "model/model.safetensors").read_bytes() for name in ("run", "whole")
    ]
    assert weights[0] == weights[1]


def test_other_vectors_are_another_run(tmp_path: Path, text: Path) -> None:
    static = write_vectors(tmp_path / "vectors.txt")
    recipe = small(static=str(static), checkpoint_every=10)
    begun(tmp_path / "run", text, recipe)
    write_vectors(static, words=range(12))
    with pytest.raises(ConfigError, match="was begun with other static vectors"):
        pretrain([text], tmp_path / "run", recipe)


def test_until_the_first_checkpoint_other_vectors_may_be_given(tmp_path: Path, text: Path) -> None:
    first, second = (write_vectors(tmp_path / name, dim) for name, dim in (("a", 3), ("b", 4)))
    begun(tmp_path / "run", text, small(static=str(first)))
    pretrain([text], tmp_path / "run", small(static=str(second)))
    pretrain([text], tmp_path / "whole", small(static=str(second)))
    weights = [
        (tmp_path / name / "model/model.safetensors").read_bytes() for name in ("run", "whole")
    ]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("static", ["skipgram", "vectors.txt"])
def test_until_the_first_checkpoint_the_text_and_the_seed_may_change(
    tmp_path: Path, text: Path, static: str
) -> None:
    if static == "skipgram":
        pytest.importorskip("gensim")
    else:
        static = str(write_vectors(tmp_path / static, words=range(30)))
    begun(tmp_path / "run", text, small(static=static, skipgram_dim=3))
    shutil.rmtree(tmp_path / "run/corpus")
    text.write_text(text.read_text().replace("w1 ", "w25 ").replace("w2 ", "w26 "))
    recipe = small(static=static, skipgram_dim=3, seed=2)
    pretrain([text], tmp_path / "run", recipe)
    pretrain([text], tmp_path / "whole", recipe)
    weights = [
        (tmp_path / name / "model/model.safetensors").read_bytes() for name in ("run", "whole")
    ]
    assert weights[0] == weights[1]


def test_a_folder_is_known_by_its_name(
    tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "vectors"
    StaticVectors.load(write_vectors(tmp_path / "vectors.txt")).save(folder)
    monkeypatch.chdir(folder)
    recipe = small(static=".", checkpoint_every=10)
    begun(tmp_path / "run", text, recipe)
    assert json.loads((tmp_path / "run/run.json").read_text())["static"]["name"] == "vectors"
    monkeypatch.chdir(tmp_path)
    assert run_elmore(["pretrain", "--out", str(tmp_path / "run")]) == 0


def test_a_run_of_an_earlier_version_resumes(tmp_path: Path, text: Path) -> None:
    recipe = small(checkpoint_every=10)
    begun(tmp_path / "run", text, recipe)
    path = tmp_path / "run/run.json"
    content = json.loads(path.read_text())
    del content["static"], content["corpus"], content["recipe"]["static"], content["checksum"]
    for name in ("word_dropout", "word_table_rate"):
        del content["recipe"]["training"][name]
    path.write_text(json.dumps(content))
    pretrain([text], tmp_path / "run", recipe)
    assert (tmp_path / "run/model").exists()


@pytest.mark.parametrize("name", ["static", "skipgram"])
def test_a_folder_of_someone_else_is_not_touched(tmp_path: Path, text: Path, name: str) -> None:
    theirs = tmp_path / "run" / name / "notes.txt"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("mine")
    static = write_vectors(tmp_path / "vectors.txt")
    with pytest.raises(ConfigError, match=f"holds {name}, which no training run made"):
        pretrain([text], tmp_path / "run", small(static=str(static)))
    assert theirs.read_text() == "mine"


def test_fine_tuning_with_new_words(tmp_path: Path, text: Path) -> None:
    static = write_vectors(tmp_path / "vectors.txt", words=range(30))
    pretrain([text], tmp_path / "run", small(static=str(static)))
    start = Start(read_pretrained(tmp_path / "run/model"), new_vocabulary=True)
    other = tmp_path / "other.txt"
    other.write_text(text.read_text().replace("w1 ", "w25 ").replace("w2 ", "w26 "))
    recipe = small(static=str(static), n_epochs=0.1)
    pretrain([other], tmp_path / "tuned", recipe, start=start)
    tuned = read_pretrained(tmp_path / "tuned/model")
    row = tuned.vocab.row("w25")
    assert np.linalg.norm(tuned.arrays["token_encoder.words.weight"][row]) > 0.1
    with pytest.raises(ConfigError, match="add --new-vocabulary"):
        pretrain([text], tmp_path / "no", recipe, start=Start(start.model))


def test_a_model_without_a_softmax_gets_one_of_static_vectors(corpus: Corpus) -> None:
    plain = new_model(small(), corpus.vocab, None)
    config = dataclasses.replace(plain.config, n_softmax_words=None)
    arrays = {name: array for name, array in plain.arrays.items() if "softmax" not in name}
    start = Start(Pretrained(config, arrays, "whitespace"), True)
    recipe = small(static="vectors.txt")
    tuned, fresh = new_model(recipe, corpus.vocab, start), new_model(recipe, corpus.vocab, None)
    static = static_of(corpus, 5)
    fill(tuned, corpus, recipe, start, static)
    fill(fresh, corpus, recipe, None, static)
    for name in (SOFTMAX, "softmax.bias"):
        np.testing.assert_array_equal(tuned.arrays[name][3:], fresh.arrays[name][3:])


# --- bad input ------------------------------------------------------------------------------------


def test_vectors_of_other_words(tmp_path: Path, text: Path) -> None:
    static = write_vectors(tmp_path / "vectors.txt", words=range(100, 120))
    with pytest.raises(DataError, match="none of the 20 words of the vocabulary has a vector in"):
        pretrain([text], tmp_path / "run", small(static=str(static)))


def test_vectors_that_are_all_the_same(tmp_path: Path, text: Path) -> None:
    static = tmp_path / "vectors.txt"
    static.write_text("".join(f"w{k} 1 2 3\n" for k in range(20)))
    with pytest.raises(DataError, match="the static vectors are all the same"):
        pretrain([text], tmp_path / "run", small(static=str(static)))


@pytest.mark.parametrize("dim", [3, 50])
def test_vectors_that_are_not_finite(tmp_path: Path, text: Path, dim: int) -> None:
    vectors = np.random.default_rng(0).normal(size=(20, dim)).astype(np.float32)
    vectors[7, 1] = np.nan
    StaticVectors([f"w{k}" for k in range(20)], vectors).save(tmp_path / "vectors")
    with pytest.raises(DataError, match="the static vector of 'w7' has numbers that are not finit"):
        pretrain([text], tmp_path / "run", small(static=str(tmp_path / "vectors")))


def test_a_folder_of_other_things(tmp_path: Path, text: Path) -> None:
    (tmp_path / "other/inside").mkdir(parents=True)
    with pytest.raises(ElmoreError, match="other"):
        pretrain([text], tmp_path / "run", small(static=str(tmp_path / "other")))


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--static", "skipgram", "--skipgram-dim", "70000"], "dim is 70000"),
        (["--static", "nowhere.txt"], "there is no file or folder nowhere.txt; --static takes"),
        (["--static-scale", "0"], "static_scale is 0.0; expected a number above 0"),
        (["--word-dropout", "1"], "word_dropout is 1.0; expected a share from 0 to below 1"),
        (["--skipgram-dim", "0"], "skipgram_dim is 0; expected a whole number, at least 1"),
    ],
)
def test_wrong_flags(
    tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str], flags: list[str], message: str
) -> None:
    arguments = ["pretrain", str(text), "--out", str(tmp_path / "run"), *small_flags(), *flags]
    assert run_elmore(arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    shutil.rmtree(tmp_path / "run", ignore_errors=True)
