"""A run that was stopped, however it was stopped, and resumed is one that never stopped."""

import json
import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from elmore.cli.main import run as run_elmore
from elmore.corpus.files import fingerprint
from elmore.engine.parallel import n_threads, set_n_threads
from elmore.errors import ConfigError, ElmoreWarning
from elmore.formats import read_pretrained
from elmore.kernels.library import available_variants, kernels
from elmore.pretrain import trainer
from elmore.pretrain.checkpoint import Checkpoint, read_checkpoint
from elmore.pretrain.config import Recipe
from elmore.pretrain.initial_network import Start
from elmore.pretrain.metrics import read_metrics
from elmore.pretrain.perplexity import Score
from elmore.pretrain.run import pretrain
from elmore.pretrain.trainer import Report, Trainer
from elmore.pretrain.verify import verify_run
from tests.pretrain.small_runs import small, small_flags, start, write_text, write_vectors

SAME_BYTES = ("metrics.jsonl", "run.json", "model/model.safetensors", "model/config.json")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return write_text(tmp_path / "text.txt")


def check_same(run: Path, expected: Path) -> None:
    """Hold two finished runs equal in all but the time that they took."""
    for name in SAME_BYTES:
        assert (run / name).read_bytes() == (expected / name).read_bytes(), name
    for name in ("last.safetensors", "best.safetensors"):
        if not (expected / name).exists():
            assert not (run / name).exists()
            continue
        found, wanted = read_checkpoint(run / name), read_checkpoint(expected / name)
        assert {**found.facts, "seconds": 0} == {**wanted.facts, "seconds": 0}
        assert found.arrays.keys() == wanted.arrays.keys()
        for key, array in wanted.arrays.items():
            assert np.array_equal(found.arrays[key], array), (name, key)
    assert {path.name for path in run.iterdir()} == {path.name for path in expected.iterdir()}


class CrashError(Exception):
    """Ends a run where it stands, as a fault would."""


def crash_after(update: int) -> Any:
    def tell(report: Report) -> None:
        if report.update == update:
            raise CrashError

    return tell


def interrupt_after(update: int) -> Any:
    def tell(report: Report) -> None:
        if report.update == update:
            os.kill(os.getpid(), signal.SIGINT)

    return tell


@pytest.mark.parametrize("optimizer", ["adagrad", "adamw"])
@pytest.mark.parametrize(("softmax", "has_table"), [("full", False), ("sampled", False),
                                                    ("sampled", True)])  # fmt: skip
def test_stopped_and_resumed_equals_never_stopped(
    tmp_path: Path, text: Path, optimizer: str, softmax: str, has_table: bool
) -> None:
    recipe = small(
        optimizer=optimizer, softmax=softmax, learning_rate=0.02, dropout=0.2, accumulate=2,
        held_out=0.1, evaluate_every=4, checkpoint_every=3, n_epochs=2.3,
        static=str(write_vectors(tmp_path / "vectors.txt")) if has_table else "none",
    )  # fmt: skip
    whole, run = tmp_path / "whole", tmp_path / "run"
    pretrain([text], whole, recipe)
    facts = list(read_metrics(whole))
    n_updates = facts[-1]["update"]
    per_epoch = n_updates / 2.3
    assert 7 < per_epoch < 13 < n_updates - 2  # the moments below are to be in both epochs

    made: list[int] = []
    with pytest.raises(CrashError):
        pretrain([text], run, recipe, on_update=crash_after(2))  # before any checkpoint
    with pytest.raises(CrashError):
        pretrain([text], run, recipe, on_update=crash_after(7))  # a measurement beyond the last one
    assert (run / "curve.png").exists()  # drawn beneath the run, not only at the end
    with pytest.raises(KeyboardInterrupt, match="holds all 10 updates; the same command resumes"):
        pretrain(
            [text], run, recipe, on_update=interrupt_after(9)
        )  # asked during 9, it makes one more
    with pytest.raises(CrashError):
        pretrain([text], run, recipe, on_update=crash_after(13))
    pretrain([text], run, recipe, on_update=lambda report: made.append(report.update))
    assert made == list(range(13, n_updates + 1))  # from the checkpoint of update 12
    check_same(run, whole)
    for name in ("last", "best"):  # killed just after the checkpoint was there
        (run / f"{name}.safetensors.part").mkdir()
    pretrain([text], run, recipe)
    check_same(run, whole)


EVERYTHING: dict[str, Any] = {
    "softmax": "sampled", "dropout": 0.2, "word_dropout": 0.2, "held_out": 0.1,
    "evaluate_every": 10, "checkpoint_every": 5, "n_epochs": 2.0,
}  # fmt: skip


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_any_number_of_threads_makes_the_same_bytes(
    tmp_path: Path, text: Path, precision: str
) -> None:
    static = str(write_vectors(tmp_path / "vectors.txt"))
    recipe = small(**EVERYTHING, static=static, precision=precision)
    before = n_threads()
    try:
        for n in (1, 2, 4):
            set_n_threads(n)
            pretrain([text], tmp_path / f"run{n}", recipe)
    finally:
        set_n_threads(before)
    for n in (2, 4):
        check_same(tmp_path / f"run{n}", tmp_path / "run1")


@pytest.mark.skipif(len(available_variants()) < 2, reason="one instruction set")
def test_another_processor_resumes_to_the_same_bytes(
    tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # held-out text is scored by torch, whose sums are not those of another processor
    recipe = small(**EVERYTHING | {"held_out": 0.0, "n_epochs": 1.0})
    whole, run = tmp_path / "whole", tmp_path / "run"
    pretrain([text], whole, recipe)
    *others, generic = available_variants()[1:]
    for number, variant in enumerate([generic, *others], start=1):
        monkeypatch.setenv("ELMORE_KERNELS", variant)
        kernels.cache_clear()
        with pytest.raises(CrashError):
            pretrain([text], run, recipe, on_update=crash_after(5 * number + 1))
    monkeypatch.delenv("ELMORE_KERNELS")
    kernels.cache_clear()
    pretrain([text], run, recipe)
    names = ("last.safetensors", "metrics.jsonl")
    found, wanted = (read_checkpoint(folder / names[0]).arrays for folder in (run, whole))
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name], array)
    assert (run / names[1]).read_bytes() == (whole / names[1]).read_bytes()


def test_a_checkpoint_of_an_earlier_version_is_refused(
    begun: Path, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last = begun / "last.safetensors"
    save_file(read_checkpoint(last).arrays, last, {"format": "elmore-checkpoint-1", "facts": "{}"})
    said = refused(capsys, "pretrain", text, "--out", begun, *small_flags(checkpoint_every=2))
    assert "format is 'elmore-checkpoint-1', and this version reads 'elmore-checkpoint-2'" in said
    assert "remove it to begin this run again" in said


def test_more_epochs_go_on(tmp_path: Path, text: Path) -> None:
    def recipe(n_epochs: float) -> Recipe:
        return small(
            decay="none", n_epochs=n_epochs, held_out=0.1, evaluate_every=23, checkpoint_every=100
        )  # fmt: skip

    pretrain([text], tmp_path / "whole", recipe(2.0))
    pretrain([text], tmp_path / "run", recipe(1.0))
    n_first = list(read_metrics(tmp_path / "run"))[-1]["update"]
    assert n_first == 23  # so that the longer run, too, is measured there
    pretrain([], tmp_path / "run", recipe(2.0))  # the text was read
    check_same(tmp_path / "run", tmp_path / "whole")


def test_until_the_first_checkpoint_a_run_may_be_another(tmp_path: Path, text: Path) -> None:
    with pytest.raises(CrashError):
        pretrain([text], tmp_path / "run", small(), on_update=crash_after(6))
    recipe = small(learning_rate=0.01, n_epochs=0.5)
    pretrain([text], tmp_path / "run", recipe)
    pretrain([text], tmp_path / "whole", recipe)
    check_same(tmp_path / "run", tmp_path / "whole")


def test_a_run_is_resumed_without_its_flags(tmp_path: Path, text: Path) -> None:
    run, whole = tmp_path / "run", tmp_path / "whole"
    recipe = small(checkpoint_every=2, static=str(write_vectors(tmp_path / "vectors.txt")))
    with pytest.raises(CrashError):
        pretrain([text], run, recipe, on_update=crash_after(3))
    assert run_elmore(["pretrain", "--out", str(run)]) == 0
    pretrain([text], whole, recipe)
    check_same(run, whole)


def test_no_text_and_no_checkpoint_yet(
    tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pretrain([text], tmp_path / "base", small(n_epochs=0.2))
    model = Start(read_pretrained(tmp_path / "base/model"))
    run = tmp_path / "run"
    with pytest.raises(CrashError):
        pretrain([text], run, small(), start=model, on_update=crash_after(3))
    assert not (run / "last.safetensors").exists()
    assert "was begun from another model" in refused(capsys, "pretrain", "--out", run)
    plain = tmp_path / "plain"
    with pytest.raises(CrashError):
        pretrain([text], plain, small(), on_update=crash_after(3))
    said = refused(capsys, "pretrain", "--out", plain, "--min-count", "5")
    assert "was begun with min_count = 1, now it is 5" in said
    assert run_elmore(["pretrain", "--out", str(plain)]) == 0
    pretrain([text], tmp_path / "whole", small())
    check_same(plain, tmp_path / "whole")


def test_a_model_keeps_the_files_of_its_user(tmp_path: Path, text: Path) -> None:
    model = tmp_path / "run/model"
    pretrain([text], tmp_path / "run", small(n_epochs=0.5))
    before = (model / "model.safetensors").read_bytes()
    (model / "README.md").write_text("my model")
    (model / "notes").mkdir()
    (model / "notes/config.json").write_text("mine")
    pretrain([text], tmp_path / "run", small(n_epochs=1.0))
    assert (model / "model.safetensors").read_bytes() != before
    assert (model / "README.md").read_text() == "my model"
    assert (model / "notes/config.json").read_text() == "mine"
    assert not list((tmp_path / "run").glob("*.part"))


def test_killed_while_its_model_was_replaced(tmp_path: Path, text: Path) -> None:
    run = tmp_path / "run"
    pretrain([text], run, small())
    (run / "model/README.md").write_text("my model")
    work = run / "model.kil_led1.part"
    work.mkdir()
    (work / "elmore-unfinished").touch()
    (run / "model").rename(work / "old")
    pretrain([], run, small())
    assert (run / "model/README.md").read_text() == "my model"
    assert not work.exists()


def test_a_model_that_is_a_link(tmp_path: Path, text: Path) -> None:
    run = tmp_path / "run"
    pretrain([text], run, small())
    (run / "model").rename(tmp_path / "elsewhere")
    (run / "model").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="holds model, which no training run made"):
        pretrain([], run, small(n_epochs=3))


@pytest.mark.parametrize("n_written", [0, 1, 2])
def test_the_best_weights_are_those_of_this_run(
    tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch, n_written: int
) -> None:
    """Killed among the checkpoints of its best update, then resumed with another length."""
    flags = {"held_out": 0.1, "checkpoint_every": 3, "evaluate_every": 2}
    means, write, written = {2: 5.0, 4: 4.0}, trainer.write_checkpoint, list[Path]()

    def score(self: Trainer) -> Score:
        return Score(10, 0, 10, *[10 * means.get(self.update, 6.0)] * 2)

    def write_and_crash(path: Path, checkpoint: Checkpoint) -> None:
        if checkpoint.facts["update"] == 4:
            if len(written) == n_written:
                raise CrashError
            written.append(path)
        write(path, checkpoint)

    monkeypatch.setattr(Trainer, "score", score)
    with monkeypatch.context() as patch, suppress(CrashError):
        patch.setattr(trainer, "write_checkpoint", write_and_crash)
        pretrain([text], tmp_path / "run", small(**flags), on_update=crash_after(4))
    assert len(written) == n_written
    longer = flags | {"evaluate_every": 1000, "n_epochs": 3.0}
    pretrain([text], tmp_path / "run", small(**longer))
    last, best = (
        read_checkpoint(tmp_path / f"run/{one}.safetensors").facts for one in ("last", "best")
    )
    assert (last["best"], last["best_update"]) == (best["held_out"], best["update"])
    assert best["update"] == (4 if n_written else 2)


def test_more_held_out_text_begins_a_new_best(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    shuffled = random.Random(1)
    hard = [" ".join(shuffled.choices("abcdefghijklmnop", k=8)) for _ in range(60)]
    text.write_text("the bank of the river\n" * 60 + "\n".join(hard) + "\n")

    def train(n_tokens: int, n_epochs: float) -> int:
        recipe = small(
            held_out=0.2, max_held_out_tokens=n_tokens, n_epochs=n_epochs, evaluate_every=5,
            checkpoint_every=5, decay="none",
        )  # fmt: skip
        found = pretrain([text], tmp_path / "run", recipe).held_out
        assert found is not None
        return found.n_predictions

    few = train(1, 0.5)
    assert train(100_000, 1.0) > 10 * few


def test_held_out_text_of_one_word(tmp_path: Path) -> None:
    text = write_text(tmp_path / "text.txt")
    with text.open("a") as file:
        file.write("the-end\n")
    found = pretrain([text], tmp_path / "run", small(held_out=0.0001, n_epochs=0.2))
    assert found.held_out is not None
    assert found.held_out.n_words <= 2
    assert (tmp_path / "run/model/config.json").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="file names of bytes")
def test_a_text_whose_name_is_not_utf_8(tmp_path: Path) -> None:
    text = Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9.txt"))
    write_text(text)
    for _ in range(2):
        pretrain([text], tmp_path / "run", small(n_epochs=0.2))
    model = tmp_path / "run/model"
    assert run_elmore(["calibrate", str(model), str(text), "--out", str(tmp_path / "c")]) == 0


def test_flags_that_contradict_the_run(
    begun: Path, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, "pretrain", "--out", begun, "--learning-rate", "0.5")
    assert "was begun with learning_rate = " in said
    assert "was begun with " in refused(capsys, "pretrain", "--out", begun, "--recipe", "small-cpu")


# --- what cannot resume---------------------------------------------------------------------------


@pytest.fixture
def begun(tmp_path: Path, text: Path) -> Path:
    with pytest.raises(CrashError):
        pretrain([text], tmp_path / "run", small(checkpoint_every=2), on_update=crash_after(3))
    return tmp_path / "run"


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    capsys.readouterr()
    assert run_elmore([str(argument) for argument in arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith("elmore: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", 0.5),
        ("optimizer", "adagrad"),
        ("dropout", 0.3),
        ("batch_size", 5),
        ("cell_dim", 17),
        ("filters", ((1, 4), (2, 9))),
        ("seed", 2),
        ("min_count", 2),
        ("tokenizer", "english"),
    ],
)
def test_another_recipe_is_named(
    begun: Path, text: Path, capsys: pytest.CaptureFixture[str], name: str, value: object
) -> None:
    before = {path: path.read_bytes() for path in begun.rglob("*") if path.is_file()}
    message = refused(capsys, "pretrain", text, "--out", begun, *small_flags(**{name: value}))
    assert f"was begun with {name} = " in message
    assert "choose another --out, or the same settings to resume" in message
    assert before == {path: path.read_bytes() for path in begun.rglob("*") if path.is_file()}


def test_another_text_is_refused(
    begun: Path, text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_text(text, seed=2)
    message = refused(capsys, "pretrain", text, "--out", begun, *small_flags(checkpoint_every=2))
    assert "(texts differ)" in message


def test_a_damaged_checkpoint(begun: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("pretrain", text, "--out", begun, *small_flags(checkpoint_every=2))
    last = begun / "last.safetensors"
    content = last.read_bytes()
    for damaged in (
        b"",
        content[:4],
        content[:100],
        content[: len(content) // 2],
        content[:-1],
        content + b"\0",
        b"\x9c" * len(content),
        content[:8] + b"\x9c" * (len(content) - 8),
    ):
        last.write_bytes(damaged)
        message = refused(capsys, *arguments)
        assert f"{last} cannot be read" in message
        assert "remove it to begin this run again" in message
        assert last.read_bytes() == damaged
    last.unlink()
    assert run_elmore([str(argument) for argument in arguments]) == 0


def test_what_a_kill_leaves_is_not_read(begun: Path, text: Path, tmp_path: Path) -> None:
    for name in ("run.json", "curve.png"):
        (begun / f"{name}.part").write_bytes(b"half a file")
    checkpoints = ("last.safetensors.part", "best.safetensors.part")
    for name in checkpoints:
        (begun / name).mkdir()
        (begun / name / name).write_bytes(b"half a file")
    for name in ("corpus.kil_led1.part", "model.kil_led2.part"):
        (begun / name / "new").mkdir(parents=True)
        (begun / name / "elmore-unfinished").touch()
        (begun / name / "new/config.json").write_bytes(b"half a file")
    with (begun / "metrics.jsonl").open("ab") as metrics:
        metrics.write(b'{"update": 4, "tok')
    recipe = small(checkpoint_every=2)
    pretrain([text], begun, recipe)
    pretrain([text], tmp_path / "whole", recipe)
    check_same(begun, tmp_path / "whole")


@pytest.mark.parametrize("n_bytes", [0, 150, 200])
def test_metrics_cut_short_by_a_power_failure(
    begun: Path, text: Path, tmp_path: Path, n_bytes: int
) -> None:
    recipe = small(checkpoint_every=2)
    metrics = begun / "metrics.jsonl"
    content = metrics.read_bytes()
    assert len(content) > 400
    metrics.write_bytes(content[:n_bytes] + bytes(len(content) - n_bytes))  # as some systems do
    with pytest.warns(ElmoreWarning, match="training resumes without them"):
        pretrain([text], begun, recipe)
    pretrain([text], tmp_path / "whole", recipe)
    updates = [facts["update"] for facts in read_metrics(begun)]
    all_updates = [facts["update"] for facts in read_metrics(tmp_path / "whole")]
    n_lost = len(all_updates) - len(updates)
    assert 0 < n_lost <= 2
    assert updates == all_updates[: 2 - n_lost] + all_updates[2:]
    for name in ("model/model.safetensors", "run.json"):
        assert (begun / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def as_earlier(run: Path) -> None:
    """Make of a run what earlier versions wrote: without checksums of its own files."""
    for name in ("last.safetensors", "best.safetensors"):
        with safe_open(run / name, "np") as file:
            header = {key: value for key, value in file.metadata().items() if key != "checksum"}
        save_file(dict(read_checkpoint(run / name).arrays), run / name, header)
    content = json.loads((run / "run.json").read_text())
    del content["checksum"]
    (run / "run.json").write_text(json.dumps(content))
    manifest = json.loads((run / "corpus/manifest.json").read_text())
    del manifest["checksum"]
    manifest["files"] = {name: fingerprint(run / "corpus" / name) for name in manifest["files"]}
    (run / "corpus/manifest.json").write_text(json.dumps(manifest))


def test_a_run_of_an_earlier_version_resumes(tmp_path: Path, text: Path) -> None:
    recipe = small(held_out=0.1, evaluate_every=2, checkpoint_every=2)
    with pytest.raises(CrashError):
        pretrain([text], tmp_path / "run", recipe, on_update=crash_after(5))
    as_earlier(tmp_path / "run")
    statuses = {file.name: file.has_checksum for file in verify_run(tmp_path / "run")}
    assert not statuses["run.json"]
    assert not statuses["last.safetensors"]
    assert statuses["corpus/train-00000.shard"]
    pretrain([text], tmp_path / "run", recipe)
    pretrain([text], tmp_path / "whole", recipe)
    check_same(tmp_path / "run", tmp_path / "whole")


def test_one_flipped_bit(tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    recipe = small(held_out=0.1, evaluate_every=2, checkpoint_every=2)
    pretrain([text], run, recipe)
    names = [file.name for file in verify_run(run)]
    assert {"run.json", "last.safetensors", "corpus/vocab.txt", "model/vocab.txt"} <= {*names}
    assert not [file for file in verify_run(run) if file.problem]
    for name in (
        "last.safetensors", "best.safetensors", "corpus/train-00000.shard", "model/vocab.txt",
        "corpus/manifest.json",
    ):  # fmt: skip
        content = (run / name).read_bytes()
        place = len(content) - 40
        (run / name).write_bytes(
            content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        )
        problems = [file.problem for file in verify_run(run) if file.problem]
        assert any(str(run / name) in problem for problem in problems), (name, problems)
        if not name.startswith("model"):
            message = refused(capsys, "pretrain", "--out", run)
            assert str(run / name) in message
        (run / name).write_bytes(content)
    facts = (run / "run.json").read_text()
    (run / "run.json").write_text(facts.replace('"cell_dim": 16', '"cell_dim": 17'))
    message = refused(capsys, "pretrain", "--out", run)
    assert "its checksum does not match its fields; restore it, or begin again in" in message


def test_a_checkpoint_is_written_after_the_metrics_are_on_the_disk(
    tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def sync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    monkeypatch.setattr(os, "fsync", sync)
    pretrain([text], tmp_path / "run", small(checkpoint_every=2))
    saved = [place for place, name in enumerate(synced) if name == "last.safetensors"]
    assert len(saved) > 1
    for place in saved:
        assert synced[place - 1 : place + 2] == ["metrics.jsonl", "last.safetensors", "run"]


# --- processes of their own -----------------------------------------------------------------------


def wait_for_updates(folder: Path, n_updates: int) -> None:
    metrics = folder / "metrics.jsonl"
    deadline = time.monotonic() + 120
    while not metrics.exists() or metrics.read_bytes().count(b"\n") < n_updates:
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.slow
def test_ctrl_c(tmp_path: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["pretrain", text, *small_flags(n_epochs=5.0, checkpoint_every=1000)]
    process = start(*arguments, "--out", tmp_path / "run")
    wait_for_updates(tmp_path / "run", 5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    last_line = err.splitlines()[-1]
    n_done = read_checkpoint(tmp_path / "run/last.safetensors").facts["update"]
    assert last_line == (
        f"stopped; {tmp_path / 'run'} holds all {n_done} updates; "
        "the same command resumes from here"
    )
    assert "Traceback" not in err
    for folder in ("run", "whole"):
        assert run_elmore([*map(str, arguments), "--out", str(tmp_path / folder)]) == 0
    check_same(tmp_path / "run", tmp_path / "whole")
