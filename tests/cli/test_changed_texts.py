"""Every command that reads a text refuses one that changes meanwhile, and claims nothing of it."""

from pathlib import Path

import pytest

from elmore.corpus.parts import read_parts
from tests.corpus.changed_texts import change_at_read
from tests.pretrain.small_runs import small_flags, write_text

from .conftest import Run, check_one_line

BLOCKS = ["--block-bytes", "300", "--processes", "1"]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return write_text(tmp_path / "text.txt")


def refuse(elmore: Run, *arguments: object) -> None:
    done = elmore(*arguments)
    assert (done.code, done.out) == (2, "")
    check_one_line(done.err)
    assert "text.txt changed while it was read" in done.err


@pytest.mark.parametrize("how", ["emptied", "replaced"])
@pytest.mark.parametrize("suffix", [".jsonl", ".npz", ".h5", ".parquet"])
def test_embed_to_a_file(
    elmore: Run, text: Path, tiny_model: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, how: str, suffix: str,
) -> None:  # fmt: skip
    changed = change_at_read(monkeypatch, text, how, 12)
    refuse(elmore, "embed", text, "-m", tiny_model, "--out", tmp_path / f"out{suffix}")
    assert changed
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


@pytest.mark.parametrize("how", ["emptied", "replaced"])
@pytest.mark.parametrize("n_processes", [1, 2])
def test_embed_to_a_folder(
    elmore: Run, text: Path, tiny_model: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, how: str, n_processes: int,
) -> None:  # fmt: skip
    pytest.importorskip("pyarrow")
    if n_processes == 1:
        changed = change_at_read(monkeypatch, text, how, 12)
    else:  # a worker reads in a process of its own
        from elmore.scale import run
        from tests.corpus.changed_texts import change

        changed, records = [], run._records

        def change_first(*arguments: object) -> object:
            change(text, how)
            changed.append(1)
            return records(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(run, "_records", change_first)
    out = tmp_path / "out"
    flags = ["-m", tiny_model, "--block-bytes", "300", "--processes", n_processes]
    refuse(elmore, "embed", text, "--out", f"{out}/", *flags)
    assert changed
    manifest = read_parts(out) if out.exists() else None
    assert manifest is None or manifest.parts is None
    if out.exists():
        assert elmore("verify", out).code != 0


@pytest.mark.parametrize("number", [2, 12])  # while it is hashed, and while it is indexed
def test_index(
    elmore: Run, text: Path, tiny_model: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, number: int,
) -> None:  # fmt: skip
    changed = change_at_read(monkeypatch, text, "replaced", number)
    out = tmp_path / "out"
    refuse(elmore, "index", text, "-m", tiny_model, "--layers", "top", "--out", out, *BLOCKS)
    assert changed
    assert not (out / "index.json").exists()


@pytest.mark.parametrize("number", [2, 12])
def test_pretrain(
    elmore: Run, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    changed = change_at_read(monkeypatch, text, "replaced", number)
    refuse(elmore, "pretrain", text, *small_flags(n_epochs=1.0), "--out", tmp_path / "run")
    assert changed
    assert not (tmp_path / "run/model").exists()
    assert not (tmp_path / "run/corpus").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("embed", "-m", "MODEL"),
        ("skipgram", "--out", "OUT", "--dim", "4", "--min-count", "1", "--n-epochs", "1"),
        ("calibrate", "MODEL", "--out", "OUT"),
        ("perplexity", "LM"),
        ("doctor", *small_flags(), "--measure-s", "0"),
        (
            "train",
            "tag",
            "--out",
            "OUT",
            "--format",
            "conll",
            "--elmo",
            "none",
            "--static",
            "STATIC",
        ),
    ],
    ids=lambda command: command[0],
)
def test_one_reading(
    elmore: Run, text: Path, tiny_model: Path, language_model: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...],
) -> None:  # fmt: skip
    if command[0] == "skipgram":
        pytest.importorskip("gensim")
    places = {
        "MODEL": tiny_model, "LM": language_model, "OUT": tmp_path / "out",
        "STATIC": tmp_path / "words.txt",
    }  # fmt: skip
    asked = [places.get(word, word) for word in command]
    if command[0] == "train":
        (tmp_path / "words.txt").write_text("a 1 2\n")
        text.write_text("a\tX\nb\tY\n\n" * 60)
        asked += ["--train", text]
    else:
        asked.append(text)
    changed = change_at_read(monkeypatch, text, "replaced", 5)
    done = elmore(*asked)
    assert (done.code, "text.txt changed while it was read" in done.err) == (2, True), done
    assert changed
    assert not (tmp_path / "out").exists()
