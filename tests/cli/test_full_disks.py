"""Outputs that do not fit: one sentence, nothing half-written, and the same command resumes."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from elmore.embed.vector_parts import VectorParts
from tests.pretrain.small_runs import write_text

from .conftest import Run, check_one_line, everything_in

pytest.importorskip("pyarrow", reason="needs elmore[parquet]")

BLOCKS = ["--block-bytes", 1000, "--processes"]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return write_text(tmp_path / "text.txt", 300)


@pytest.fixture
def vectors(elmore: Run, text: Path, tiny_model: Path, tmp_path: Path) -> str:
    out = f"{tmp_path}/vectors/"
    assert elmore("embed", text, "-m", tiny_model, "--out", out, *BLOCKS, 1).code == 0
    return out


@contextmanager
def files_of_at_most(n_bytes: int) -> Iterator[None]:
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, unlimited[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)


@pytest.mark.parametrize("n_processes", [1, 2])
@pytest.mark.parametrize("limit", [2000, 12_000])
def test_embed_to_a_folder(
    elmore: Run, text: Path, tiny_model: Path, tmp_path: Path, limit: int, n_processes: int
) -> None:
    out = tmp_path / "out"
    command = ["embed", text, "-m", tiny_model, "--out", f"{out}/", *BLOCKS, n_processes]
    with files_of_at_most(limit):
        done = elmore(*command)
    assert (done.code, done.out) == (2, "")
    check_one_line(done.err)
    assert "too large" in done.err.lower()
    assert not out.exists()  # no block fitted
    if n_processes == 1:
        assert elmore(*command).code == 0
        assert VectorParts.load(out).n_texts == 300


@pytest.mark.parametrize("name", ["v.parquet", "v.lance", "v/"])
def test_export_vectors(elmore: Run, vectors: str, tmp_path: Path, name: str) -> None:
    if name == "v.lance":
        pytest.importorskip("lancedb")
    before = everything_in(tmp_path)
    for limit in (100, 5000, 20_000):
        with files_of_at_most(limit):
            done = elmore("export-vectors", vectors, "--out", f"{tmp_path}/{name}")
        assert (done.code, done.out) == (2, ""), limit
        check_one_line(done.err)
        assert everything_in(tmp_path) == before
    assert elmore("export-vectors", vectors, "--out", f"{tmp_path}/{name}").code == 0


@pytest.mark.parametrize("name", ["v.parquet", "v.lance", "v/"])
def test_export_vectors_to_a_disk_that_is_full(
    elmore: Run, vectors: str, small_disk: Path, name: str
) -> None:
    """A file that is mapped before the disk has room for it would be the end of the process."""
    if name == "v.lance":
        pytest.importorskip("lancedb")
    ballast = small_disk / "ballast"
    for kept_free in (0, 4096, 20_000, 60_000):
        ballast.write_bytes(b"\0" * (2**20 - kept_free))
        done = elmore("export-vectors", vectors, "--out", f"{small_disk}/{name}")
        assert (done.code, done.out) == (2, ""), kept_free
        check_one_line(done.err)
        assert "No space left on device" in done.err
        assert [path.name for path in small_disk.iterdir()] == ["ballast"]


def test_a_full_disk_is_no_reason_to_give_up(
    elmore: Run, vectors: str, small_disk: Path, tmp_path: Path
) -> None:
    (small_disk / "ballast").write_bytes(b"\0" * 2**20)
    done = elmore("export-vectors", vectors, "--out", f"{small_disk}/v/")
    assert "No space left on device; make room, then run the same command again" in done.err
