"""Numbers that an option cannot have are refused in one line, before anything takes time."""

from pathlib import Path

import pytest

from .conftest import SMALL_TASK, Refused, Run, check_one_line, write_corpus

HUGE = "99999999999999999999"


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("hidden-dim", "0", "hidden_dim is 0; expected a whole number, at least 1"),
        ("hidden-dim", "99999999", "hidden_dim is 99999999; expected at most 8192"),
        ("dropout", "2", "dropout is 2.0; expected a number from 0 to below 1"),
        ("dropout", "nan", "dropout is nan"),
        ("elmo-dropout", "-1", "elmo_dropout is -1.0"),
        ("n-epochs", "0", "n_epochs is 0"),
        ("learning-rate", "inf", "learning_rate is inf"),
        ("clip-norm", "nan", "clip_norm is nan"),
        ("mix-l2", "inf", "mix_l2 is inf"),
        ("seed", HUGE, "got '99999999999999999999', expected at most 4294967295"),
        ("seed", "9" * 5000, "--seed"),
        ("char-filters", "99999999", "--char-filters is not a setting of classify"),
    ],
)
def test_train(
    *, refused: Refused, texts: Path, tmp_path: Path, flag: str, value: str, message: str
) -> None:
    said = refused(
        "train", "classify", "--train", texts, "--out", tmp_path / "out", "--elmo", "en",
        f"--{flag}={value}",
    )  # fmt: skip
    assert message in said
    assert len(said) < 1100


def test_filters_of_a_tagger(refused: Refused, tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_text("the O\n\nbank O\n\n")
    options = ["--train", path, "--out", tmp_path / "out", "--char-filters", "99999999"]
    assert "char_filters is 99999999; expected at most" in refused("train", "tag", *options)


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("seed", HUGE, "seed is 99999999999999999999; expected at most 4294967295"),
        ("subsample", "nan", "subsample is nan; expected a number from 0 to 1"),
        ("dim", HUGE, "dim is 99999999999999999999; expected at most 65536"),
        ("n-threads", "1000000", "n_threads is 1000000; expected at most 1024"),
        ("window", "0", "window is 0"),
        ("learning-rate", "nan", "learning_rate is nan"),
        ("learning-rate", "1e39", "learning_rate is 1e+39; expected a number above 0, at most 1"),
    ],
)
def test_skipgram(*, refused: Refused, tmp_path: Path, flag: str, value: str, message: str) -> None:
    corpus = write_corpus(tmp_path / "corpus.txt", 20, 1)
    assert message in refused("skipgram", corpus, "--out", tmp_path / "out", f"--{flag}={value}")


@pytest.mark.parametrize(("flag", "value"), [("--max-train", 0), ("--max-dev", 0)])
def test_compare(*, refused: Refused, texts: Path, tmp_path: Path, flag: str, value: int) -> None:
    options = ["--train", texts, "--out", tmp_path / "out", flag, value]
    assert f"{flag[2:].replace('-', '_')} is 0" in refused("compare", "classify", *options)


def test_a_comparison_that_is_refused_leaves_nothing(
    elmore: Run, texts: Path, tmp_path: Path, tiny_model: Path, static: Path
) -> None:
    options = ["--train", texts, "--out", tmp_path / "out", "--elmo", tiny_model, *SMALL_TASK]
    options += ["--static", static, "--layers", "7", "--variants", "elmo"]
    result = elmore("compare", "classify", *options)
    assert result.code == 2
    assert result.err.endswith("layers is 7; expected mix, top, or a number from 0 to 2\n")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("layers", ["9" * 5000, "-1", "1.5", "nan", ""])
def test_layers_of_an_index(
    refused: Refused, tmp_path: Path, tiny_model: Path, layers: str
) -> None:
    corpus = write_corpus(tmp_path / "corpus.txt", 2, 1)
    options = ["--out", tmp_path / "out", "-m", tiny_model, f"--layers={layers}"]
    assert "--layers is" in refused("index", corpus, *options)


def test_an_index_that_is_refused_leaves_no_folder(
    refused: Refused, tmp_path: Path, tiny_model: Path
) -> None:
    (tmp_path / "corpus.txt").write_bytes(b"caf\xe9\n")
    options = ["--out", tmp_path / "out", "-m", tiny_model, "--tokenizer", "whitespace"]
    assert "is not UTF-8" in refused("index", tmp_path / "corpus.txt", *options)
    (tmp_path / "corpus.txt").write_text("the bank\n")
    said = refused("index", tmp_path / "corpus.txt", *options, "--words", "boat")
    assert "no word that was asked for is in the text" in said


@pytest.mark.parametrize("value", [0, HUGE])
@pytest.mark.parametrize("command", [["doctor"], ["pretrain", "--out", "out"]])
def test_processes(
    *, refused: Refused, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: object,
    command: list[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    corpus = write_corpus(tmp_path / "corpus.txt", 2, 1)
    said = refused(*command, corpus, "--recipe", "tiny", f"--processes={value}")
    assert ("processes is 0" if value == 0 else "expected at most") in said


@pytest.mark.parametrize("value", ["nan", "inf", "-1"])
def test_seconds_of_doctor(refused: Refused, tmp_path: Path, value: str) -> None:
    corpus = write_corpus(tmp_path / "corpus.txt", 2, 1)
    assert "measure_s is" in refused("doctor", corpus, f"--measure-s={value}")


def test_a_picture_of_no_kind(refused: Refused, index: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    said = refused("senses", "bank", "--in", index, "--picture", tmp_path / "x.zzz")
    assert "x.zzz is no picture; expected a name that ends in ." in said
    assert ".png" in said


def test_more_memory_than_there_is(
    elmore: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = "[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: 99 bytes"
    for error in (MemoryError(), RuntimeError(said)):

        def fail(*_: object, error: Exception = error, **__: object) -> None:
            raise error

        monkeypatch.setattr("elmore.formats.bundled_models", fail)
        result = elmore("models")
        assert result.code == 2
        check_one_line(result.err)
        assert "there is not enough memory" in result.err
    monkeypatch.setattr("elmore.formats.bundled_models", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        elmore("models")
