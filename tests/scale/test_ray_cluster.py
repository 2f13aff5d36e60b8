"""Ray gives the bytes that one process gives, and what cannot be is said in a sentence."""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmore import Elmo
from elmore.embed.block_job import BlockJob
from elmore.errors import ConfigError, DataError, MissingExtraError
from elmore.scale import embed_parts, index_parts, ray_cluster
from elmore.senses.index_file import IndexConfig
from tests.scale.corpora import BLOCK_BYTES, bytes_of, write_corpus
from tests.scale.local_ray import client_server, local_ray, ray_workers

pytest.importorskip("pyarrow", reason="needs elmore[parquet]")


def test_without_ray(tiny_elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"--ray needs an extra: pip install 'elmore\[ray"):
        embed_parts(tiny_elmo, write_corpus(tmp_path), tmp_path / "out", ray="local")
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[int]:
    """A Ray on this machine; gives the number of its workers."""
    with local_ray(n_cpus=request.param):
        yield request.param - 1


pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="/proc says which process is a worker")
@pytest.mark.parametrize("cluster", [2, 4], indirect=True)
def test_the_same_bytes(
    cluster: int, tiny_elmo: Elmo, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "elmore.scale")
    corpus = write_corpus(tmp_path)
    options: dict[str, Any] = {"block_bytes": BLOCK_BYTES}
    embed_parts(tiny_elmo, corpus, tmp_path / "one", **options)
    workers: set[int] = set()

    def kill_one(n_blocks: int, record: Any) -> None:
        """Kill one of the workers, once: Ray has another take its block."""
        if workers:
            return
        workers.update(ray_workers())
        os.kill(min(workers), signal.SIGKILL)

    embed_parts(tiny_elmo, corpus, tmp_path / "ray", **options, ray="auto", on_part=kill_one)
    assert workers
    assert f"{cluster + 1} CPUs: {cluster} workers of one each, and one CPU stays" in caplog.text
    assert bytes_of(tmp_path / "ray") == bytes_of(tmp_path / "one")


@pytest.mark.slow
@pytest.mark.parametrize("cluster", [4], indirect=True)
def test_an_index_and_an_error_of_a_worker(cluster: int, tiny_elmo: Elmo, tmp_path: Path) -> None:
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
@pytest.mark.parametrize("cluster", [4], indirect=True)
def test_from_a_machine_outside_the_cluster(
    cluster: int, tiny_elmo: Elmo, tiny_model: Path, tmp_path: Path
) -> None:
    corpus = write_corpus(tmp_path, 20)
    config = IndexConfig(layers=(2,))
    index_parts(tiny_elmo, corpus, tmp_path / "one", config, block_bytes=BLOCK_BYTES)
    flags = ["-m", tiny_model, "--tokenizer", "whitespace", "--block-bytes", BLOCK_BYTES]
    flags += ["--layers", "top", "--out", tmp_path / "ray"]
    with client_server() as address:
        done = subprocess.run(
            list(map(str, [sys.executable, "-m", "elmore", "index", *corpus, *flags,
                           "--ray", address])),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Ray has 4 CPUs: 3 workers of one each" in done.stderr
    assert bytes_of(tmp_path / "ray") == bytes_of(tmp_path / "one")


class Hostile:
    """Runs code when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return pytest.fail, ("an error of a worker was unpickled",)


@pytest.mark.parametrize("error", [
    DataError("a.txt, line 2 is not UTF-8"), OSError(28, "No space left on device", "a.txt"),
    pickle.dumps(Hostile()),
], ids=["elmore's", "the system's", "hostile"])  # fmt: skip
def test_errors_of_workers_cross_as_text(error: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="needs elmore[ray]")

    class Failing:
        def run(self, number: int) -> Any:
            raise error

    def rows(*_: Any) -> Iterator[dict[str, Any]]:
        if isinstance(error, bytes):
            yield {"block": 0, "record": b"", "error": error}
        batch = ray_cluster.BlockWorker(Failing())({"block": np.array([0])})  # type: ignore[arg-type]
        assert isinstance(batch["error"][0], str)
        yield {name: column[0] for name, column in batch.items()}

    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    monkeypatch.setattr(ray_cluster, "_rows", rows)
    with pytest.raises(DataError, match=r"is not UTF-8|^a.txt: No space left on device$|^b"):
        next(ray_cluster.run_on_ray(None, [0], "local"))  # type: ignore[arg-type]


def test_a_ray_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="needs elmore[ray]")

    def fail(*_: Any, **__: Any) -> None:
        raise Exception("The current node timed out\nduring startup.")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setattr(ray, "init", fail)
    with pytest.raises(
        ConfigError, match=r"did not start .*node timed out during startup\.\); try"
    ):
        next(ray_cluster.run_on_ray(None, [0], "local"))  # type: ignore[arg-type]


def test_a_cluster_that_gives_up(
    tiny_elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ray = pytest.importorskip("ray", reason="needs elmore[ray]")

    def rows(ray: Any, job: BlockJob, numbers: Sequence[int]) -> Iterator[dict[str, Any]]:
        batch = ray_cluster.BlockWorker(job)({"block": np.array(numbers[:1])})
        yield {name: column[0] for name, column in batch.items()}
        raise ray.exceptions.RaySystemError("the head is gone")

    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    monkeypatch.setattr(ray_cluster, "_rows", rows)
    corpus, out = write_corpus(tmp_path), tmp_path / "out"
    options: dict[str, Any] = {"block_bytes": BLOCK_BYTES}
    with pytest.raises(DataError, match=r"gave up .*the head is gone.*finished parts are kept"):
        embed_parts(tiny_elmo, corpus, out, **options, ray="auto")
    assert [path.name for path in out.glob("part-*")] == ["part-00000.parquet"]
    embed_parts(tiny_elmo, corpus, out, **options)
    embed_parts(tiny_elmo, corpus, tmp_path / "one", **options)
    assert bytes_of(out) == bytes_of(tmp_path / "one")


@pytest.mark.slow
@pytest.mark.parametrize("address", ["nowhere", "ray://127.0.0.1:1"])
def test_no_cluster_at_the_address(address: str, tiny_model: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="needs elmore[ray]")
    corpus, out = write_corpus(tmp_path), tmp_path / "out"
    # A process of its own: a client of Ray that found no cluster cannot be shut down.
    done = subprocess.run(
        list(map(str, [sys.executable, "-m", "elmore", "embed", *corpus, "-m", tiny_model,
                       "--tokenizer", "whitespace", "--out", f"{out}/", "--ray", address])),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "--ray is 'nowhere'" in done.stderr or "there is no Ray cluster at ray://" in done.stderr
    assert not out.exists()
