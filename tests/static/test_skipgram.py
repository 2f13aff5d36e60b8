"""Skip-gram puts words that stand in the same places together, the same way each time."""

import random
import sys
from pathlib import Path

import numpy as np
import pytest

from elmore import StaticVectors
from elmore.cli.main import run as run_elmore
from elmore.errors import ConfigError, DataError
from elmore.static import skipgram
from elmore.static.config import SkipGramConfig
from elmore.static.skipgram import train_skipgram
from tests.fuzz.mutations import mutate

pytest.importorskip("gensim", reason="gensim is in elmore[static]")

FLAGS = ["--dim", "8", "--min-count", "1", "--n-epochs", "30", "--subsample", "0"]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Animals eat, and cars drive."""
    rng = random.Random(1)
    kinds = [
        (["dog", "cat", "cow"], ["eats", "sleeps"]),
        (["car", "bus", "van"], ["drives", "stops"]),
    ]
    lines = []
    for _ in range(300):
        nouns, verbs = rng.choice(kinds)
        lines.append(f"{rng.choice(nouns)} {rng.choice(verbs)} {rng.choice(nouns)}")
    path = tmp_path / "text.txt"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_words_of_a_kind_are_near(text: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert run_elmore(["skipgram", str(text), "--out", str(tmp_path / name), *FLAGS]) == 0
    one, two = (StaticVectors.load(tmp_path / name) for name in ("one", "two"))
    np.testing.assert_array_equal(one.vectors, two.vectors)
    assert one.dim == 8
    assert {word for word, _ in one.most_similar("dog", 4)} == {"cat", "cow", "eats", "sleeps"}


def test_korean_is_tokenized(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("사과를 먹었다.\n" * 5, encoding="utf-8")
    out = ["--out", str(tmp_path / "out"), "--tokenizer", "korean-syllables"]
    assert run_elmore(["skipgram", str(tmp_path / "text.txt"), *out, *FLAGS]) == 0
    assert set("사과를먹었다.") == set(StaticVectors.load(tmp_path / "out").vocab)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--min-count", "1000"], "no word occurs 1000 times; lower min_count"),
        (["--dim", "0"], "dim is 0; expected a whole number, at least 1"),
        (["--tokenizer", "none"], "no tokenizer is called 'none'"),
    ],
)
def test_bad_settings(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], message: str
) -> None:
    arguments = ["skipgram", str(text), "--out", str(tmp_path / "out"), *flags]
    assert run_elmore(arguments) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--out", str(tmp_path / "out")]
    assert run_elmore(["skipgram", *out]) == 2
    assert "name the files to train on" in capsys.readouterr().err
    (tmp_path / "blank.txt").write_text(" \n")
    assert run_elmore(["skipgram", str(tmp_path / "blank.txt"), *out]) == 2
    assert "no words to train on" in capsys.readouterr().err
    assert run_elmore(["skipgram", str(tmp_path / "blank.txt"), "--out", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err


def test_without_gensim(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    assert run_elmore(["skipgram", str(text), "--out", str(tmp_path / "out")]) == 2
    assert "pip install 'elmore[static]'" in capsys.readouterr().err


def test_settings_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match="learning_rate is 0; expected a number above 0"):
        SkipGramConfig(learning_rate=0)
    with pytest.raises(ConfigError, match="subsample is -1; expected a number from 0 to 1"):
        SkipGramConfig(subsample=-1)


def test_stopped_and_resumed_equals_never_stopped(tmp_path: Path) -> None:
    rng = random.Random(3)
    sentences = [[f"w{rng.randrange(30)}" for _ in range(8)] for _ in range(200)]
    config = SkipGramConfig(dim=6, min_count=1, n_epochs=4)
    whole = train_skipgram(sentences, config)

    class StopError(Exception):
        pass

    def stop(stage: str, done: int, of: int) -> None:
        if stage == "train" and done == 2:
            raise StopError

    folder = tmp_path / "work"
    folder.mkdir()
    with pytest.raises(StopError):
        train_skipgram(sentences, config, folder=folder, on_progress=stop)
    told = []
    resumed = train_skipgram(
        [], config, folder=folder, on_progress=lambda stage, done, total: told.append((stage, done))
    )
    assert told == [("train", 2), ("train", 3), ("train", 4)]
    np.testing.assert_array_equal(resumed.vectors, whole.vectors)
    (folder / "epoch.npz").write_bytes(b"damaged")
    again = train_skipgram([], config, folder=folder)
    np.testing.assert_array_equal(again.vectors, whole.vectors)


def test_words_that_are_equally_frequent() -> None:
    config = SkipGramConfig(dim=4, min_count=5, max_words=3, n_epochs=1)
    with pytest.raises(DataError, match="more than 3 words are equally frequent"):
        train_skipgram([["a", "b", "c", "d"]] * 5, config)


def test_a_damaged_state_is_no_state(tmp_path: Path) -> None:
    """Nothing of it is taken over: training starts again from what it would have started from."""
    model = pytest.importorskip("gensim.models").Word2Vec(
        [["a", "b", "c"]] * 9, sg=1, vector_size=4, min_count=1
    )
    config = SkipGramConfig(dim=4, min_count=1, n_epochs=3)
    path, before = tmp_path / "epoch.npz", model.wv.vectors.copy()
    skipgram._save_state(model, path, config, 2)
    content, rng = path.read_bytes(), random.Random(1)
    method = content.rindex(b"PK\x01\x02") + 10  # of compression, of the last array
    cases = [content[:method] + b"\x63" + content[method + 1 :]]
    cases += [mutate(content, rng, is_json=False) for _ in range(500)]
    for damaged in cases:
        path.write_bytes(damaged)
        model.wv.vectors[:] = 7
        if skipgram._load_state(model, path, config) == 0:
            assert (model.wv.vectors == 7).all()
        else:  # what was damaged is not read
            np.testing.assert_array_equal(model.wv.vectors, before)
