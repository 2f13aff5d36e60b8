"""The nearest neighbours of "play" in two sentences: the paper's Table 4.

    elmore index enwiki.txt --out idx --split-sentences en --max-per-word 2000
    python -m paper.neighbours --index idx --static glove.6B.50d.txt

Static vectors have one list of neighbours for the word. Here each of the paper's two sentences has
its own: the occurrence in the index that is nearest, on the highest layer it has.
"""

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path

from elmore import Elmo, StaticVectors
from elmore.senses.index import OccurrenceIndex
from elmore.senses.neighbours import neighbours
from paper.report import say_errors

WORD = "play"
TABLE = (
    (
        "Chico Ruiz made a spectacular play on Alusik 's grounder .",
        "Kieffer , the only junior in the group , was commended for his ability to hit in the "
        "clutch , as well as his all-round excellent play .",
    ),
    (
        "Olivia De Havilland signed to do a Broadway play for Garson .",
        "{...} they were actors who had been handed fat roles in a successful play , and had "
        "talent enough to fill the roles competently , with nice understatement .",
    ),
)
"""The paper's sentences, and what it found nearest."""


def table_4(elmo: Elmo, index: OccurrenceIndex, static: StaticVectors, n: int) -> Sequence[str]:
    """Return the lines of the table."""
    near = static.most_similar(WORD, 10)
    lines = ["static: " + ", ".join(f"{word} {cosine:.2f}" for word, cosine in near), ""]
    for sentence, published in TABLE:
        found = neighbours(
            elmo, index, sentence, WORD, n=n, layers=[index.layers[-1]], same_word=True
        )
        lines += [sentence, f"  the paper: {published}"]
        for one in found[0].neighbours:
            lines.append(f"  here, {one.cosine:.2f}: {' '.join(one.occurrence.tokens)}")
        lines.append("")
    return lines


def main() -> None:
    """Read the command line and print the table."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, required=True, help="made by elmore index")
    parser.add_argument("--static", type=Path, required=True, help="static vectors")
    parser.add_argument("--model", default="en", help="that of the index")
    parser.add_argument("--n", type=int, default=3, help="neighbours of each sentence")
    given = parser.parse_args()
    with say_errors():
        index = OccurrenceIndex.load(given.index)
        elmo = Elmo.from_pretrained(given.model)
        static = StaticVectors.load(given.static)
        print("\n".join(table_4(elmo, index, static, given.n)))


if __name__ == "__main__":
    main()
