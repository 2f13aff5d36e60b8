"""Ray gives the bytes that one process gives, and what cannot be is said in a sentence."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from elmore import Elmo
from elmore.errors import ConfigError, DataError, MissingExtraError
from elmore.scale import embed_parts, index_parts, ray_cluster
from elmore.senses.index_file import IndexConfig
from tests.scale.corpora import BLOCK_BYTES, bytes_of, write_corpus

pytest.importorskip("pyarrow", reason="needs elmore[parquet]")


def test_without_ray(tiny_elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"--ray needs an extra: pip install 'elmore\[ray"):
        embed_parts(tiny_elmo, write_corpus(tmp_path), tmp_path / "out", ray="local")
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A local Ray that says it has four CPUs."""
    ray = pytest.importorskip("ray", reason="needs elmore[ray]")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")  # tests share the machine
        patch.setenv("RAY_AUTH_MODE", "disabled")
        ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        try:
            yield ray
        finally:
            ray.shutdown()


pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


def _descendants(pid: int) -> Iterator[int]:
    """Give the processes that a process started, and those that they started."""
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            yield child
            yield from _descendants(child)


def _is_worker(pid: int) -> bool:
    return b"ray::MapWorker" in Path(f"/proc/{pid}/cmdline").read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="/proc says which process is a worker")
def test_the_same_bytes(cluster: Any, tiny_elmo: Elmo, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path)
    options: dict[str, Any] = {"block_bytes": BLOCK_BYTES}
    embed_parts(tiny_elmo, corpus, tmp_path / "one", **options)
    workers: set[int] = set()

    def kill_one(n_blocks: int, record: Any) -> None:
        """Kill one of the workers, once: Ray has another take its block."""
        if workers:
            return
        workers.update(pid for pid in _descendants(os.getpid()) if _is_worker(pid))
        os.kill(min(workers), signal.SIGKILL)

    embed_parts(tiny_elmo, corpus, tmp_path / "ray", **options, ray="auto", on_part=kill_one)
    assert workers
    assert bytes_of(tmp_path / "ray") == bytes_of(tmp_path / "one")


@pytest.mark.slow
def test_an_index_and_an_error_of_a_worker(cluster: Any, tiny_elmo: Elmo, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, 20)
    config = IndexConfig(layers=(1,))
    options: dict[str, Any] = {"block_bytes": BLOCK_BYTES}
    index_parts(tiny_elmo, corpus, tmp_path / "one", config, **options)
    index_parts(tiny_elmo, corpus, tmp_path / "ray", config, **options, ray="auto")
    assert bytes_of(tmp_path / "ray") == bytes_of(tmp_path / "one")
    (tmp_path / "bad.txt").write_bytes(b"\xff\n")
    with pytest.raises(DataError, match="is not UTF-8"):
        embed_parts(tiny_elmo, [tmp_path / "bad.txt"], tmp_path / "bad", ray="auto")
    assert not (tmp_path / "bad").exists()


@pytest.mark.slow
@pytest.mark.parametrize("address", ["nowhere", "ray://127.0.0.1:1"])
def test_no_cluster_at_the_address(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="needs elmore[ray]")
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)  # of the cluster of the other tests
    with pytest.raises(ConfigError, match=r"--ray is 'nowhere'|there is no Ray cluster at ray://"):
        next(ray_cluster.run_on_ray(None, [0], address))  # type: ignore[arg-type]
