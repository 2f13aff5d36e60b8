"""How much alike do MeCab and the vocabulary of a model cut Korean text?

    python benchmarks/cuts.py kowiki.txt.xz --model ko --lines 1000

Printed as JSON: the share of the vocabulary's tokens that are MeCab's too, the share of MeCab's
that the vocabulary finds, and their harmonic mean; and tokens/s of both, on one core.
"""

import argparse
import json
import time
from itertools import islice
from pathlib import Path

from elmore.corpus.files import read_texts
from elmore.formats import read_pretrained
from elmore.text import Tokenizer, tokenizer_by_name


def cut(tokenizer: Tokenizer, lines: list[str]) -> tuple[set[tuple[int, int, int]], float]:
    start = time.perf_counter()
    found = {(n, t.start, t.end) for n, line in enumerate(lines) for t in tokenizer(line)}
    return found, len(found) / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", type=Path, nargs="+")
    parser.add_argument("--model", default="ko")
    parser.add_argument("--lines", type=int, default=1000, help="read the first lines only")
    given = parser.parse_args()
    lines = list(islice(read_texts(given.texts, "text"), given.lines))
    vocab = read_pretrained(given.model).vocab
    right, mecab_speed = cut(tokenizer_by_name("korean"), lines)
    found, speed = cut(tokenizer_by_name("korean-vocabulary", vocab), lines)
    both = len(found & right)
    facts = {
        "lines": len(lines),
        "tokens": len(right),
        "precision": both / len(found),
        "recall": both / len(right),
        "f1": 2 * both / (len(found) + len(right)),
        "tokens_per_second": speed,
        "mecab_tokens_per_second": mecab_speed,
    }
    print(json.dumps(facts, indent=2))


if __name__ == "__main__":
    main()
