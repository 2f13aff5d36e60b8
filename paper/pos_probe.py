"""How much grammar does each layer know? A linear probe for parts of speech (Table 6).

    python -m paper.pos_probe --model en --data PATH/ud-english-ewt
    python -m paper.pos_probe --model ko --data PATH/ud-korean-gsd

A multinomial logistic regression learns the universal part of speech of a word from its frozen
vector, on at most 6,000 training sentences of a Universal Dependencies treebank. Printed is its
accuracy on all words of the development sentences, for each layer and the mean of the layers; then
on words with a token outside the model's vocabulary, for which a word table has no row.
"""

import lzma
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from elmore import Elmo
from elmore.errors import DataError
from elmore.senses.probe import probe
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
        raise DataError(f"{paths[0]} cannot be read ({error}); copy it again") from None
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


def unknown_words(elmo: Elmo, sentence: Sentence) -> list[bool]:
    """Say of each word whether a token of it is outside the model's vocabulary."""
    vocab = elmo.model.vocab
    if vocab is None:
        return [False] * len(sentence.spans)
    unknown = [token for token in elmo.tokenizer(sentence.text) if token.text not in vocab]
    return [any(t.start < end and start < t.end for t in unknown) for start, end in sentence.spans]


def pos_probe(elmo: Elmo, data: Path) -> Results:
    """Measure every layer."""
    train, dev = read_treebank(data, "train")[:MOST_TRAINING], read_treebank(data, "dev")
    columns = [*(f"layer {n}" for n in range(elmo.n_layers)), "mean of layers"]
    known, asked = span_vectors(elmo, train), span_vectors(elmo, dev)
    tags = [tag for sentence in train for tag in sentence.tags]
    gold = np.array([tag for sentence in dev for tag in sentence.tags])
    right = np.stack([probe(known[name], tags, asked[name]) == gold for name in columns])
    rows = {"dev": right.mean(axis=1)}
    unknown = np.array([flag for sentence in dev for flag in unknown_words(elmo, sentence)])
    if unknown.any():
        rows[f"dev, {unknown.sum():,} unknown words"] = right[:, unknown].mean(axis=1)
    shown = {name: row.tolist() for name, row in rows.items()}
    return Results("POS accuracy, %", columns, shown, scale=100, note=PUBLISHED)


if __name__ == "__main__":
    arguments = arguments_of(__doc__)
    run(lambda: pos_probe(elmo_of(arguments), arguments.data), arguments)
