"""How fast do several workers embed a corpus, and what does Ray cost beside plain processes?

    python benchmarks/scale.py --text corpus.txt --out build/scale.json

Embeds the text as a folder of parts with 1 and 2 processes and on a local Ray with 1 and 2 workers,
in turn, `--rounds` times, and prints a line of JSON for each way: the medians of tokens/s without
and with the time to start, the seconds of a block, and Ray's overhead over as many processes.
Then the text is embedded tenfold: memory of this process and of its largest worker, both times.
All parts must be the same bytes. Blocks of 10 s or more show what a corpus costs; smaller ones show
what a block costs. Needs a quiet machine with 2 cores, and the extra ray.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray

from elmore import Elmo
from elmore.checksums import describe_file
from elmore.scale.run import embed_parts

WAYS = {
    "1 process": {"n_processes": 1},
    "2 processes": {"n_processes": 2},
    "Ray, 1 worker": {"ray": "local", "n_workers": 1},
    "Ray, 2 workers": {"ray": "local", "n_workers": 2},
}


def embed(
    model: str, text: Path, out: Path, block_bytes: int, way: dict[str, Any]
) -> dict[str, Any]:
    """Embed in this process and its workers; return times, and what each part holds."""
    os.environ["OMP_NUM_THREADS"] = "1"
    elmo = Elmo.from_pretrained(model)
    options = dict(way)
    n_workers = options.pop("n_workers", None)
    ended: list[float] = []
    tokens: list[int] = []

    def on_part(n_blocks: int, record: Any) -> None:
        ended.append(time.perf_counter())
        tokens.append(record.counts["n_tokens"])

    began = time.perf_counter()
    if n_workers is not None:
        ray.init(num_cpus=n_workers + 1, include_dashboard=False, log_to_driver=False)
    embed_parts(elmo, [text], out, block_bytes=block_bytes, on_part=on_part, **options)
    whole_s = time.perf_counter() - began
    hashes = [describe_file(path).xxh3 for path in sorted(out.glob("part-*"))]
    peaks = _peaks()
    if n_workers is not None:
        ray.shutdown()
    n = n_workers or way.get("n_processes", 1)
    # From the first part on, all workers run; the parts of that moment are not counted.
    steady = sum(tokens[n:]) / (ended[-1] - ended[n - 1]) if len(tokens) > n else float("nan")
    return {
        "tokens": sum(tokens),
        "tokens_per_second": sum(tokens) / whole_s,
        "tokens_per_second_steady": steady,
        "block_s": n * (ended[-1] - ended[n - 1]) / max(1, len(ended) - n),
        "hashes": hashes,
        **peaks,
    }


def _peaks() -> dict[str, float]:
    """Return the peak memory of this process and of the largest process below it, in MB."""
    found = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:
            continue
        if "VmHWM" in lines:
            found[int(status.parent.name)] = (
                int(lines["PPid"]), int(lines["VmHWM"].split()[0]) / 1024,
            )  # fmt: skip
    below, new = {os.getpid()}, {os.getpid()}
    while new:
        new = {pid for pid, (parent, _) in found.items() if parent in new} - below
        below |= new
    workers = [found[pid][1] for pid in below if pid != os.getpid()]
    return {"driver_mb": found[os.getpid()][1], "largest_worker_mb": max(workers, default=0.0)}


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a new process, which may have workers; nothing of it stays in memory."""
    context = multiprocessing.get_context("spawn")
    receive, send = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(send, function, arguments))
    process.start()
    send.close()
    found = receive.recv()
    process.join()
    return found


def _send(connection: Any, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    connection.send(function(*arguments))
    connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", type=Path, required=True, help="a plain text, some blocks long")
    parser.add_argument("--model", default="en")
    parser.add_argument("--block-bytes", type=int, default=2**20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--tenfold", action="store_true", help="measure memory on ten times as much"
    )
    parser.add_argument("--out", type=Path, help="where to write the lines, too")
    given = parser.parse_args()
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in WAYS}
    lines = []
    with tempfile.TemporaryDirectory() as work:
        out = Path(work) / "vectors"
        for _ in range(given.rounds):
            for name, way in WAYS.items():
                runs[name].append(
                    apart(embed, given.model, given.text, out, given.block_bytes, way)
                )
                shutil.rmtree(out)
        expected = runs["1 process"][0]["hashes"]
        assert all(run["hashes"] == expected for found in runs.values() for run in found)
        for name, found in runs.items():
            of = {key: statistics.median(run[key] for run in found)
                  for key in found[0] if key != "hashes"}  # fmt: skip
            lines.append({"way": name, "blocks": len(expected), **of})
        for n in ("1", "2"):
            plain, on_ray = (
                next(x["tokens_per_second_steady"] for x in lines if x["way"] == way)
                for way in (f"{n} process{'es' * (n == '2')}", f"Ray, {n} worker{'s' * (n == '2')}")
            )
            lines.append({"workers": int(n), "overhead_of_ray": plain / on_ray - 1})
        if given.tenfold:
            large = Path(work) / "large.txt"
            large.write_bytes(10 * given.text.read_bytes())
            for name in ("2 processes", "Ray, 2 workers"):
                found = apart(embed, given.model, large, out, given.block_bytes, WAYS[name])
                shutil.rmtree(out)
                del found["hashes"]
                lines.append({"way": name, "text": "tenfold", **found})
    for line in lines:
        print(json.dumps(line))
    if given.out:
        given.out.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
