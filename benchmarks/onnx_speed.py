"""How far an exported model in onnxruntime is from `Elmo`, and how fast it is, on a page of text.

    python benchmarks/onnx_speed.py --page docs/results.md

The page of text is the beginning of docs/explain/speed.md (for `ko`, of docs/quickstart.ko.md),
tokenized once, in sentences of 20 words. All are timed in turn, round by round, because a machine
is never quite quiet; given are medians of times, and of the ratios within a round. onnxruntime gets
the ids as `Elmo.ids` makes them, which is timed with it.

- cold: `Elmo` with an empty word cache. warm: all words are cached.
- Differences are measured on sentences of random lengths, too: pieces of the same text.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from elmore import Elmo
from elmore.engine.parallel import set_n_threads
from elmore.integrations.onnx import to_onnx

ROOT = Path(__file__).resolve().parents[1]
TEXTS = {"ko": ROOT / "docs/quickstart.ko.md"}
TEXT = ROOT / "docs/explain/speed.md"
N_WORDS, SENTENCE = 600, 20
MARKS = ("<!-- onnx -->", "<!-- /onnx -->")

Sentences = Sequence[Sequence[str]]


def measure(model: str, n_threads: int, n_rounds: int) -> dict[str, Any]:
    set_n_threads(n_threads)
    elmo = Elmo.from_pretrained(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    session = onnxruntime.InferenceSession(to_onnx(elmo).SerializeToString(), options)
    text = TEXTS.get(model, TEXT).read_text("utf-8")
    words = [token.text for token in elmo.tokenizer(text)][:N_WORDS]
    sentences = [words[i : i + SENTENCE] for i in range(0, len(words), SENTENCE)]

    def in_onnx(name: str, sentences: Sentences) -> np.ndarray:
        batch = elmo.ids(sentences)
        feeds = {"token_ids": batch.ids.numpy(), "lengths": batch.mask.sum(dim=1).numpy()}
        (found,) = session.run([name], feeds)
        return np.asarray(found)

    def cold() -> None:
        elmo.cache.clear()
        elmo.encode_tokens(sentences)

    calls = {
        "onnxruntime": lambda: in_onnx("mix", sentences),
        "cold": cold,
        "warm": lambda: elmo.encode_tokens(sentences),
    }
    for call in calls.values():
        call()
    rounds = [{name: seconds(call) for name, call in calls.items()} for _ in range(n_rounds)]
    expected = elmo.encode_tokens(pieces(words), layers="all")
    found = in_onnx("layers", pieces(words))
    differences = [
        np.abs(layers[:, 1 : len(one.tokens) + 1] - one.vectors).max(axis=(1, 2))
        for layers, one in zip(found, expected, strict=True)
    ]
    return {
        "model": model,
        "threads": n_threads,
        "words": len(words),
        "distinct": len(set(words)),
        "largest differences": np.max(differences, axis=0).tolist(),
        "largest values": [
            float(max(np.abs(x.vectors[k]).max() for x in expected)) for k in range(elmo.n_layers)
        ],
        "seconds": {name: statistics.median(one[name] for one in rounds) for name in calls},
        "ratios": {
            name: statistics.median(one["onnxruntime"] / one[name] for one in rounds)
            for name in ("cold", "warm")
        },
    }


def pieces(words: Sequence[str]) -> list[Sequence[str]]:
    """Return the words in sentences of 1 to 60, the same ones each time."""
    lengths = random.Random(0)
    found, at = [], 0
    while at < len(words):
        found.append(words[at : at + lengths.randint(1, 60)])
        at += len(found[-1])
    return found


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def markdown(results: Sequence[dict[str, Any]], n_rounds: int) -> str:
    lines = [
        f"`python benchmarks/onnx_speed.py --page docs/results.md`, {datetime.now(UTC).date()}, "
        f"medians of {n_rounds} interleaved rounds:",
        "",
        "| model, threads | words (distinct) | onnxruntime, ms | `Elmo`, empty word cache | all "
        "words cached | times as long as `Elmo` | largest difference, layers 0, 1, 2 | largest "
        "value |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in results:
        ms = {name: f"{1000 * value:.0f}" for name, value in one["seconds"].items()}
        differences = ", ".join(f"{x:.0e}" for x in one["largest differences"])
        values = ", ".join(f"{x:.0f}" for x in one["largest values"])
        lines.append(
            f"| `{one['model']}`, {one['threads']} | {one['words']} ({one['distinct']}) "
            f"| {ms['onnxruntime']} | {ms['cold']} | {ms['warm']} "
            f"| {one['ratios']['cold']:.2f}; {one['ratios']['warm']:.2f} cached "
            f"| {differences} | {values} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", nargs="+", default=["en", "ko"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--page", type=Path, help="the page to put the table into")
    arguments = parser.parse_args()
    results = []
    for model in arguments.models:
        for n_threads in arguments.threads:
            results.append(measure(model, n_threads, arguments.rounds))
            print(json.dumps(results[-1]), flush=True)
    if arguments.page:
        start, end = MARKS
        before, _, rest = arguments.page.read_text("utf-8").partition(start)
        table = markdown(results, arguments.rounds)
        page = f"{before}{start}\n{table}\n{end}{rest.partition(end)[2]}"
        arguments.page.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
