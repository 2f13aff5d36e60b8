"""What clients that mean harm can do to `elmore serve`, on its own machine; a line for each attack.

    python benchmarks/hostile_clients.py                  # some minutes
    python benchmarks/hostile_clients.py silent unread    # some attacks

While each attack runs, an honest client asks /embed for one sentence four times a second, over a
new connection each time: how many of its requests were answered, and how fast.
"""

import argparse
import contextlib
import http.client
import json
import os
import resource
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from elmore import Elmo

GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
SENTENCE = "We sat on the river bank and talked about money."
ATTACK_S = 40.0


class Server:
    """A process of `elmore serve`."""

    def __init__(self, n_files: int = 20_000, key: str | None = None) -> None:
        environment = {name: v for name, v in os.environ.items() if name != "ELMORE_API_KEY"}
        limited = ["sh", "-c", f'ulimit -S -n {n_files}; exec "$@"', "sh"]
        command = [*limited, sys.executable, "-m", "elmore", "serve", "--port", "0", "-m", "en"]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment | ({} if key is None else {"ELMORE_API_KEY": key}),
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().split()[3].rpartition(":")[2])

    def connect(self) -> socket.socket:
        """Return a connection."""
        made = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        made.settimeout(60)
        return made

    def ask(self, body: object) -> tuple[int, bytes]:
        """Ask /embed over a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            headers = {"Content-Type": "application/json"}
            connection.request("POST", "/embed", json.dumps(body), headers)
            response = connection.getresponse()
            return response.status, response.read()

    @property
    def resident_mb(self) -> float:
        """Memory of the process."""
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(text.partition("VmRSS:")[2].split()[0]) / 1024

    @property
    def n_sockets(self) -> int:
        """Open sockets of the process."""
        n_found = 0
        for file in Path(f"/proc/{self.process.pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                n_found += str(file.readlink()).startswith("socket:")
        return n_found

    def stop(self) -> float:
        """Stop by SIGTERM; return how many seconds it took."""
        start = time.perf_counter()
        self.process.terminate()
        _, said = self.process.communicate()
        assert (self.process.returncode, said) == (0, ""), said
        return time.perf_counter() - start


class Honest:
    """A client that asks small things and counts its answers."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.seconds: list[float] = []
        self.failures: list[str] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._over.wait(0.25):
            start = time.perf_counter()
            try:
                status, _ = self.server.ask({"texts": [SENTENCE], "encoding": "base64"})
                if status != 200:
                    raise OSError(str(status))
                self.seconds.append(time.perf_counter() - start)
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))

    def __enter__(self) -> "Honest":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def __str__(self) -> str:
        n = len(self.seconds) + len(self.failures)
        if not self.seconds:
            return f"honest: 0 of {n} answered"
        p50, last = statistics.median(self.seconds), max(self.seconds)
        return (
            f"honest: {len(self.seconds)} of {n} answered, median {1e3 * p50:.0f} ms, longest "
            f"{1e3 * last:.0f} ms {self.failures[:2] or ''}"
        )


def many(n: int, sent: bytes, n_files: int) -> str:
    """Open connections that send a part of a request, and nothing more."""
    server = Server(n_files)
    before, most = server.n_sockets, 0
    mb = server.resident_mb
    with Honest(server) as honest, contextlib.ExitStack() as stack:
        n_refused, start = 0, time.monotonic()
        for number in range(n):
            try:
                stack.enter_context(server.connect()).sendall(sent)
            except OSError:
                n_refused += 1
            if number % 100 == 0:
                most = max(most, server.n_sockets - before)
        end = (connected := time.monotonic()) + ATTACK_S
        while time.monotonic() < end:
            most = max(most, server.n_sockets - before)
            time.sleep(0.5)
        left, grown = server.n_sockets - before, server.resident_mb - mb
    return (
        f"{n:,} connections in {connected - start:.1f} s, at most {most:,} open at once, "
        f"{left} after {ATTACK_S:.0f} s, "
        f"{n_refused} refused, +{grown:.0f} MB; {honest}; stopped in {server.stop():.1f} s"
    )


def flood(n_threads: int) -> str:
    """Open connections with half a request as fast as can be, again and again."""
    server, end = Server(), time.monotonic() + ATTACK_S
    counts = [0] * n_threads

    def attack(number: int) -> None:
        held: list[socket.socket] = []
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                held.append(server.connect())
                held[-1].sendall(GET + b"X-")
                counts[number] += 1
            if len(held) > 600:
                held.pop(0).close()
        for one in held:
            one.close()

    threads = [threading.Thread(target=attack, args=(number,)) for number in range(n_threads)]
    with Honest(server) as honest:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return f"{sum(counts):,} connections; {honest}; stopped in {server.stop():.1f} s"


def header() -> str:
    """Send one header of 200 MB."""
    server = Server()
    mb, n_sent, answer = server.resident_mb, 0, b""
    with Honest(server) as honest, server.connect() as connection:
        connection.sendall(GET + b"X: ")
        try:
            while n_sent < 200_000_000:
                n_sent += connection.send(b"x" * 1_000_000)
        except OSError:
            pass
        with contextlib.suppress(OSError):
            answer = connection.recv(1000)
        grown = server.resident_mb - mb
        time.sleep(2)
    status = answer[9:12].decode() or "closed"
    return (
        f"{n_sent / 1e6:.0f} MB sent, answer {status}, +{grown:.0f} MB; {honest}; "
        f"stopped in {server.stop():.1f} s"
    )


def unread(n: int) -> str:
    """Ask for answers of megabytes, and never read them."""
    server = Server()
    body = json.dumps({"texts": ["the bank " * 1000], "layers": "all"}).encode()
    head = f"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
    asked = head.encode() + b"Content-Type: application/json\r\n\r\n" + body
    n_bytes = len(server.ask(json.loads(body))[1])
    before, mb, most_mb = server.n_sockets, server.resident_mb, 0.0
    start = time.monotonic()
    with Honest(server) as honest, contextlib.ExitStack() as stack:
        for _ in range(n):
            stack.enter_context(server.connect()).sendall(asked)
        time.sleep(5)
        while server.n_sockets > before + 2 and time.monotonic() < start + 300:
            most_mb = max(most_mb, server.resident_mb - mb)
            time.sleep(0.5)
        seconds, left = time.monotonic() - start, server.resident_mb - mb
    return (
        f"{n} answers of {n_bytes / 1e6:.0f} MB, +{most_mb:.0f} MB, all closed after "
        f"{seconds:.0f} s with +{left:.0f} MB; {honest}; stopped in {server.stop():.1f} s"
    )


def killed() -> str:
    """Kill the server with connections open, and start it again on the same port."""
    server = Server()
    open_ones = [server.connect() for _ in range(100)]
    for one in open_ones:
        one.sendall(GET)
    server.process.send_signal(signal.SIGKILL)
    server.process.communicate()
    start = time.perf_counter()
    command = [sys.executable, "-m", "elmore", "serve", "--port", str(server.port), "-m", "en"]
    server.process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert server.process.stdout is not None
    assert str(server.port) in server.process.stdout.readline()
    seconds = time.perf_counter() - start
    status, _ = server.ask({"texts": [SENTENCE]})
    for one in open_ones:
        one.close()
    return f"answers {status} on its port again {seconds:.1f} s after SIGKILL; " + (
        f"stopped in {server.stop():.1f} s"
    )


def key(n: int) -> str:
    """Time wrong keys: wrong in their first letter, in their last, or of another length."""
    right = "k" * 32
    server = Server(key=right)
    wrong = {"first": "x" + right[1:], "last": right[:-1] + "x", "length": right[:-1]}
    seconds: dict[str, list[float]] = {name: [] for name in wrong}
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    for _ in range(n):
        for name, one in wrong.items():
            start = time.perf_counter()
            connection.request("GET", "/models", headers={"Authorization": f"Bearer {one}"})
            response = connection.getresponse()
            response.read()
            seconds[name].append(time.perf_counter() - start)
            assert response.status == 401
    connection.close()
    server.stop()
    found = {name: np.array(some) * 1e6 for name, some in seconds.items()}
    spread = np.median(np.abs(found["first"] - np.median(found["first"])))
    return f"{n:,} of each, median µs: " + ", ".join(
        f"{name} {np.median(some):.1f}" for name, some in found.items()
    ) + f"; median deviation {spread:.1f}"  # fmt: skip


def equality(n: int) -> str:
    """Compare the vectors of the server, asked by 16 clients at once, with those of the library."""
    root = Path(__file__).resolve().parents[1]
    lines = [
        line for page in sorted((root / "docs").rglob("*.md"))
        for line in page.read_text(encoding="utf-8").splitlines() if line.strip()
    ][:n]  # fmt: skip
    server, elmo, worst, n_equal = Server(), Elmo.from_pretrained("en"), 0.0, 0
    found: dict[int, dict[str, list[object]]] = {}

    def ask(first: int) -> None:
        for number in range(first, n, 16):
            _, content = server.ask({"texts": [lines[number]], "layers": "all"})
            (found[number],) = json.loads(content)["results"]

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, one in enumerate(elmo.encode_tokens(lines, layers="all")):
        assert found[number]["tokens"] == list(one.tokens)
        vectors = np.array(found[number]["vectors"], np.float32)
        n_equal += np.array_equal(vectors, one.vectors)
        worst = max(worst, float(np.abs(vectors - one.vectors).max(initial=0)))
    server.stop()
    return f"{n} texts: {n_equal} with the same bits, largest difference {worst:.1e}"


ATTACKS: dict[str, Callable[[], str]] = {
    "silent": lambda: many(1_100, b"", 1024),
    "half": lambda: many(1_100, GET + b"X-", 1024),
    "half-10000": lambda: many(10_000, GET + b"X-", 20_000),
    "body": lambda: many(1_100, b"POST /embed HTTP/1.1\r\nHost: localhost\r\n"
                         b"Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{", 20_000),
    "flood": lambda: flood(4),
    "header": header,
    "unread": lambda: unread(20),
    "killed": killed,
    "key": lambda: key(5_000),
    "equality": lambda: equality(1_000),
}  # fmt: skip


def chosen() -> Iterator[str]:
    """Return the attacks of the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("attacks", nargs="*", choices=[*ATTACKS, []])
    yield from parser.parse_args().attacks or ATTACKS


def main() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for name in chosen():
        print(f"{name}: {ATTACKS[name]()}", flush=True)


if __name__ == "__main__":
    main()
