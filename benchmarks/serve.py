"""How fast `elmore serve` is, beside `Elmo` in its own process, in one run.

    python benchmarks/serve.py --out build/serve        # JSON; 10,000 requests
    python benchmarks/serve.py --requests 200 --clients 1 8

Each client sends one sentence at a time over a connection of its own and waits for the answer:
1, 8 and 64 of them, batching on and off, vectors as JSON numbers and as base64. The clients are a
process of their own. In process: the same sentences, `Elmo.encode_tokens` on 64 at a time, and on
one at a time, measured before and after. Every figure is from words that are cached.
"""

import argparse
import asyncio
import json
import platform
import re
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from elmore import Elmo

ROOT = Path(__file__).resolve().parents[1]
TEXTS = [
    line
    for page in sorted((ROOT / "docs").rglob("*.md"))
    for line in page.read_text(encoding="utf-8").splitlines()
    if 60 < len(line) < 140 and line[0].isalpha()
][:256]
ENCODINGS = ("float", "base64")


# --- clients --------------------------------------------------------------------------------------


async def client(
    port: int, bodies: list[bytes], latencies: list[float], statuses: list[int]
) -> None:
    """Send bodies one after the other over one connection, as little Python as can be."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for body in bodies:
        start = time.perf_counter()
        head = (
            "POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)content-length: (\d+)", answer)
        assert length, answer
        await reader.readexactly(int(length[1]))
        latencies.append(time.perf_counter() - start)
        statuses.append(int(answer.split(b" ", 2)[1]))
    writer.close()
    await writer.wait_closed()


async def clients(port: int, n_clients: int, n_requests: int, encoding: str) -> dict[str, Any]:
    """Let clients share the requests, and return what each took."""
    bodies = [json.dumps({"texts": [text], "encoding": encoding}).encode() for text in TEXTS]
    latencies: list[float] = []
    statuses: list[int] = []
    shares = [[bodies[k % len(bodies)] for k in range(c, n_requests, n_clients)]
              for c in range(n_clients)]  # fmt: skip
    start = time.perf_counter()
    await asyncio.gather(*(client(port, share, latencies, statuses) for share in shares))
    return {"seconds": time.perf_counter() - start, "latencies": latencies, "statuses": statuses}


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
    speeds = {n: [in_process(elmo, n)] for n in (1, 64)}
    n_each = max(1, n_requests // (len(all_clients) * len(ENCODINGS) * 2))
    rows, memory, statuses = [], {}, []
    for batching in (True, False):
        with Server(model, *([] if batching else ["--max-batch-tokens", "1"])) as server:
            server.load(8, len(TEXTS), "base64")  # words are cached, the engine is made
            before = server.megabytes()
            for encoding in ENCODINGS:
                for n_clients in all_clients:
                    found = server.load(n_clients, n_each, encoding)
                    statuses += found["statuses"]
                    p50, p99 = np.percentile(found["latencies"], [50, 99]) * 1000
                    rows.append(
                        {
                            "batching": batching, "encoding": encoding, "clients": n_clients,
                            "requests/s": n_each / found["seconds"], "p50 ms": p50, "p99 ms": p99,
                            "tokens/s": tokens * n_each / found["seconds"],
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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", default="en")
    parser.add_argument("--clients", nargs="+", type=int, default=[1, 8, 64])
    parser.add_argument("--requests", type=int, default=10_000, help="in all")
    parser.add_argument("--out", type=Path, help="write OUT.json")
    parser.add_argument("--client", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.client:
        port, n_clients, n_requests, encoding = arguments.client
        found = asyncio.run(clients(int(port), int(n_clients), int(n_requests), encoding))
        print(json.dumps(found))
        return
    results = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
        **measure(arguments.model, arguments.clients, arguments.requests),
    }
    text = json.dumps(results, indent=2)
    print(text)
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.with_suffix(".json").write_text(text + "\n")


if __name__ == "__main__":
    main()
