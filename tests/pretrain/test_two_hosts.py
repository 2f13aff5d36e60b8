"""Training on two hosts: two network namespaces with a cable between them, torchrun on each.

Needs root and iproute2, to make the namespaces; skipped where they cannot be made.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from elmore.pretrain.checkpoint import read_checkpoint
from elmore.pretrain.run import pretrain
from tests.pretrain.small_runs import small, small_flags, write_text
from tests.pretrain.test_distributed import RUN, check_close

pytestmark = pytest.mark.slow

LONG = RUN | {"n_epochs": 10.0, "checkpoint_every": 5, "learning_rate": 0.03}


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def hosts() -> Iterator[list[str]]:
    """Two namespaces: 10.77.0.1 and 10.77.0.2 reach each other and nothing else."""
    names = [f"elmore-{os.getpid()}-{number}" for number in (1, 2)]
    cables = [f"el{os.getpid() % 10_000_000}-{number}" for number in (1, 2)]
    try:
        try:
            for name in names:
                ip("netns", "add", name)
            ip("link", "add", cables[0], "type", "veth", "peer", "name", cables[1])
            for number, (name, cable) in enumerate(zip(names, cables, strict=True), start=1):
                ip("link", "set", cable, "netns", name)
                ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", cable)
                ip("-n", name, "link", "set", cable, "up")
                ip("-n", name, "link", "set", "lo", "up")
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"no network namespaces here: {error}")
        yield names
    finally:
        if shutil.which("ip"):  # what a failed test left, too
            for name in names:
                take_down(name)
                subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def torchrun(host: str, number: int, text: Path, folder: Path) -> "subprocess.Popen[str]":
    """Start the run on one of the hosts."""
    interface = subprocess.run(
        ["ip", "-n", host, "-br", "addr"], check=True, capture_output=True, text=True
    ).stdout.splitlines()[-1].split("@")[0].split()[0]  # fmt: skip
    return subprocess.Popen(
        ["ip", "netns", "exec", host, sys.executable, "-m", "torch.distributed.run",
         "--nnodes", "2", "--nproc-per-node", "1", "--node-rank", str(number),
         "--master-addr", "10.77.0.1", "--master-port", "29517",
         "-m", "elmore", "pretrain", str(text), "--out", str(folder), *small_flags(**LONG)],
        env=os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": interface},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip


def take_down(host: str) -> None:
    """Kill all processes of a host at once."""
    pids = subprocess.run(["ip", "netns", "pids", host], check=True, capture_output=True, text=True)
    for pid in pids.stdout.split():
        os.kill(int(pid), signal.SIGKILL)


def update_of(folder: Path) -> int:
    path = folder / "last.safetensors"
    return int(read_checkpoint(path).facts["update"]) if path.exists() else 0


def test_two_hosts_are_one_process(tmp_path: Path, hosts: list[str]) -> None:
    text = write_text(tmp_path / "text.txt")
    one, two = tmp_path / "one", tmp_path / "two"
    pretrain([text], one, small(**LONG))
    for lost in (0, 1):
        running = [torchrun(host, number, text, two) for number, host in enumerate(hosts)]
        before = update_of(two)
        while update_of(two) < before + 5:
            assert all(process.poll() is None for process in running), running[0].communicate()[1]
            time.sleep(0.01)
        take_down(hosts[lost])
        running[lost].communicate()
        _, err = running[1 - lost].communicate(timeout=120)
        assert running[1 - lost].returncode != 0
        assert "another process of this run has ended" in err
        assert 0 < update_of(two) < update_of(one)
    running = [torchrun(host, number, text, two) for number, host in enumerate(hosts)]
    for process in running:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    check_close(two, one)
