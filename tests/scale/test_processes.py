"""One process or two, killed or not: the same bytes."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from elmore import Elmo
from elmore.embed import CorpusOptions
from elmore.errors import ConfigError, DataError
from elmore.scale import embed_parts, index_parts
from elmore.senses.index_file import IndexConfig
from tests.processes import wait_until_gone, workers_of
from tests.scale.corpora import BLOCK_BYTES, bytes_of, write_corpus

pytest.importorskip("pyarrow", reason="needs elmore[parquet]")

CONFIG = IndexConfig(layers=(1,))


@pytest.mark.slow
def test_two_processes(tiny_elmo: Elmo, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path)
    told: list[tuple[int, int]] = []
    options: dict[str, Any] = {"block_bytes": BLOCK_BYTES}
    embed_parts(tiny_elmo, corpus, tmp_path / "one", **options)
    manifest = embed_parts(
        tiny_elmo, corpus, tmp_path / "two", **options, n_processes=2,
        on_part=lambda n_blocks, record: told.append((n_blocks, record.counts["n_texts"])),
    )  # fmt: skip
    assert bytes_of(tmp_path / "two") == bytes_of(tmp_path / "one")
    assert [n_blocks for n_blocks, _ in told] == [len(manifest.blocks)] * len(manifest.blocks)
    assert sum(n_texts for _, n_texts in told) == manifest.totals["n_texts"]
    index_parts(tiny_elmo, corpus, tmp_path / "one-index", CONFIG, **options)
    index_parts(tiny_elmo, corpus, tmp_path / "two-index", CONFIG, **options, n_processes=2)
    assert bytes_of(tmp_path / "two-index") == bytes_of(tmp_path / "one-index")


PROGRAM = """
import sys
from elmore import Elmo
from elmore.scale import embed_parts

if __name__ == "__main__":
    model, out, n_processes, *corpus = sys.argv[1:]
    elmo = Elmo.from_pretrained(model, tokenizer="whitespace")
    told = lambda *_: print("part", flush=True)
    embed_parts(elmo, corpus, out, block_bytes=700, n_processes=int(n_processes), on_part=told)
"""


@pytest.mark.slow
def test_a_killed_driver_is_resumed_and_its_workers_end(
    tiny_elmo: Elmo, tiny_model: Path, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path, 300)
    embed_parts(tiny_elmo, corpus, tmp_path / "whole", block_bytes=BLOCK_BYTES)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, program, tiny_model, tmp_path / "killed", "2", *corpus]
    with subprocess.Popen([str(one) for one in command], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"part\n"
        workers = workers_of(run.pid)
        run.send_signal(signal.SIGKILL)
    assert workers
    wait_until_gone(workers)
    n_finished = len(list((tmp_path / "killed/_parts").glob("*.json")))
    assert 0 < n_finished < len(list((tmp_path / "whole").iterdir()))
    embed_parts(tiny_elmo, corpus, tmp_path / "killed", block_bytes=BLOCK_BYTES)
    assert bytes_of(tmp_path / "killed") == bytes_of(tmp_path / "whole")


@pytest.mark.slow
def test_a_killed_worker(tiny_elmo: Elmo, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path)
    out = tmp_path / "out"

    def kill(n_blocks: int, record: Any) -> None:
        for pid in workers_of(os.getpid()):
            os.kill(pid, signal.SIGKILL)

    with pytest.raises(DataError, match="a worker process was killed"):
        embed_parts(tiny_elmo, corpus, out, block_bytes=BLOCK_BYTES, n_processes=2, on_part=kill)
    embed_parts(tiny_elmo, corpus, out, block_bytes=BLOCK_BYTES)
    embed_parts(tiny_elmo, corpus, tmp_path / "whole", block_bytes=BLOCK_BYTES)
    assert bytes_of(out) == bytes_of(tmp_path / "whole")


def test_a_second_driver(tiny_elmo: Elmo, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path)
    out = tmp_path / "out"
    n_refused = 0

    def another(*_: Any) -> None:
        nonlocal n_refused
        with pytest.raises(ConfigError, match="another program is writing to"):
            embed_parts(tiny_elmo, corpus, out, block_bytes=BLOCK_BYTES)
        n_refused += 1

    manifest = embed_parts(tiny_elmo, corpus, out, block_bytes=BLOCK_BYTES, on_part=another)
    assert n_refused == len(manifest.blocks)


def test_nothing_is_left_where_nothing_can_be_resumed(tiny_elmo: Elmo, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"\xff\n")
    with pytest.raises(DataError, match="is not UTF-8"):
        embed_parts(tiny_elmo, [tmp_path / "bad.txt"], tmp_path / "out")
    with pytest.raises(DataError, match="does not exist"):
        embed_parts(tiny_elmo, [tmp_path / "none.txt"], tmp_path / "out")
    with pytest.raises(ConfigError, match="in the memory of this process"):
        embed_parts(tiny_elmo, ["memory://a"], tmp_path / "out", n_processes=2)
    with pytest.raises(ConfigError, match="n_processes is 0"):
        embed_parts(tiny_elmo, [], tmp_path / "out", n_processes=0)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.txt"]


def test_a_store_that_cannot_be_listed_is_not_empty(
    tiny_elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fsspec.filesystem("memory")
    (tmp_path / "text.txt").write_bytes(b"the bank of the river\n" * 20 + b"\xff\n")

    def embed() -> None:
        embed_parts(tiny_elmo, [tmp_path / "text.txt"], "memory://parts", block_bytes=100)

    with pytest.raises(DataError, match="is not UTF-8"):
        embed()
    before = store.find("/parts")
    assert len(before) > 3
    info = MemoryFileSystem.info

    def fail(self: Any, path: str, **options: Any) -> Any:
        if path.endswith("_parts"):
            raise OSError("503")
        return info(self, path, **options)

    monkeypatch.setattr(MemoryFileSystem, "info", fail)
    with pytest.raises(DataError):
        embed()
    assert store.find("/parts") == before
    monkeypatch.undo()
    store.rm("/parts", recursive=True)


def test_enough_is_indexed(tiny_elmo: Elmo, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path)
    ran: list[int] = []
    config = IndexConfig(layers=(1,), words=("bank",), max_per_word=3)
    found = index_parts(
        tiny_elmo, corpus, tmp_path / "few", config, block_bytes=BLOCK_BYTES,
        on_part=lambda n_blocks, record: ran.append(n_blocks),
    )  # fmt: skip
    assert (len(ran), found.facts.n_occurrences) == (1, 3)
    assert ran[0] > 1


def test_options_of_a_data_set(tiny_elmo: Elmo, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"body": "one. two."}\n')
    options = CorpusOptions(split_sentences="en", pooling="mean")
    made = embed_parts(
        tiny_elmo, [tmp_path / "a.jsonl"], tmp_path / "out", options, text_field="body"
    )
    assert made.totals == {"n_texts": 2, "n_tokens": 2}
