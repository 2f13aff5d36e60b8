"""How much grammar does each layer know? A linear probe for parts of speech (Table 6).

    python -m paper.pos_probe --model en --data PATH/ud-english-ewt
    python -m paper.pos_probe --model ko --data PATH/ud-korean-gsd

A multinomial logistic regression learns the universal part of speech of a word from its frozen
vector, on at most 6,000 training sentences of a Universal Dependencies treebank. Printed is its
accuracy on all words of the development sentences, for each layer and the mean of the layers.
"""

import lzma
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elmore import Elmo
from elmore.errors import DataError
from elmore.senses.probe import probe_layers
from paper.report import Results, arguments_of, elmo_of, run
from paper.words import Sentence, span_vectors

MOST_TRAINING = 6_000  # sentences
PUBLISHED = "The paper (Table 6, Penn Treebank, test): layer 1 97.3, layer 2 96.8."


@dataclass(frozen=True)
class TaggedSentence(Sentence):
    """A sentence, its words, and their parts of speech."""

    tags: list[str]


def read_treebank(data: Path, split: str) -> list[TaggedSentence]:
    """Read the words and tags of a split of a treebank (CoNLL-U)."""
    paths = sorted(data.glob(f"*-{split}.conllu*"))
    if len(paths) != 1:
        raise DataError(f"{data} has {len(paths)} files *-{split}.conllu; expected one")
    try:
        opened = lzma.open if paths[0].suffix == ".xz" else open
        with opened(paths[0], "rt", encoding="utf-8") as file:
            blocks = file.read().strip().split("\n\n")
    except (lzma.LZMAError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{paths[0]} cannot be read ({error}); copy it anew") from None
    return [_read_sentence(block, paths[0]) for block in blocks]


def _read_sentence(block: str, path: Path) -> TaggedSentence:
    text, spans, tags = "", [], []
    glued: dict[str, bool] = {}  # by a word's number, whether the next stands right after it
    for line in block.split("\n"):
        row = line.split("\t")
        if line.startswith("#"):
            continue
        if len(row) != 10:
            raise DataError(f"{path} has the line {line!r}; expected 10 columns")
        number, word, tag, notes = row[0], row[1], row[3], row[9]
        ends_glued = "SpaceAfter=No" in notes
        if number.isdecimal():
            spans.append((len(text), len(text) + len(word)))
            text += word + ("" if glued.get(number, ends_glued) else " ")
            tags.append(tag)
        elif "-" in number:  # such as 2-3, for the two words of "didn't"
            first, last = map(int, number.split("-"))
            glued |= {str(n): True for n in range(first, last)} | {str(last): ends_glued}
    return TaggedSentence(text, spans, tags)


def pos_probe(elmo: Elmo, data: Path) -> Results:
    """Measure every layer."""
    train, dev = read_treebank(data, "train")[:MOST_TRAINING], read_treebank(data, "dev")
    columns = [*(f"layer {n}" for n in range(elmo.n_layers)), "mean of layers"]
    known, asked = (
        np.stack([vectors[name] for name in columns])
        for vectors in (span_vectors(elmo, train), span_vectors(elmo, dev))
    )
    tags, gold = ([tag for s in sentences for tag in s.tags] for sentences in (train, dev))
    rows = {"dev": probe_layers(known, tags, asked, gold)}
    return Results("POS accuracy, %", columns, rows, scale=100, note=PUBLISHED)


if __name__ == "__main__":
    arguments = arguments_of(__doc__)
    run(lambda: pos_probe(elmo_of(arguments), arguments.data), arguments)
