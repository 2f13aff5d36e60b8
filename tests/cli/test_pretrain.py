"""Training that cannot begin or resume says why in one line, and leaves nothing half-done."""

import math
import resource
from pathlib import Path

import pytest

from elmore.pretrain import trainer
from elmore.pretrain.metrics import read_metrics
from elmore.pretrain.run import pretrain
from tests.pretrain.small_runs import small, small_flags, write_text

from .conftest import Refused, Run, check_one_line


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return write_text(tmp_path / "text.txt")


# --- what is refused before anything is written ---------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the text has no word to learn from"),
        (b" \n\n\t\n", "the text has no word to learn from"),
        (b"good\ncaf\xe9\n", "text.txt is not UTF-8: line 2, byte 4"),
    ],
)
def test_text_that_cannot_be_learned(
    refused: Refused, tmp_path: Path, text: Path, content: bytes, message: str
) -> None:
    text.write_bytes(content)
    assert message in refused("pretrain", text, "--out", tmp_path / "run", *small_flags())


def test_text_that_is_not_there(refused: Refused, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "run", *small_flags())
    missing = refused("pretrain", tmp_path / "none.txt", *out)
    assert "none.txt does not exist; expected a file of text" in missing
    assert "is a folder; name the files in it" in refused("pretrain", tmp_path, *out)
    assert "holds no run to resume; name text files to begin one" in refused("pretrain", *out)
    assert "--out" in refused("pretrain", tmp_path / "none.txt")


def test_an_output_that_is_a_file(refused: Refused, tmp_path: Path, text: Path) -> None:
    (tmp_path / "file").write_text("precious")
    arguments = ("pretrain", text, *small_flags(), "--out")
    assert "file is a file; a folder is to be" in refused(*arguments, tmp_path / "file")
    assert "file/run" in refused(*arguments, tmp_path / "file/run")
    assert "/proc/none" in refused(*arguments, "/proc/none/run")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--batch-size", "0"], "batch_size is 0; expected a whole number, at least 1"),
        (["--batch-size", "1.5"], "got '1.5', expected a whole number"),
        (["--batch-size", "many"], "got 'many', expected a whole number"),
        (["--patience", "-1"], "-1"),
        (["--n-epochs", "0"], "n_epochs is 0.0; expected a number above 0"),
        (["--n-epochs", "nan"], "n_epochs is nan; expected a number above 0"),
        (["--n-epochs", "inf"], "n_epochs is inf; expected a number above 0"),
        (["--learning-rate", "-1"], "learning_rate is -1.0; expected a number above 0"),
        (["--learning-rate", "fast"], "fast"),
        (["--weight-decay", "nan"], "weight_decay is nan; expected 0 or more"),
        (["--dropout", "1"], "dropout is 1.0; expected a share from 0 to below 1"),
        (["--held-out", "0.9"], "held_out is 0.9; expected a share from 0 to 0.5"),
        (["--optimizer", "sgd"], "sgd"),
        (["--softmax", "half"], "half"),
        (["--precision", "float64"], "float64"),
        (["--activation", "sigmoid"], "sigmoid"),
        (["--frozen", "head"], "head"),
        (
            ["--frozen", "lstm", "--frozen", "softmax", "--frozen", "token_encoder"],
            "frozen names every part but the word table, which is not",
        ),
        (["--seed", str(2**64)], "got '18446744073709551616', expected at most 4294967295"),
        (["--max-words", "3"], "max_words is 3; expected a whole number, at least 4"),
        (["--min-count", "0"], "min_count is 0; expected a whole number, at least 1"),
        (["--min-count", "999"], "min_count is 999, but no word occurs more than"),
        (["--tokenizer", "klingon"], "'klingon'; known: whitespace, english"),
        (["--filters", "3"], "got '3', expected such as 1:32,2:32,3:64"),
        (["--filters", "0:3"], "a filter's width is 0"),
        (["--filters", "20:3"], "max_characters is 12; expected a whole number, at least 20"),
        (
            ["--cell-clip", "-1"],
            "cell_clip is -1.0; expected a number above 0 that float32 can hold, or none",
        ),
        (["--cell-clip", "soft"], "soft"),
        (["--projection-dim", "99"], "projection_dim is 99, cell_dim 16"),
        (["--processes", "0"], "processes is 0; expected a whole number, at least 1"),
        (["--recipe", "none"], "there is no recipe 'none'; expected one of original, small-cpu"),
        (["--colour", "red"], "--colour"),
        (["--from", "no-such-model"], "no-such-model"),
    ],
)
def test_values_a_flag_cannot_have(
    refused: Refused, tmp_path: Path, text: Path, flags: list[str], message: str
) -> None:
    given = small_flags()
    for flag in flags[::2]:
        if flag in given:
            place = given.index(flag)
            given = given[:place] + given[place + 2 :]
    out = refused("pretrain", text, "--out", tmp_path / "run", *given, *flags)
    assert message in out


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (
            "[training]\nepochs = 3\n",
            "has the unknown field training.epochs (did you mean n_epochs?); correct it",
        ),
        (
            "[trainig]\nn_epochs = 3\n",
            "has the unknown field trainig (did you mean training?); correct it",
        ),
        ("training = 3\n", "training is 3; expected a table; correct it"),
        ("[training\n", "is not TOML"),
        (
            "[token_encoder]\n[lstm]",
            "lacks token_encoder.char_dim",
        ),
        (
            "[token_encoder]\nchar_dim = 4\nfilters = [[1, 4]]\nn_highway = 0\n"
            "activation = 'relu'\n[lstm]\nn_layers = 2\n",
            "lacks lstm.cell_dim",
        ),
        ("[training]\nlearning_rate = 'fast'\n", "learning_rate is 'fast'; expected a number"),
        ("[training]\nn_epochs = 'none'\n", "training.n_epochs is null; expected a number"),
        ("[training]\ndropout = [1]\n", "dropout is (1,); expected a number"),
        ("[training]\nbatch_size = 2.5\n", "batch_size is 2.5; expected a whole number"),
        (
            "[training]\nfrozen = 'lstm'\n",
            "training.frozen is 'lstm'; expected a list, of one of lstm,",
        ),
        ("[corpus]\ntokenizer = 3\n", "corpus.tokenizer is 3; expected a string"),
        ("[corpus]\ntext_field = 'none'\n", "corpus.text_field is null; expected a string"),
        (
            "[corpus]\nsplit_sentences = 3\n",
            "corpus.split_sentences is 3; expected a string or null",
        ),
        ("[corpus]\nheld_out = 'some'\n", "held_out is 'some'; expected a number"),
    ],
)
def test_a_recipe_that_cannot_be_read(
    refused: Refused, tmp_path: Path, text: Path, recipe: str, message: str
) -> None:
    path = tmp_path / "recipe.toml"
    shape = """
        token_encoder = {char_dim = 4, filters = [[1, 4]], n_highway = 0, activation = "relu"}
        lstm = {n_layers = 1, cell_dim = 8, projection_dim = 4}
    """
    path.write_text(recipe if "[lstm]" in recipe else shape + recipe)
    out = refused("pretrain", text, "--out", tmp_path / "run", "--recipe", path)
    assert message in out
    path.write_bytes(b"\xff")
    assert "recipe.toml is not TOML" in refused(
        "pretrain", text, "--out", tmp_path / "run", "--recipe", path
    )


# --- what is found out when the text is prepared --------------------------------------------------


@pytest.mark.parametrize(
    ("content", "changes", "message"),
    [
        ("just one sentence", {}, "the training text has 4 tokens, and one batch takes 4 x 5;"),
        (None, {"batch_size": 5000}, "one batch takes 5000 x 5; choose a smaller batch_size"),
        (
            None,
            {"softmax": "sampled", "n_samples": 24},
            "n_samples is 24, the vocabulary has 23 words; sample fewer, or take the full softmax",
        ),
        (None, {"accumulate": 10**9}, "accumulate is 1000000000, and the run has 48 batches;"),
    ],
)
def test_what_the_text_is_too_small_for(
    *,
    elmore: Run,
    tmp_path: Path,
    text: Path,
    content: str | None,
    changes: dict[str, object],
    message: str,
) -> None:
    text.write_text(content or text.read_text())
    arguments = ("pretrain", text, "--out", tmp_path / "run")
    result = elmore(*arguments, *small_flags(**changes))
    assert (result.code, result.out) == (2, "")
    check_one_line(result.err)
    assert message in result.err
    # The prepared text stays, whole, and what was wrong may be mended in the same folder.
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"corpus", "run.json"}
    mended = small_flags(batch_size=2, unroll_steps=2, n_epochs=0.1)
    assert elmore(*arguments, *mended).code == 0
    assert (tmp_path / "run/model/model.safetensors").exists()


# --- what goes wrong on the way -------------------------------------------------------------------


def test_a_loss_that_is_no_number(elmore: Run, tmp_path: Path, text: Path) -> None:
    result = elmore(
        "pretrain", text, "--out", tmp_path / "run",
        *small_flags(learning_rate=1e6, weight_decay=1e6, warmup_steps=0, optimizer="adamw"),
        "--checkpoint-every", "1",
    )  # fmt: skip
    assert (result.code, result.out) == (2, "")
    *progress, last = result.err.splitlines(keepends=True)
    check_one_line(last)
    assert "begin again in another --out with a smaller learning_rate or a longer warm-up" in last
    assert not any("Traceback" in line for line in progress)
    assert not (tmp_path / "run/model").exists()
    facts = list(read_metrics(tmp_path / "run"))
    assert facts
    assert all(math.isfinite(value) for line in facts for value in line.values())


def test_a_measurement_that_is_no_number(
    elmore: Run, tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = trainer.Trainer.score

    def broken(self: trainer.Trainer) -> trainer.Score:
        found = score(self)
        return trainer.Score(found.n_predictions, 0, found.n_words, math.nan, 1.0)

    monkeypatch.setattr(trainer.Trainer, "score", broken)
    result = elmore("pretrain", text, "--out", tmp_path / "run", *small_flags(evaluate_every=5))
    assert result.code == 2
    assert "the held-out loss is nan after update 5; begin again" in result.err
    assert not (tmp_path / "run/model").exists()
    assert not (tmp_path / "run/best.safetensors").exists()
    assert "NaN" not in (tmp_path / "run/metrics.jsonl").read_text()


def check_stopped_whole(folder: Path, result_code: int, err: str) -> None:
    """Hold what a full disk may leave: one line that says so, and nothing half-written."""
    assert result_code == 2
    last = err.splitlines(keepends=True)[-1]
    check_one_line(last)
    assert "Traceback" not in err
    assert [path for path in folder.rglob("*") if ".part" in path.name] == []
    assert not (folder / "model").exists()


@pytest.mark.parametrize("limit", [300, 2000, 9000, 20_000])
def test_files_that_cannot_grow(elmore: Run, tmp_path: Path, text: Path, limit: int) -> None:
    arguments = ("pretrain", text, "--out", tmp_path / "run", *small_flags(checkpoint_every=5))
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited[1]))
    try:
        result = elmore(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
    check_stopped_whole(tmp_path / "run", result.code, result.err)
    assert "too large" in result.err
    check_goes_on(elmore, arguments, text, tmp_path)


def check_goes_on(elmore: Run, arguments: tuple[object, ...], text: Path, folder: Path) -> None:
    """Hold the run, now that there is space, equal to one that always had it."""
    assert elmore(*arguments).code == 0
    pretrain([text], folder / "whole", small(checkpoint_every=5))
    for name in ("metrics.jsonl", "model/model.safetensors"):
        assert (Path(str(arguments[3])) / name).read_bytes() == (
            folder / "whole" / name
        ).read_bytes()


def test_a_full_disk(elmore: Run, tmp_path: Path, text: Path, small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    arguments = (
        "pretrain", text, "--out", small_disk / "run", *small_flags(checkpoint_every=5)
    )  # fmt: skip
    for kept_free in (0, 20_000, 60_000, 120_000):
        ballast.write_bytes(b"\0" * (2**20 - kept_free))
        result = elmore(*arguments)
        check_stopped_whole(small_disk / "run", result.code, result.err)
        assert "No space left on device" in result.err
        ballast.unlink()
    check_goes_on(elmore, arguments, text, tmp_path)
