"""How long does it take to load a model, with and without verifying its checksums?

    python benchmarks/loading.py --rounds 50

The two alternate, so that both meet the same noise, after one round that fills the file cache. JSON
on standard output: the medians in milliseconds, and the share of the time that verifying takes.
"""

import argparse
import json
import statistics
import time

from elmore import Elmo


def load_ms(model: str, *, verify: bool) -> float:
    """Return the milliseconds of loading once."""
    began = time.perf_counter()
    Elmo.from_pretrained(model, verify=verify)
    return 1000 * (time.perf_counter() - began)


def main() -> None:
    """Load again and again, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", default="en")
    parser.add_argument("--rounds", type=int, default=50)
    given = parser.parse_args()
    load_ms(given.model, verify=True)
    verified, unverified = [], []
    for number in range(given.rounds):
        for verify in (True, False) if number % 2 else (False, True):
            found = load_ms(given.model, verify=verify)
            (verified if verify else unverified).append(found)
    with_ms, without_ms = statistics.median(verified), statistics.median(unverified)
    facts = {
        "model": given.model, "rounds": given.rounds,
        "verified_ms": round(with_ms, 2), "unverified_ms": round(without_ms, 2),
        "share_of_verifying": round((with_ms - without_ms) / without_ms, 3),
    }  # fmt: skip
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
