"""How fast an exported model is in onnxruntime, beside `Elmo`, on a page of text.

    python benchmarks/onnx_speed.py --model en --threads 1

The page is README.md, tokenized once, in sentences of 20 words. All are measured in turn, round by
round, because a machine is never quite quiet; given are medians of times, and of the ratios within
a round. onnxruntime gets the ids as `Elmo.ids` makes them, which is timed with it.

- cold: `Elmo` with an empty word cache. warm: all words are cached.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from elmore import Elmo
from elmore.integrations.onnx import to_onnx

PAGE = Path(__file__).resolve().parents[1] / "README.md"
N_WORDS, SENTENCE = 600, 20


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="en")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    elmo = Elmo.from_pretrained(arguments.model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = arguments.threads
    session = onnxruntime.InferenceSession(to_onnx(elmo).SerializeToString(), options)
    words = [token.text for token in elmo.tokenizer(PAGE.read_text("utf-8"))][:N_WORDS]
    sentences = [words[i : i + SENTENCE] for i in range(0, len(words), SENTENCE)]

    def in_onnx() -> np.ndarray:
        batch = elmo.ids(sentences)
        feeds = {"token_ids": batch.ids.numpy(), "lengths": batch.mask.sum(dim=1).numpy()}
        (mix,) = session.run(["mix"], feeds)
        return np.asarray(mix)

    def cold() -> None:
        elmo.cache.clear()
        elmo.encode_tokens(sentences)

    mix = in_onnx()
    pairs = zip(mix, elmo.encode_tokens(sentences), strict=True)
    difference = max(float(np.abs(a[1 : len(b.tokens) + 1] - b.vectors).max()) for a, b in pairs)
    calls = {"onnxruntime": in_onnx, "cold": cold, "warm": lambda: elmo.encode_tokens(sentences)}
    rounds = [
        {name: seconds(call) for name, call in calls.items()} for _ in range(arguments.rounds)
    ]
    medians = {name: statistics.median(one[name] for one in rounds) for name in calls}
    ratios = {
        f"onnxruntime / {name}": statistics.median(one["onnxruntime"] / one[name] for one in rounds)
        for name in ("cold", "warm")
    }
    said = {
        "model": arguments.model, "threads": arguments.threads, "words": len(words),
        "distinct": len(set(words)), "largest difference": difference,
        "seconds": medians, "ratios": ratios,
    }  # fmt: skip
    print(json.dumps(said))


if __name__ == "__main__":
    main()
