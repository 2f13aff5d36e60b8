"""How fast `Elmo` is beside an earlier commit of itself, in one run, interleaved.

    git worktree add build/before 6bb1f43
    python benchmarks/core.py --before build/before --page docs/results.md

Each contender (a source tree, a variant of the kernels, a number of threads) is a process of its
own that loads the models once; in each round every contender measures every quantity once, in turn,
and medians over the rounds are given, because a machine is never quite quiet. `small` and
`original` have the published shapes with random weights, written as published files, which both
trees read.

- one: a sentence of 20 words that are all cached, alone.
- at once: so many sentences of it together.
- new: a sentence of 20 words that no cache has; one: 19 cached words and one such.
- peak: the GFLOP/s of one core (peak.c: fused multiply-adds on registers), and the share of it that
  64 sentences take of the products of the LSTM layers, which is less than what is computed.
- cold, warm: tokens/s over sentences of 4 to 60 words, with an empty word cache and a full one.
"""

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
MARKS = ("<!-- core -->", "<!-- /core -->")
FILTERS = [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]]
SHAPES = {  # cell_dim, projection_dim, highways, tokens of the longer measurements
    "small": (1024, 128, 1, 20_000),
    "original": (4096, 512, 2, 3_000),
}
N_TOKENS = {"en": 20_000} | {name: shape[3] for name, shape in SHAPES.items()}
ONE = "The old man sat on the bank of the river and watched the boats come in to harbour again ."


def write_models(folder: Path) -> dict[str, str]:
    """Write the models of random weights; return where each model is."""
    from tests.oracle.elmo import random_model, write_model  # noqa: PLC0415

    for name, (cell_dim, projection_dim, n_highway, _) in SHAPES.items():
        if not (folder / name).exists():
            options, weights = random_model(
                seed=0, n_layers=2, dim=cell_dim, projection_dim=projection_dim, skip=True,
                cell_clip=3, proj_clip=3, activation="relu", n_highway=n_highway, filters=FILTERS,
                char_dim=16,
            )  # fmt: skip
            write_model(folder / name, options, weights)
    return {"en": "en"} | {name: str(folder / name) for name in SHAPES}


def sentences(n_tokens: int) -> list[list[str]]:
    """Return sentences of the documentation, 4 to 60 words long, as many as make `n_tokens`."""
    pages = sorted((ROOT / "docs").rglob("*.md"))
    words = " ".join(page.read_text("utf-8") for page in pages).split()
    random_ = random.Random(0)
    found: list[list[str]] = []
    at = 0
    while sum(map(len, found)) < n_tokens:
        found.append(words[at : at + random_.randint(4, 60)])
        at = (at + len(found[-1])) % (len(words) - 60)
    return found


# --- a contender: a process that measures ---------------------------------------------------------


def work() -> None:
    """Measure what is asked for, line by line on standard input."""
    from elmore import Elmo  # noqa: PLC0415  of the tree that PYTHONPATH names

    def ms(elmo: Any, texts: list[list[str]], repeats: int = 1) -> float:
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            elmo.encode_tokens(texts)
            times.append(time.perf_counter() - start)
        return 1000 * statistics.median(times)

    elmos: dict[str, Any] = {}
    n_new = 0
    for line in sys.stdin:
        asked = json.loads(line)
        name = asked["model"]
        if name not in elmos:
            elmos[name] = Elmo.from_pretrained(asked["path"], tokenizer="whitespace")
            elmos[name].encode_tokens([ONE.split()])
        elmo, sentence = elmos[name], ONE.split()
        answer = {}
        for n in asked["at_once"]:
            repeats = max(3, min(40, 200 // n)) if name != "original" else 3
            answer[f"at once {n}"] = ms(elmo, [sentence] * n, repeats)
        new, ones = [], []
        for _ in range(5):
            n_new += 21
            new.append(ms(elmo, [[f"w{n_new + k}ord" for k in range(20)]]))
            ones.append(ms(elmo, [[*sentence[:19], f"w{n_new + 20}ord"]]))
        answer |= {"new": statistics.median(new), "one new": statistics.median(ones)}
        texts = json.loads(Path(asked["texts"]).read_text("utf-8"))
        n_tokens = sum(map(len, texts))
        elmo.cache.clear()
        answer["cold"] = 1000 * n_tokens / ms(elmo, texts)
        answer["warm"] = 1000 * n_tokens / ms(elmo, texts)
        print(json.dumps(answer), flush=True)


class Contender:
    """A process of one source tree."""

    def __init__(self, name: str, tree: Path, n_threads: int, variant: str | None) -> None:
        self.name = name
        environment = os.environ | {
            "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": str(n_threads),
        }  # fmt: skip
        if variant:
            environment["ELMORE_KERNELS"] = variant
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__, "--work"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd="/",
        )  # fmt: skip

    def measure(self, **asked: Any) -> dict[str, float]:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        found: dict[str, float] = json.loads(self.process.stdout.readline())
        return found


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    work_folder = ROOT / "build/core"
    work_folder.mkdir(parents=True, exist_ok=True)
    models = write_models(work_folder)
    contenders = [
        Contender(f"{name}, {n_threads}", tree, n_threads, variant)
        for n_threads in arguments.threads
        for name, tree, variant in [
            ("before", arguments.before.resolve(), None),
            *((variant, ROOT, variant) for variant in arguments.variants),
        ]
    ]
    rounds: dict[str, dict[str, list[dict[str, float]]]] = {}
    for number in range(arguments.rounds):
        for model in arguments.models:
            texts = work_folder / f"{model}.json"
            texts.write_text(json.dumps(sentences(N_TOKENS[model])), "utf-8")
            for contender in contenders:
                found = contender.measure(
                    model=model, path=models[model], texts=str(texts),
                    at_once=[1, 8] if model == "original" else [1, 4, 8, 16, 64],
                )  # fmt: skip
                rounds.setdefault(model, {}).setdefault(contender.name, []).append(found)
                print(number, model, contender.name, found, flush=True)
    return {
        model: {
            name: {key: statistics.median(one[key] for one in many) for key in many[0]}
            for name, many in by_name.items()
        }
        for model, by_name in rounds.items()
    }


def markdown(medians: dict[str, Any], arguments: argparse.Namespace) -> str:
    lines = [
        f"`python benchmarks/core.py --before … --page docs/results.md`, "
        f"{datetime.now(UTC).date()}, {os.cpu_count()} cores of {processor()}, medians of "
        f"{arguments.rounds} interleaved rounds. `before` is commit 6bb1f43, on torch and MKL.",
        "",
    ]
    for model, by_name in medians.items():
        keys = list(next(iter(by_name.values())))
        titles = [f"{key}, {'tokens/s' if key in ('cold', 'warm') else 'ms'}" for key in keys]
        lines += [f"| {model}: contender, threads | {' | '.join(titles)} |",
                  "|---" * (len(keys) + 1) + "|"]  # fmt: skip
        for name, found in by_name.items():
            values = [
                f"{found[key]:,.0f}" if key in ("cold", "warm") else f"{found[key]:.2f}"
                for key in keys
            ]
            lines.append(f"| {name} | {' | '.join(values)} |")
        lines.append("")
    return "\n".join(lines)


def peak(variant: str) -> float:
    """Return the GFLOP/s of one core with the vectors of a variant, the best of five."""
    sys.path.insert(0, str(ROOT / "tools"))
    from compile_kernels import VARIANTS  # noqa: PLC0415

    flags = VARIANTS[platform.machine()][variant]
    program = ROOT / "build/core/peak"
    source = str(ROOT / "benchmarks/peak.c")
    command = ["gcc", "-std=gnu11", "-O3", "-ffp-contract=off", *flags, source, "-o", str(program)]
    subprocess.run(command, check=True)
    printed = [
        subprocess.run([program], check=True, capture_output=True, text=True).stdout
        for _ in range(5)
    ]
    return max(float(line.split()[0]) for line in printed)


def shares(medians: dict[str, Any], variants: list[str]) -> str:
    """Return a line on the share of the processor's peak."""
    peaks = {variant: peak(variant) for variant in variants}
    lines = []
    dims = {"en": (512, 128)} | {name: shape[:2] for name, shape in SHAPES.items()}
    for model, (cell_dim, p) in dims.items():
        # both directions; the first layer's input product is only of the few distinct words
        n_products = 2 * (3 * p * 4 * cell_dim + 2 * cell_dim * p)
        n = 8 if model == "original" else 64
        for name, found in medians.get(model, {}).items():
            variant, _, threads = name.partition(", ")
            if variant in peaks and threads == "1":
                rate = 2e-6 * n * 22 * n_products / found[f"at once {n}"]
                share = 100 * rate / peaks[variant]
                lines.append(f"{model}, {n} sentences, {variant}: {share:.0f} %")
    of = ", ".join(f"{variant} {value:.0f} GFLOP/s" for variant, value in peaks.items())
    return f"One core's peak: {of}. Share of it, one thread: {'; '.join(lines)}.\n"


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--before", type=Path, default=ROOT / "build/before")
    parser.add_argument("--variants", nargs="*", default=["avx512", "avx2"])
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--models", nargs="*", default=["en", "small", "original"])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--page", type=Path)
    arguments = parser.parse_args()
    if arguments.work:
        work()
        return
    medians = measure(arguments)
    table = markdown(medians, arguments) + "\n" + shares(medians, arguments.variants)
    print(table)
    if arguments.page:
        page = arguments.page.read_text("utf-8")
        before, _, rest = page.partition(MARKS[0])
        after = rest.partition(MARKS[1])[2]
        arguments.page.write_text(f"{before}{MARKS[0]}\n{table}\n{MARKS[1]}{after}", "utf-8")


if __name__ == "__main__":
    main()
