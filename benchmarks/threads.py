"""One `Elmo`, 8 threads, 10,000 calls: are all vectors identical to those of one thread?

    python benchmarks/threads.py --calls 10000

Each distinct text is encoded once beforehand, which caches its words. JSON on standard output.
"""

import argparse
import json
import random
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from elmore import Elmo

SENTENCE = "the bank of a river has money in it and some boats , but no fish swim there ."


def main() -> None:
    """Run the calls and print how many differ, and by how much."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", default="en")
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=8)
    given = parser.parse_args()
    rng = random.Random(1)
    texts = [" ".join(rng.choices(SENTENCE.split(), k=rng.randint(1, 12))) for _ in range(50)]
    elmo = Elmo.from_pretrained(given.model, tokenizer="whitespace")

    def encode(place: int) -> np.ndarray:
        return elmo.encode_tokens([texts[place % len(texts)]], layers="all")[0].vectors

    expected = [encode(place) for place in range(len(texts))]
    began = time.perf_counter()
    worst, n_other = 0.0, 0
    with ThreadPoolExecutor(given.threads) as pool:
        for place, found in enumerate(pool.map(encode, range(given.calls))):
            difference = float(np.abs(found - expected[place % len(texts)]).max())
            worst, n_other = max(worst, difference), n_other + (difference > 0)
    facts = {
        "model": given.model, "calls": given.calls, "threads": given.threads,
        "different": n_other, "largest_difference": worst,
        "seconds": round(time.perf_counter() - began, 1),
    }  # fmt: skip
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
