"""How fast `elmore serve` is, beside `Elmo` in its own process, in one run.

    python benchmarks/serve.py --out build/serve --page docs/results.md    # 10,000 requests
    python benchmarks/serve.py --requests 200 --clients 1 8

Each client sends one sentence at a time over a connection of its own and waits for the answer:
1, 8 and 64 of them, batching on and off, vectors as JSON numbers and as base64. The clients are a
process of their own, on the same cores, so the CPU time of either side is measured too. In
process: the same sentences, `Elmo.encode_tokens` on 64 at a time, and on one at a time, measured in
turn with the server. Every figure is from words that are cached.
"""

import argparse
import json
import math
import os
import platform
import re
import selectors
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from elmore import Elmo
from elmore.engine.parallel import n_threads

ROOT = Path(__file__).resolve().parents[1]
TEXTS = [
    line
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for line in page.read_text(encoding="utf-8").splitlines()
    if 60 < len(line) < 140 and line[0].isalpha()
][:256]
ENCODINGS = ("float", "base64")
MARKS = ("<!-- serve -->", "<!-- /serve -->")


# --- clients --------------------------------------------------------------------------------------


@dataclass
class Client:
    """One connection: sends a request, waits for the whole answer, sends the next."""

    requests: Iterator[bytes]
    connection: socket.socket
    sent_at: float = 0.0
    n_missing: int = 0
    """Bytes of the answer that have not come yet; 0 before its head has been read."""

    def send(self) -> bool:
        """Send the next request, if there is one."""
        request = next(self.requests, None)
        if request is None:
            return False
        self.sent_at = time.perf_counter()
        self.connection.sendall(request)
        return True


def clients(port: int, n_clients: int, n_requests: int, encoding: str) -> dict[str, Any]:
    """Let clients share the requests, and return what each took.

    One thread waits for all connections and looks at nothing but the head of an answer: on a
    machine that it shares with the server it should cost little.
    """
    requests = [_request({"texts": [text], "encoding": encoding}) for text in TEXTS]
    latencies: list[float] = []
    statuses: list[int] = []
    buffer = bytearray(2**20)
    view = memoryview(buffer)
    start, start_cpu = time.perf_counter(), time.process_time()
    with selectors.DefaultSelector() as selector:
        for c in range(n_clients):
            share = (requests[k % len(requests)] for k in range(c, n_requests, n_clients))
            client = Client(share, socket.create_connection(("127.0.0.1", port)))
            selector.register(client.connection, selectors.EVENT_READ, client)
            client.send()
        while selector.get_map():
            for key, _ in selector.select():
                client = key.data
                n = client.connection.recv_into(buffer)
                assert n, "the server closed a connection"
                if client.n_missing == 0:
                    while (end := buffer.find(b"\r\n\r\n", 0, n)) < 0:
                        n += client.connection.recv_into(view[n:])
                    head = bytes(view[:end])
                    length = re.search(rb"(?i)content-length: (\d+)", head)
                    assert length, head
                    client.n_missing = end + 4 + int(length[1])
                    statuses.append(int(head.split(b" ", 2)[1]))
                client.n_missing -= n
                if client.n_missing == 0:
                    latencies.append(time.perf_counter() - client.sent_at)
                    if not client.send():
                        selector.unregister(client.connection)
                        client.connection.close()
    return {
        "seconds": time.perf_counter() - start,
        "cpu seconds": time.process_time() - start_cpu,
        "latencies": latencies,
        "statuses": statuses,
    }


def _request(content: dict[str, Any]) -> bytes:
    body = json.dumps(content).encode()
    head = (
        "POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


# --- the server -----------------------------------------------------------------------------------


class Server:
    """`elmore serve` in a process of its own."""

    def __init__(self, model: str, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "elmore", "serve", "-m", model, "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        found = re.search(r":(\d+) ", self.process.stdout.readline())
        assert found, "the server did not start"
        self.port = int(found[1])

    def load(self, n_clients: int, n_requests: int, encoding: str) -> dict[str, Any]:
        """Send requests from another process."""
        arguments = ["--client", str(self.port), str(n_clients), str(n_requests), encoding]
        done = subprocess.run(
            [sys.executable, __file__, *arguments], capture_output=True, text=True, check=True
        )
        return dict(json.loads(done.stdout))

    def cpu_seconds(self) -> float:
        """Return the CPU time of all its threads so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait()


# --- measuring ------------------------------------------------------------------------------------


def in_process(elmo: Elmo, n_at_once: int) -> float:
    """Return tokens/s of `Elmo`, tokenizing included."""
    elmo.encode_tokens(TEXTS)
    speeds = []
    for _ in range(3):
        start, n_tokens = time.perf_counter(), 0
        for first in range(0, len(TEXTS), n_at_once):
            some = elmo.encode_tokens(TEXTS[first : first + n_at_once])
            n_tokens += sum(len(text.tokens) for text in some)
        speeds.append(n_tokens / (time.perf_counter() - start))
    return statistics.median(speeds)


def measure(model: str, all_clients: list[int], n_requests: int) -> dict[str, Any]:
    elmo = Elmo.from_pretrained(model)
    tokens = float(np.mean([len(text.tokens) for text in elmo.encode_tokens(TEXTS)]))
    speeds: dict[int, list[float]] = {1: [], 64: []}
    n_each = math.ceil(n_requests / (len(all_clients) * len(ENCODINGS) * 2))
    rows, memory, statuses = [], {}, []
    for batching in (True, False):
        with Server(model, *([] if batching else ["--max-batch-tokens", "1"])) as server:
            for encoding in ENCODINGS:  # words are cached, memory is taken
                server.load(max(all_clients), 2 * len(TEXTS), encoding)
            before = server.megabytes()
            for encoding in ENCODINGS:
                for n, found in speeds.items():
                    found.append(in_process(elmo, n))
                for n_clients in all_clients:
                    cpu_before = server.cpu_seconds()
                    loaded = server.load(n_clients, n_each, encoding)
                    cpu_s = server.cpu_seconds() - cpu_before
                    statuses += loaded["statuses"]
                    p50, p99 = np.percentile(loaded["latencies"], [50, 99]) * 1000
                    rows.append(
                        {
                            "batching": batching, "encoding": encoding, "clients": n_clients,
                            "requests/s": n_each / loaded["seconds"], "p50 ms": p50, "p99 ms": p99,
                            "tokens/s": tokens * n_each / loaded["seconds"],
                            "server CPU ms/request": 1000 * cpu_s / n_each,
                            "client CPU ms/request": 1000 * loaded["cpu seconds"] / n_each,
                        }
                    )  # fmt: skip
                    print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
            memory["on" if batching else "off"] = {"start MB": before, "end MB": server.megabytes()}
    for n, found in speeds.items():
        found.append(in_process(elmo, n))
    whole = statistics.mean(speeds[64])
    for row in rows:
        row["of in process"] = row["tokens/s"] / whole
    return {
        "tokens in a sentence": tokens,
        "in process, tokens/s": {f"{n} at a time": statistics.mean(x) for n, x in speeds.items()},
        "served": rows,
        "requests": len(statuses),
        "5xx": sum(status >= 500 for status in statuses),
        "not 200": sum(status != 200 for status in statuses),
        "memory": memory,
    }


def markdown(results: dict[str, Any]) -> str:
    """Return the section of docs/results.md."""
    whole = results["in process, tokens/s"]
    lines = [
        "`python benchmarks/serve.py --out build/serve --page docs/results.md`, "
        f"{results['date']}, {results['cores']} cores, {results['threads']} threads, "
        f"`{results['model']}`, "
        f"sentences of {results['tokens in a sentence']:.0f} tokens, {results['requests']:,} "
        f"requests, {results['not 200']} of them not answered with 200. In process: "
        f"{whole['64 at a time']:,.0f} tokens/s for 64 sentences at a time, "
        f"{whole['1 at a time']:,.0f} for one.",
        "",
        "| clients | batching | vectors | requests/s | p50, ms | p99, ms | tokens/s "
        "| of in process | CPU per request, server + client, ms |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in results["served"]:
        lines.append(
            f"| {row['clients']} | {'on' if row['batching'] else 'off'} "
            f"| {'base64' if row['encoding'] == 'base64' else 'JSON numbers'} "
            f"| {row['requests/s']:,.0f} | {row['p50 ms']:,.0f} | {row['p99 ms']:,.0f} "
            f"| {row['tokens/s']:,.0f} | {row['of in process']:.0%} "
            f"| {row['server CPU ms/request']:.2f} + {row['client CPU ms/request']:.2f} |"
        )
    memory = results["memory"]
    lines += [
        "",
        "Memory of the server at the start and at the end: "
        + ", ".join(
            f"{memory[mode]['start MB']:,.0f} and {memory[mode]['end MB']:,.0f} MB "
            f"with batching {mode}"
            for mode in memory
        )
        + ".",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="en")
    parser.add_argument("--clients", nargs="+", type=int, default=[1, 8, 64])
    parser.add_argument("--requests", type=int, default=10_000, help="in all")
    parser.add_argument("--out", type=Path, help="write OUT.json")
    parser.add_argument("--page", type=Path, help="the page to put the table into")
    parser.add_argument("--client", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.client:
        port, n_clients, n_requests, encoding = arguments.client
        print(json.dumps(clients(int(port), int(n_clients), int(n_requests), encoding)))
        return
    results = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "model": arguments.model,
        "threads": n_threads(),
        **measure(arguments.model, arguments.clients, arguments.requests),
    }
    text = json.dumps(results, indent=2)
    print(text)
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.with_suffix(".json").write_text(text + "\n")
    if arguments.page:
        start, end = MARKS
        before, _, rest = arguments.page.read_text("utf-8").partition(start)
        page = f"{before}{start}\n{markdown(results)}\n{end}{rest.partition(end)[2]}"
        arguments.page.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
