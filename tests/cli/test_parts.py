"""Folders of parts from the command line: how they are asked for, shown, verified, refused."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from elmore.corpus.parts import PartsFolder
from elmore.embed.vector_parts import VectorParts

from .conftest import Refused, Run, check_one_line, write_corpus

pytest.importorskip("pyarrow", reason="needs elmore[parquet]")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path / "corpus.txt", 20, 1)


def test_embed_info_verify(
    elmore: Run, refused: Refused, tiny_model: Path, corpus: Path, tmp_path: Path
) -> None:
    flags = ["-m", tiny_model, "--tokenizer", "whitespace", "--block-bytes", 500]
    out = f"{tmp_path}/vectors/"
    done = elmore("embed", corpus, "--out", out, *flags, "--processes", 1)
    assert (done.code, done.out, done.err) == (0, "", "")
    made = VectorParts.load(out)
    assert (made.n_texts, made.n_tokens) == (40, 240)
    (facts,) = elmore("info", out).records
    n_parts = len(made.manifest.blocks)
    assert n_parts > 1
    assert facts | {"size": 0} == {
        "vectors": out, "texts": 40, "tokens": 240, "parts": n_parts, "blocks": n_parts,
        "finished": True, "size": 0, "layers": "mix", "dtype": "float32",
        "tokenizer": "whitespace", "model": made.manifest.job["model"], "corpus": ["corpus.txt"],
    }  # fmt: skip
    checked = elmore("verify", out).records
    assert [one["status"] for one in checked] == ["ok"] * (n_parts + 1)
    # The same again, now without the slash, has nothing to do.
    assert elmore("embed", corpus, "--out", out[:-1], *flags).code == 0
    said = refused("embed", corpus, "--out", out, *flags, "--layers", "top")
    assert "was begun with another model or other options (layers changed)" in said
    (tmp_path / "vectors/part-00001.parquet").write_bytes(b"")
    said = refused("embed", corpus, "--out", out, *flags)
    assert "part-00001.parquet is damaged: it has 0 bytes" in said


@pytest.mark.parametrize("command", ["embed", "index"])
@pytest.mark.parametrize("kept", [None, "part-00001.words.txt"])
def test_an_output_that_is_removed_meanwhile(
    elmore: Run, tiny_model: Path, corpus: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, command: str, kept: str | None,
) -> None:  # fmt: skip
    out, enter = tmp_path / "out", PartsFolder.enter

    def enter_and_remove(self: PartsFolder, number: int, *arguments: Any, **options: Any) -> Any:
        made = enter(self, number, *arguments, **options)
        if number == 1:
            shutil.rmtree(out)
            if kept is not None:  # what was written while the rest was removed
                out.mkdir()
                (out / kept).touch()
        return made

    monkeypatch.setattr(PartsFolder, "enter", enter_and_remove)
    flags = ["-m", tiny_model, "--block-bytes", 500, "--processes", 1, "--out", f"{out}/"]
    done = elmore(command, corpus, *flags)
    assert (done.code, done.out) == (2, "")
    check_one_line(done.err)
    assert "was removed, or emptied, while it was written to; remove what is left" in done.err
    left = {"corpus.txt"} | ({"out", kept} if kept else set())
    assert {path.name for path in tmp_path.rglob("*")} == left


def test_an_index_by_blocks(elmore: Run, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    flags = ["-m", tiny_model, "--tokenizer", "whitespace", "--block-bytes", 500]
    assert elmore("index", corpus, "--out", tmp_path / "index", *flags, "--processes", 1).code == 0
    (facts,) = elmore("info", tmp_path / "index").records
    assert (facts["occurrences"], facts["sentences"], facts["finished"]) == (240, 40, True)
    assert elmore("verify", tmp_path / "index").code == 0


def test_addresses(elmore: Run, tiny_model: Path, corpus: Path) -> None:
    import fsspec

    store = fsspec.filesystem("memory")
    store.put_file(str(corpus), "/cli/corpus.txt")
    flags = ["-m", tiny_model, "--tokenizer", "whitespace", "--processes", 1]
    assert elmore("embed", "memory://cli/*.txt", "--out", "memory://cli/out", *flags).code == 0
    assert VectorParts.load("memory://cli/out").n_tokens == 240
    (facts,) = elmore("info", "memory://cli/out").records
    assert facts["tokens"] == 240
    records = elmore("embed", "memory://cli/corpus.txt", "-m", tiny_model).records
    assert len(records) == 40


def test_pretrain_reads_an_address(elmore: Run, corpus: Path, tmp_path: Path) -> None:
    import fsspec

    fsspec.filesystem("memory").put_file(str(corpus), "/cli/train.txt")
    done = elmore(
        "pretrain", "memory://cli/train.txt", "--out", tmp_path / "run", "--recipe", "tiny",
        "--tokenizer", "whitespace", "--n-epochs", 1, "--max-words", 20, "--processes", 1,
        "--batch-size", 4,
    )  # fmt: skip
    assert done.code == 0
    manifest = json.loads((tmp_path / "run/corpus/manifest.json").read_text())
    assert manifest["texts"] == [{"name": "train.txt", "size": corpus.stat().st_size}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{corpus}", "--out", "{tmp}/a.npz", "--processes", "2"], "end its name in /"),
        (["{corpus}", "--ray", "auto"], "end its name in /"),
        (["{corpus}", "--out", "{tmp}/out/", "--overwrite"], "--overwrite does not replace"),
        (["{corpus}", "--out", "s3://bucket/a.parquet"], "is named like a file"),
        (["a text", "--out", "{tmp}/out/"], "'a text' is no file"),
        (["{corpus}", "--out", "{tmp}/out"], "or in / for a folder of .parquet parts"),
        (["s4://bucket/a.txt"], "is at no store that is known here: Protocol not known: s4"),
        (["{corpus}", "--out", "s4://bucket/out"], "Protocol not known: s4"),
        (["{corpus}", "--out", "{tmp}/out/", "--block-bytes", "0"], "block_bytes is 0"),
        (["{corpus}", "--out", "{tmp}/out/", "--processes", "0"], "processes is 0"),
        (["{corpus}", "--out", "memory://a", "--processes", "2"], "in the memory of this process"),
    ],
)
def test_refusals(
    *, refused: Refused, tiny_model: Path, corpus: Path, tmp_path: Path, arguments: list[str],
    message: str,
) -> None:  # fmt: skip
    given = [one.format(corpus=corpus, tmp=tmp_path) for one in arguments]
    assert message in refused("embed", *given, "-m", tiny_model)
