"""How long do 1, 10 and 100 billion words take on 10, 100 and 1,000 cores? A simulation.

    python benchmarks/scale_simulation.py --tokens-per-second 6000 --block-tokens 200000

A discrete-event simulation of embed_parts on Ray. Measured on one machine (benchmarks/scale.py) and
given here: the tokens/s of a worker with one thread, the tokens of a block, the seconds to start a
worker, the seconds of the scheduler for each block, and those of the driver to read the record of
its part at the end. Assumed: block times vary by `--spread` (the standard deviation of their
logarithm), a share `--slow-share` of the workers runs at half speed (stragglers), and a worker
fails every `--hours-to-failure` hours: its block is lost and another worker starts in its place.
The scheduler hands out one block at a time. Prints hours and the efficiency: the time of all words
at full speed on all cores, divided by the time they took.
"""

import argparse
import heapq
import math
import random
from dataclasses import dataclass, fields

WORDS = (10**9, 10**10, 10**11)
WORKERS = (10, 100, 1000)


@dataclass(frozen=True)
class Costs:
    """What a run is made of, in seconds and tokens."""

    tokens_per_second: float
    block_tokens: float
    start_s: float = 10.0
    schedule_s: float = 0.01
    finish_s: float = 0.0002
    spread: float = 0.2
    slow_share: float = 0.05
    hours_to_failure: float = 500.0


def simulate(costs: Costs, n_words: int, n_workers: int, seed: int = 1) -> tuple[float, float]:
    """Return the hours of a run and its efficiency."""
    rng = random.Random(seed)
    block_s = costs.block_tokens / costs.tokens_per_second
    n_blocks = -(-n_words // round(costs.block_tokens))
    correction = math.exp(costs.spread**2 / 2)  # of a log-normal's mean

    def speed() -> float:
        return 0.5 if rng.random() < costs.slow_share else 1.0

    free = [(costs.start_s, worker, speed()) for worker in range(n_workers)]
    heapq.heapify(free)
    scheduler_free = end = 0.0
    left = n_blocks
    while left:
        at, worker, its_speed = heapq.heappop(free)
        began = max(at, scheduler_free)
        scheduler_free = began + costs.schedule_s
        needed = block_s / its_speed * rng.lognormvariate(0, costs.spread) / correction
        until_failure = rng.expovariate(1 / (3600 * costs.hours_to_failure))
        if until_failure < needed:  # the block is made again by whoever is free next
            at = scheduler_free + until_failure + costs.start_s
            heapq.heappush(free, (at, worker, speed()))
            continue
        done = scheduler_free + needed
        left -= 1
        end = max(end, done)
        heapq.heappush(free, (done, worker, its_speed))
    end += n_blocks * costs.finish_s
    return end / 3600, n_blocks * block_s / n_workers / end


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens-per-second", type=float, required=True, help="of one worker")
    parser.add_argument("--block-tokens", type=float, default=200_000)
    for field in fields(Costs)[2:]:
        name = f"--{field.name.replace('_', '-')}"
        parser.add_argument(name, type=float, default=field.default, help="default: %(default)s")
    costs = Costs(**vars(parser.parse_args()))
    print("| words | cores | hours | efficiency |\n|---|---:|---:|---:|")
    for n_words in WORDS:
        for n_workers in WORKERS:
            hours, efficiency = simulate(costs, n_words, n_workers)
            print(f"| {n_words:,} | {n_workers:,} | {hours:,.1f} | {100 * efficiency:.0f} % |")


if __name__ == "__main__":
    main()
