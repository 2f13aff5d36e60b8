"""A Ray on this machine that says how many CPUs it has, and the processes of its workers."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def local_ray(n_cpus: int) -> Iterator[Any]:
    """Start Ray and stop it; give the module."""
    ray = pytest.importorskip("ray", reason="needs elmore[ray]")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")  # tests share the machine
        patch.setenv("RAY_AUTH_MODE", "disabled")
        ray.init(
            "local", num_cpus=n_cpus, include_dashboard=False, log_to_driver=False,
            logging_level="ERROR",
        )  # fmt: skip
        try:
            yield ray
        finally:
            ray.shutdown()


@contextmanager
def client_server() -> Iterator[str]:
    """Let clients into the Ray of this process; give their address, ray://HOST:PORT."""
    import ray

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    gcs = ray.get_runtime_context().gcs_address
    process = subprocess.Popen(
        [sys.executable, "-m", "ray.util.client.server", "--mode", "legacy", "--address", gcs,
         "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while True:
            assert process.poll() is None, "the server has ended"
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.1)
        yield f"ray://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def ray_workers() -> list[int]:
    """Return the processes of Ray Data's workers, below this process."""
    return sorted(pid for pid in _descendants(os.getpid()) if _is_worker(pid))


def _descendants(pid: int) -> Iterator[int]:
    """Give the processes that a process started, and those that they started."""
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except OSError:  # it has ended
            continue
        for child in map(int, children):
            yield child
            yield from _descendants(child)


def _is_worker(pid: int) -> bool:
    try:
        return b"ray::MapWorker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
