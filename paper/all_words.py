"""Tell all words of running text apart by their senses: the paper's Table 5.

    python -m paper.all_words --model en --data PATH/wsd-eval --semcor PATH/semcor

SemCor's labelled words give each sense its vector; a word of the test text gets the nearest sense
of its lemma, and one that SemCor does not have its first sense in WordNet. Printed is F1, which is
accuracy as every word is answered, for each layer, for the states that predict a word without
reading it (context: side by side; expected: their sum) and for the top layer joined with these,
beside that of the first sense.
"""

import lzma
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree

from elmore import Elmo
from elmore.errors import DataError
from elmore.senses.representations import Representation
from elmore.senses.wsd import SenseSentence, SenseVectors, SenseWord
from paper.report import Results, arguments_of, elmo_of, run
from paper.words import cosine_note

SEMCOR, WORDNET = "semcor3.0.tsv.xz", "wordnet-index.sense.xz"
POS = {"NOUN": "1", "VERB": "2", "ADJ": "3", "ADV": "4"}  # in WordNet's sense keys

PUBLISHED = (
    "The paper (Table 5, five data sets together): first sense 65.9, layer 1 67.4, layer 2 69.0."
)


def word_of(key: str) -> str:
    """Return which word a sense key such as bank%1:17:01:: is of: bank%1.

    Adjectives that are satellites of others (5) share their numbers with the rest (3).
    """
    lemma, _, rest = key.rpartition("%")
    return f"{lemma}%{rest[:1].replace('5', '3')}"


def read_semcor(path: Path) -> Iterator[SenseSentence]:
    """Read SemCor as a table: document, sentence, token, tag, lemma, senses."""
    rows = (line.rstrip("\n").split("\t") for line in _lines(path) if line.strip())
    for _, group in groupby((row for row in rows if row[0][:1] != "#"), key=lambda row: row[:2]):
        tokens: list[str] = []
        words = []
        for row in group:
            if len(row) != 6:
                raise DataError(f"{path} has the row {row}; expected 6 columns")
            start = len(tokens)
            tokens += row[2].split("_")
            senses = tuple(row[5].split(";")) if row[5] else ()
            if senses:
                words.append(SenseWord(start, len(tokens), word_of(senses[0]), senses))
        yield SenseSentence(tuple(tokens), tuple(words))


def read_evaluation(folder: Path) -> list[SenseSentence]:
    """Read a data set of Raganato et al. (2017): XML and its answers."""
    answers = {}
    gold = folder / f"{folder.name}.gold.key.txt"
    for line in _lines(gold):
        if line.strip():
            number, *keys = line.split()
            answers[number] = tuple(keys)
    path = folder / f"{folder.name}.data.xml"
    try:
        sentences = list(ElementTree.parse(path).iter("sentence"))
    except ElementTree.ParseError as error:
        raise DataError(f"{path} is not XML ({error}); copy it anew") from None
    found = []
    for sentence in sentences:
        tokens: list[str] = []
        words = []
        for element in sentence:
            start = len(tokens)
            tokens += (element.text or "").split()
            if element.tag == "instance":
                number, pos = element.get("id", ""), element.get("pos", "")
                if number not in answers or pos not in POS:
                    raise DataError(
                        f"{path} has the instance {number!r}, {pos!r}; expected one with an answer "
                        f"in {gold.name}, and one of {', '.join(POS)}"
                    )
                word, senses = f"{element.get('lemma')}%{POS[pos]}", answers[number]
                words.append(SenseWord(start, len(tokens), word, senses))
        found.append(SenseSentence(tuple(tokens), tuple(words)))
    return found


def read_first_senses(path: Path) -> dict[str, str]:
    """Read which sense WordNet has first for each word."""
    found = {}
    for line in _lines(path):
        row = line.split()
        if len(row) != 4:
            raise DataError(f"{path} has the line {line!r}; expected 4 columns")
        if row[2] == "1":
            found[word_of(row[0])] = row[0]
    return found


def _lines(path: Path) -> Iterator[str]:
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        yield from file


def all_words(elmo: Elmo, data: Path, semcor: Path) -> Results:
    """Learn from SemCor, and measure on each data set in `data`."""
    first = read_first_senses(semcor / WORDNET)
    layers: list[Representation] = [*range(elmo.n_layers), "context", "expected", "joined"]
    known = SenseVectors(elmo, layers=layers).learn(read_semcor(semcor / SEMCOR))
    folders = sorted(path for path in data.iterdir() if path.is_dir())
    if not folders:
        raise DataError(f"{data} has no folder of a data set; expected such as senseval2")
    rows = {}
    for folder in folders:
        sentences = read_evaluation(folder)
        words = [word for sentence in sentences for word in sentence.words]
        if not words:
            raise DataError(f"{folder} has no word to tell; expected some instances")
        right = [0] * (len(layers) + 1)
        for word, given in zip(words, known.predict(sentences), strict=True):
            otherwise = first.get(word.word, "")
            nearest = [found.sense for found in given] if given else [otherwise] * len(layers)
            answers = [otherwise, *nearest]
            right = [n + (answer in word.senses) for n, answer in zip(right, answers, strict=True)]
        rows[folder.name] = [n / len(words) for n in right]
    columns = ["first sense", *(f"layer {n}" if isinstance(n, int) else n for n in layers)]
    note = f"{cosine_note(elmo)} {PUBLISHED}"
    return Results("all-words WSD, F1 in %", columns, rows, scale=100, note=note)


if __name__ == "__main__":
    arguments = arguments_of(
        __doc__, {"semcor": "the folder of SemCor and WordNet's index of senses"}
    )
    run(
        lambda: all_words(elmo_of(arguments), arguments.data, arguments.semcor),
        arguments,
    )
