"""How long does an index of a corpus take, how large is it, how fast and how good its search?

    python benchmarks/index.py TEXT… --out build/index --occurrences 2000000

Indexes the top layer of the texts until there are so many occurrences (or resumes a build),
makes the search, and looks for the ten nearest of 100 occurrences drawn at random. Printed as JSON:
the seconds and memory of each step, the size on disk, and the share of the ten nearest that the
search finds.
"""

import argparse
import json
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from elmore import Elmo
from elmore.corpus.files import read_texts
from elmore.senses.build import build_index
from elmore.senses.index import OccurrenceIndex
from elmore.senses.index_file import IndexConfig
from elmore.senses.search import Search

SEED = 1


class Counted:
    """Lines, until the index has enough occurrences."""

    def __init__(self, texts: list[Path], wanted: int) -> None:
        self.texts, self.wanted = texts, wanted
        self.n_occurrences = 0

    def lines(self) -> Iterator[str]:
        for line in read_texts(self.texts, "text"):
            if self.n_occurrences >= self.wanted:
                return
            yield line

    def count(self, n_lines: int, n_occurrences: int) -> None:
        self.n_occurrences += n_occurrences


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def timed_queries(search: Search, n_queries: int) -> list[float]:
    rng = np.random.default_rng(SEED)
    seconds = []
    for row in rng.choice(len(search.vectors), n_queries, replace=False):
        query = np.asarray(search.vectors[row], np.float32)
        start = time.perf_counter()
        search.nearest(query, 10)
        seconds.append(time.perf_counter() - start)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", type=Path, nargs="+")
    parser.add_argument("--model", default="en")
    parser.add_argument("--split-sentences", default="en")
    parser.add_argument("--occurrences", type=int, default=2_000_000)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    elmo = Elmo.from_pretrained(given.model)
    facts: dict[str, float | str] = {"loaded_mb": peak_megabytes()}
    counted = Counted(given.texts, given.occurrences)
    config = IndexConfig(layers=(elmo.n_layers - 1,), split_sentences=given.split_sentences)
    start = time.perf_counter()
    build_index(
        elmo, counted.lines(), given.out, config,
        source=[{"name": path.name} for path in given.texts], on_progress=counted.count,
    )  # fmt: skip
    facts |= {"build_s": time.perf_counter() - start, "build_peak_mb": peak_megabytes()}
    index = OccurrenceIndex.load(given.out)
    start = time.perf_counter()
    search = Search.load(index, elmo.n_layers - 1)
    facts |= {
        "occurrences": len(index),
        "words": len(index.words),
        "search": search.quality.kind,
        "search_s": time.perf_counter() - start,  # its recall is measured in that time too
        "recall_at_10": search.quality.recall,
        "peak_mb": peak_megabytes(),
        "size_mb": sum(path.stat().st_size for path in given.out.iterdir()) / 1e6,
    }
    seconds = timed_queries(search, 100)
    facts |= {
        "query_median_ms": 1e3 * float(np.median(seconds)),
        "query_worst_ms": 1e3 * max(seconds),
    }
    print(json.dumps(facts, indent=2))


if __name__ == "__main__":
    main()
