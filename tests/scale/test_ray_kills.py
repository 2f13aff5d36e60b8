"""`elmore embed --ray` killed at random moments: the driver, one worker, or all of them.

Each is killed ELMORE_RAY_KILLS times, once unless it is set; `make kills` sets 10.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from elmore import Elmo
from elmore.scale import embed_parts
from tests.scale.corpora import BLOCK_BYTES, bytes_of, write_corpus
from tests.scale.local_ray import local_ray, ray_workers

pytest.importorskip("pyarrow", reason="needs elmore[parquet]")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # Ray's own
    pytest.mark.skipif(not Path("/proc/self").exists(), reason="/proc names the workers"),
]

N_KILLS = int(os.environ.get("ELMORE_RAY_KILLS", "1"))
LONGEST_S = 300


class Driver:
    """An `elmore embed --ray auto` in a process of its own."""

    def __init__(self, command: list[str], out: Path, address: str) -> None:
        self.out = out
        environment = os.environ | {"RAY_ADDRESS": address, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [*command, "--out", f"{out}/"],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.began = time.monotonic()

    def wait_until(self, is_reached: Callable[[float, int], bool]) -> bool:
        """Wait for a moment, by seconds and finished parts; return whether the end came first."""
        while self.process.poll() is None:
            seconds = time.monotonic() - self.began
            assert seconds < LONGEST_S, "the driver hangs"
            if is_reached(seconds, len(list(self.out.glob("_parts/*.json")))):
                return False
            time.sleep(0.002)
        return True

    def finish(self) -> float:
        """Wait for its end, which must be a good one; return how many seconds it took."""
        _, err = self.process.communicate(timeout=LONGEST_S)
        assert self.process.returncode == 0, err
        return time.monotonic() - self.began

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def kill_driver(driver: Driver, rng: random.Random) -> None:
    driver.kill()


def kill_worker(driver: Driver, rng: random.Random) -> None:
    """Kill one worker; Ray starts another in its place, and the driver comes to its end."""
    _kill([rng.choice(workers)] if (workers := ray_workers()) else [])


def kill_all(driver: Driver, rng: random.Random) -> None:
    workers = ray_workers()
    driver.kill()
    _kill(workers)


def _kill(pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # Ray was faster
            os.kill(pid, signal.SIGKILL)


def test_the_same_bytes_after_kills(tiny_elmo: Elmo, tiny_model: Path, tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, 300)
    embed_parts(tiny_elmo, corpus, tmp_path / "whole", block_bytes=BLOCK_BYTES)
    expected = bytes_of(tmp_path / "whole")
    n_blocks = len(expected) - 1
    command = [
        sys.executable, "-m", "elmore", "embed", *map(str, corpus), "--model", str(tiny_model),
        "--tokenizer", "whitespace", "--block-bytes", str(BLOCK_BYTES), "--ray", "auto",
    ]  # fmt: skip
    out, rng = tmp_path / "killed", random.Random(1)
    with local_ray(n_cpus=4) as ray:
        address = ray.get_runtime_context().gcs_address
        whole_s = Driver(command, out, address).finish()
        assert bytes_of(out) == expected
        shutil.rmtree(out)
        kills = [kill for kill in (kill_driver, kill_worker, kill_all) for _ in range(N_KILLS)]
        has_ended = False
        while kills or not has_ended:
            driver = Driver(command, out, address)
            has_ended = not kills or driver.wait_until(_moment(rng, whole_s, n_blocks))
            if not has_ended:
                kill = kills.pop()
                kill(driver, rng)
                has_ended = kill is kill_worker
            if has_ended:
                driver.finish()
                assert bytes_of(out) == expected
                shutil.rmtree(out)


def _moment(rng: random.Random, whole_s: float, n_blocks: int) -> Callable[[float, int], bool]:
    """Return a random moment of a run: so many seconds after its start, or so many parts."""
    limit_s, limit = rng.uniform(0, whole_s), rng.randrange(n_blocks)
    if rng.random() < 0.5:
        return lambda seconds, n_parts: seconds > limit_s
    return lambda seconds, n_parts: n_parts >= limit and n_parts > 0
