"""How fast do several workers embed a corpus, and what does Ray cost beside plain processes?

    python benchmarks/scale.py --text corpus.txt --tenfold --out build/scale.json --page docs/explain/scale.md
    python benchmarks/scale.py --results build/scale.json --page docs/explain/scale.md    # the page alone

Embeds the text as a folder of parts with 1 and 2 processes and on a local Ray with 1 and 2 workers,
in turn, `--rounds` times: medians of tokens/s without and with the time to start, seconds of a
block, and Ray's overhead over as many processes. Then, with --tenfold, ten times the text: the peak
memory of this process and of its largest worker, both times. All parts must be the same bytes. Last,
blocks that hold nothing: what the scheduler and the manifest cost for each. From that the page has
a simulation of large clusters (scale_simulation.py). Blocks of 10 s or more show what a corpus
costs. Needs a quiet machine with 2 cores, and the extra ray.
"""  # noqa: E501

import argparse
import json
import multiprocessing
import os
import pickle
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import ray
from scale_page import write_page

from elmore import Elmo
from elmore.checksums import describe_file
from elmore.corpus.blocks import Block, BlockPlan
from elmore.corpus.parts import PartRecord, PartsFolder
from elmore.embed.block_job import BlockJob
from elmore.embed.parts import EmbedJob
from elmore.scale.ray_cluster import run_on_ray
from elmore.scale.run import embed_parts

WAYS = {
    "1 process": {"n_processes": 1},
    "2 processes": {"n_processes": 2},
    "Ray, 1 worker": {"ray": "local", "n_workers": 1},
    "Ray, 2 workers": {"ray": "local", "n_workers": 2},
}
N_EMPTY = 1000  # blocks that hold nothing


# --- a corpus -------------------------------------------------------------------------------------


def embed(
    model: str, text: Path, out: Path, block_bytes: int, way: dict[str, Any]
) -> dict[str, Any]:
    """Embed in this process and its workers; return times, sizes, and what each part holds."""
    os.environ["OMP_NUM_THREADS"] = "1"
    elmo = Elmo.from_pretrained(model)
    options = dict(way)
    n_workers = options.pop("n_workers", None)
    peaks = Peaks()

    def on_part(n_blocks: int, record: PartRecord) -> None:
        peaks.look()

    began = time.time()
    if n_workers is not None:
        start_ray(n_workers)
    made = embed_parts(elmo, [text], out, block_bytes=block_bytes, on_part=on_part, **options)
    whole_s = time.time() - began
    parts = sorted(out.glob("part-*"))
    hashes = [describe_file(path).xxh3 for path in parts]
    # When workers finished their parts: Ray tells the driver later, of several at a time.
    finished = sorted(
        (path.stat().st_mtime, record.counts["n_tokens"])
        for path, record in zip(parts, made.parts or (), strict=True)
    )
    ended, tokens = [when for when, _ in finished], [n_tokens for _, n_tokens in finished]
    job = EmbedJob.begin(elmo, [text], out, block_bytes=block_bytes)
    if n_workers is not None:
        ray.shutdown()
    n = n_workers or way.get("n_processes", 1)
    # From the first part on, all workers run; the parts of that moment are not counted.
    steady_s = ended[-1] - ended[n - 1] if len(ended) > n else float("nan")
    block_s = n * steady_s / max(1, len(ended) - n)
    return {
        "tokens": sum(tokens),
        "tokens_per_second": sum(tokens) / whole_s,
        "tokens_per_second_steady": sum(tokens[n:]) / steady_s,
        "block_s": block_s,
        "start_s": ended[0] - began - block_s,
        "text_bytes": text.stat().st_size,
        "part_bytes": sum(path.stat().st_size for path in parts),
        "record_bytes": statistics.mean(len(msgspec.json.encode(x)) for x in made.parts or ()),
        "job_bytes": len(pickle.dumps(job)),
        "hashes": hashes,
        **peaks.found,
    }


class Peaks:
    """The peak memory of this process and of those below it, in MB."""

    def __init__(self) -> None:
        self.found = {"driver_mb": 0.0, "largest_worker_mb": 0.0, "others_mb": 0.0}

    def look(self) -> None:
        """Look while workers are there; peaks of processes that are gone are forgotten by Linux."""
        processes = _processes()
        below, new = {os.getpid()}, {os.getpid()}
        while new:
            new = {pid for pid, (parent, _) in processes.items() if parent in new} - below
            below |= new
        below.remove(os.getpid())
        workers = {pid for pid in below if _is_worker(pid)}
        now = {
            "driver_mb": processes[os.getpid()][1],
            "largest_worker_mb": max((processes[pid][1] for pid in workers), default=0.0),
            "others_mb": sum(processes[pid][1] for pid in below - workers),
        }
        self.found = {name: max(seen, now[name]) for name, seen in self.found.items()}


def _processes() -> dict[int, tuple[int, float]]:
    """Return the parent of each process, and its peak memory in MB."""
    found = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:
            continue
        if "VmHWM" in lines:
            peak = int(lines["VmHWM"].split()[0]) / 1024
            found[int(status.parent.name)] = (int(lines["PPid"]), peak)
    return found


def _is_worker(pid: int) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"ray::MapWorker" in command or b"spawn_main" in command


def start_ray(n_workers: int) -> None:
    ray.init("local", num_cpus=n_workers + 1, include_dashboard=False, log_to_driver=False)


# --- blocks that hold nothing ---------------------------------------------------------------------


def empty_blocks(folder: Path) -> dict[str, float]:
    """Return the seconds that the scheduler of Ray and the manifest take for one block."""

    class EmptyJob(BlockJob):
        """Enters a part without files for each block; local, so that it is pickled by value."""

        def run(self, number: int) -> PartRecord:
            return self.folder.enter(number, {}, text="0" * 32, counts={"n_tokens": 0})

        def finish(self) -> Any:
            return self.folder.finish()

    blocks = tuple(Block(0, number, number + 1) for number in range(N_EMPTY))
    plan = BlockPlan((), (), blocks, "text", 1)
    job = EmptyJob(None, plan, PartsFolder.begin(folder, "vectors", {}, plan))  # type: ignore[arg-type]
    start_ray(2)
    ended = [time.perf_counter() for _ in run_on_ray(job, range(N_EMPTY), "auto")]
    ray.shutdown()
    began = time.perf_counter()
    job.finish()
    finish_s = time.perf_counter() - began
    # The first comes when workers have started, which is counted elsewhere.
    return {
        "schedule_s": (ended[-1] - ended[0]) / (N_EMPTY - 1),
        "finish_s": finish_s / N_EMPTY,
    }


# --- all of it ------------------------------------------------------------------------------------


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


def measure(given: argparse.Namespace, work: Path) -> dict[str, Any]:
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in WAYS}
    out = work / "vectors"

    def run(text: Path, name: str) -> dict[str, Any]:
        found: dict[str, Any] = apart(embed, given.model, text, out, given.block_bytes, WAYS[name])
        shutil.rmtree(out)
        return found

    for _ in range(given.rounds):
        for name, found in runs.items():
            found.append(run(given.text, name))
    expected = runs["1 process"][0]["hashes"]
    assert all(one["hashes"] == expected for found in runs.values() for one in found)
    ways = {
        name: {key: statistics.median(one[key] for one in found)
               for key in found[0] if key != "hashes"}
        for name, found in runs.items()
    }  # fmt: skip
    tenfold = {}
    if given.tenfold:
        large = work / "large.txt"
        large.write_bytes(10 * given.text.read_bytes())
        for name in ("2 processes", "Ray, 2 workers"):
            tenfold[name] = {key: value for key, value in run(large, name).items()
                             if key != "hashes"}  # fmt: skip

    def overhead(plain: str, on_ray: str) -> float:
        speeds = [ways[name]["tokens_per_second_steady"] for name in (plain, on_ray)]
        return speeds[0] / speeds[1] - 1

    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "model": given.model,
        "rounds": given.rounds,
        "block_bytes": given.block_bytes,
        "blocks": len(expected),
        "ways": ways,
        "overhead_of_ray": {
            "1": overhead("1 process", "Ray, 1 worker"),
            "2": overhead("2 processes", "Ray, 2 workers"),
        },
        "tenfold": tenfold,
        "empty_blocks": apart(empty_blocks, work / "empty"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--text", type=Path, help="a plain text, some blocks long")
    parser.add_argument("--model", default="en")
    parser.add_argument("--block-bytes", type=int, default=2**20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--tenfold", action="store_true", help="measure memory on ten times as much"
    )
    parser.add_argument("--out", type=Path, help="where to write the results, too")
    parser.add_argument("--results", type=Path, help="results of an earlier run, for --page")
    parser.add_argument("--page", type=Path, help="the page to put the tables into")
    given = parser.parse_args()
    if given.results:
        results = json.loads(given.results.read_text())
    elif given.text:
        with tempfile.TemporaryDirectory() as work:
            results = measure(given, Path(work))
        text = json.dumps(results, indent=2)
        print(text)
        if given.out:
            given.out.parent.mkdir(parents=True, exist_ok=True)
            given.out.write_text(text + "\n")
    else:
        parser.error("give --text, or the --results of an earlier run")
    if given.page:
        write_page(given.page, results)


if __name__ == "__main__":
    main()
