"""Results of scale.py in, the tables of docs/explain/scale.md out."""

from pathlib import Path
from typing import Any

from scale_simulation import WORDS, WORKERS, Costs, simulate

COMMAND = (
    "python benchmarks/scale.py --text corpus.txt --tenfold --block-bytes {block_bytes} "
    "--out build/scale.json --page docs/explain/scale.md"
)
BLOCK_MIB = (1, 64)


def write_page(page: Path, results: dict[str, Any]) -> None:
    """Put the tables between the marks of a page."""
    for name, text in (("measured", measured(results)), ("simulated", simulated(results))):
        start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
        content = page.read_text("utf-8")
        assert end in content.partition(start)[2], f"{page} has no {start} … {end}"
        before, _, rest = content.partition(start)
        page.write_text(f"{before}{start}\n{text}\n{end}{rest.partition(end)[2]}", "utf-8")


def measured(results: dict[str, Any]) -> str:
    """Return what was measured."""
    ways, empty, overhead = (results[x] for x in ("ways", "empty_blocks", "overhead_of_ray"))
    lines = [
        f"`{COMMAND.format(**results)}`, {results['date']}, {results['cores']} cores, "
        f"`{results['model']}`, {results['blocks']} blocks, medians of {results['rounds']} "
        "rounds in turn; every part had the same bytes.",
        "",
        "| | tokens/s | seconds of a worker per million tokens | seconds of a block "
        "| seconds to start | driver, MB | largest worker, MB | Ray itself, MB |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, way in ways.items():
        n_workers, speed = 2 if "2" in name else 1, way["tokens_per_second_steady"]
        worker = f"{way['largest_worker_mb']:,.0f}" if way["largest_worker_mb"] else "–"
        others = f"{way['others_mb']:,.0f}" if "Ray" in name else "–"
        lines.append(
            f"| {name} | {speed:,.0f} | {n_workers * 1e6 / speed:,.0f} | {way['block_s']:.1f} "
            f"| {way['start_s']:.1f} | {way['driver_mb']:,.0f} | {worker} | {others} |"
        )
    lines += [
        "",
        "Ray takes "
        + " and ".join(
            f"{100 * share:+.1f} % time with {n} worker{'s' * (n != '1')}"
            for n, share in overhead.items()
        )
        + f" compared with as many processes. A block that holds nothing takes Ray "
        f"{1000 * empty['schedule_s']:.1f} ms, and at the end the driver reads its record in "
        f"{1000 * empty['finish_s']:.2f} ms from a local disk.",
        "",
        *_memory(ways, results["tenfold"]),
        *_traffic(ways["Ray, 2 workers"], results["blocks"]),
    ]
    return "\n".join(lines)


def _memory(ways: dict[str, Any], tenfold: dict[str, Any]) -> list[str]:
    if not tenfold:
        return []
    lines = ["| peak memory, MB | driver | driver, text tenfold | worker | worker, text tenfold |",
             "|---|---:|---:|---:|---:|"]  # fmt: skip
    for name, large in tenfold.items():
        figures = [run[key] for key in ("driver_mb", "largest_worker_mb")
                   for run in (ways[name], large)]  # fmt: skip
        lines.append(f"| {name} | " + " | ".join(f"{one:,.0f}" for one in figures) + " |")
    return [*lines, ""]


def _traffic(way: dict[str, Any], n_blocks: int) -> list[str]:
    millions = way["tokens"] / 1e6
    return [
        "| traffic | |",
        "|---|---:|",
        f"| text that workers read, per million tokens | {way['text_bytes'] / 1e6 / millions:.1f} "
        "MB |",
        f"| Parquet that they write, float32 | {way['part_bytes'] / 1e6 / millions:,.0f} MB |",
        f"| records, from workers to the driver | {way['record_bytes'] * n_blocks / millions:,.0f} "
        "bytes |",
        f"| the job, from the driver to each worker, once | {way['job_bytes']:,.0f} bytes |",
    ]


def simulated(results: dict[str, Any]) -> str:
    """Return what large clusters would take."""
    way, empty = results["ways"]["Ray, 2 workers"], results["empty_blocks"]
    tokens_of_mib = 2**20 * way["tokens"] / way["text_bytes"]
    speed = way["tokens_per_second_steady"] / 2
    settings = {
        mib: Costs(
            tokens_per_second=speed,
            block_tokens=mib * tokens_of_mib,
            start_s=max(0.0, way["start_s"]),
            schedule_s=empty["schedule_s"],
            finish_s=empty["finish_s"],
        )
        for mib in BLOCK_MIB
    }
    costs = settings[BLOCK_MIB[0]]
    most = [round(one.block_tokens / speed / one.schedule_s) for one in settings.values()]
    lines = [
        f"`benchmarks/scale_simulation.py`, from the figures above: {speed:,.0f} tokens/s for a "
        f"worker, {tokens_of_mib:,.0f} tokens in a MiB of text, {costs.start_s:.0f} s to start, "
        f"{1000 * costs.schedule_s:.1f} ms of the scheduler and {1000 * costs.finish_s:.2f} ms of "
        f"the manifest for each block. Assumed: block times with a standard deviation of "
        f"{100 * costs.spread:.0f} %, one worker in {1 / costs.slow_share:.0f} at half speed, a "
        f"failure of each worker every {costs.hours_to_failure:,.0f} hours. Efficiency is the time "
        "of all words at full speed on all cores, divided by the time that they take.",
        "",
        "| words | cores | hours, blocks of 1 MiB | efficiency | hours, 64 MiB | efficiency |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for n_words in WORDS:
        for n_workers in WORKERS:
            cells = [f"{n_words / 1e9:.0f} billion", f"{n_workers:,}"]
            for one in settings.values():
                hours, efficiency = simulate(one, n_words, n_workers)
                cells += [f"{hours:,.2f}" if hours < 10 else f"{hours:,.0f}",
                          f"{100 * efficiency:.0f} %"]  # fmt: skip
            lines.append("| " + " | ".join(cells) + " |")
    lines += [
        "",
        f"One driver can keep {most[0]:,} workers busy with blocks of 1 MiB, and {most[1]:,} with "
        "blocks of 64 MiB: the seconds of a block, divided by the scheduler's.",
    ]
    return "\n".join(lines)
