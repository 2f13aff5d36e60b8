"""Does memory grow with the text? Words that were never seen before, in texts of their own.

    python benchmarks/memory.py --tokens 1000000

Every word is new, so that the word cache is always full of others. JSON on standard output: the
resident memory in MB before the first text, after each tenth of the tokens, and at the end.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from elmore import Elmo

LETTERS = "abcdefghijklmnopqrstuvwxyz가나다라마바사아자차카타파하"
TEXTS_AT_ONCE = 256


def fresh_texts(n_tokens: int, seed: int) -> Iterator[str]:
    """Yield texts of 5 to 40 words, none of which occurs twice."""
    rng = random.Random(seed)
    number = 0
    while number < n_tokens:
        n_words = min(rng.randint(5, 40), n_tokens - number)
        yield " ".join(
            "".join(rng.choices(LETTERS, k=rng.randint(1, 8))) + str(number + k)
            for k in range(n_words)
        )
        number += n_words


def resident_mb() -> float:
    """Return the memory that this process has now."""
    status = Path("/proc/self/status").read_text()
    return round(int(status.partition("VmRSS:")[2].split()[0]) / 1024, 1)


def main() -> None:
    """Encode all texts and print the memory on the way."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", default="en")
    parser.add_argument("--tokens", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    elmo = Elmo.from_pretrained(given.model, tokenizer="whitespace")
    elmo.encode_tokens(["a first text"])  # makes the engine
    memory_mb = {0: resident_mb()}
    n_texts, n_tokens, began = 0, 0, time.perf_counter()
    texts = fresh_texts(given.tokens, given.seed)
    while batch := list(islice(texts, TEXTS_AT_ONCE)):
        for found in elmo.encode_tokens(batch):
            n_tokens += len(found.tokens)
        n_texts += len(batch)
        if n_tokens >= max(memory_mb) + given.tokens / 10:
            memory_mb[n_tokens] = resident_mb()
    memory_mb[n_tokens] = resident_mb()
    seconds = round(time.perf_counter() - began, 1)
    facts = {"model": given.model, "texts": n_texts, "tokens": n_tokens, "seconds": seconds}
    print(json.dumps(facts | {"memory_mb": memory_mb}))


if __name__ == "__main__":
    main()
