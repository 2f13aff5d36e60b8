"""What counting alone gives: n-gram perplexities to set beside a biLM's.

    python benchmarks/ngrams.py TRAIN.txt HELD_OUT.txt --max-words 50000    # .xz is read too
    python benchmarks/ngrams.py --corpus RUN/corpus --json

Sentences of word ids in, perplexities out: unigram, bigram and trigram, forward and backward, each
an interpolated modified Kneser-Ney model (Chen and Goodman 1998) whose last resort is the uniform
distribution, so that every word has a probability.

- The vocabulary starts with <S>, </S> and <UNK>. Every other id, and a mark inside of a sentence,
  is <UNK>, in training and in evaluation. A `<unk>` of the text itself is a word like any other.
- Forward predicts w1 .. wn </S> after <S>, backward wn .. w1 <S> after </S>. Perplexity is over
  all n + 1 predictions of each sentence. The mark that a direction begins with is never predicted.
- Counts are as in KenLM: below the highest order a count is the number of different words before,
  but for n-grams that begin a sentence, before which nothing can stand: those keep their own.
- Up to three ids are packed into one int64, so an n-gram is a number, and counting is sorting.
"""

import argparse
import json
import lzma
import resource
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmore.corpus.shards import Corpus, Split
from elmore.errors import DataError
from elmore.text import Vocab

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Sentence = Sequence[int] | npt.NDArray[np.integer[Any]]

MARKS = ("<S>", "</S>", "<UNK>")
BEGIN, END, UNKNOWN = range(3)
BITS = 21  # of an id; three of them fit into an int64
ORDERS = {"unigram": 1, "bigram": 2, "trigram": 3}
FALLBACK = (0.5, 1.0, 1.5)  # KenLM's discounts where the counts of counts give none


# --- sentences ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Text:
    """Sentences of word ids, one after the other, each between its marks."""

    ids: npt.NDArray[np.int32]
    """(words + 2 sentences,)"""
    begin: int = BEGIN
    """The mark that each sentence begins with; it ends with the other."""

    @classmethod
    def of(cls, sentences: Iterable[Sentence], n_words: int) -> "Text":
        """Join sentences without marks; ids that are no words of the vocabulary become <UNK>."""
        arrays = [np.asarray(sentence, np.int32) for sentence in sentences]
        ends = np.cumsum([len(array) for array in arrays], dtype=np.int64)
        return cls.joined([(np.concatenate([*arrays, np.empty(0, np.int32)]), ends)], n_words)

    @classmethod
    def joined(cls, parts: Iterable[tuple[Any, Any]], n_words: int) -> "Text":
        """Join parts of (ids of all words, where each sentence ends in them)."""
        if not len(MARKS) < n_words < 2**BITS:
            raise DataError(f"n_words is {n_words}; expected {len(MARKS) + 1} to {2**BITS - 1}")
        found = [np.empty(0, np.int32)]
        for ids, ends in parts:
            words = np.where((ids < len(MARKS)) | (ids >= n_words), UNKNOWN, ids).astype(np.int32)
            starts = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
            n = np.arange(len(ends))
            marked = np.full(len(words) + 2 * len(ends), -1, np.int32)
            marked[starts + 2 * n], marked[ends + 2 * n + 1] = BEGIN, END
            marked[marked < 0] = words
            found.append(marked)
        return cls(np.concatenate(found))

    def reversed(self) -> "Text":
        """Return the same sentences from the last word to the first."""
        return Text(self.ids[::-1], 1 - self.begin)

    def ngrams(self, order: int) -> Ints:
        """Return every prediction as its `order - 1` words before and itself, packed; in order.

        A sentence begins with as many marks as it takes.
        """
        before = self.ids.astype(np.int64)
        packed = before.copy()
        for distance in range(1, order):
            # What stands one further back, and before the beginning the beginning again.
            before[1:] = np.where(self.ids[1:] == self.begin, self.begin, before[:-1])
            before[:1] = self.begin
            packed |= before << (BITS * distance)
        found: Ints = packed[self.ids != self.begin]
        return found


# --- the model ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Level:
    """The n-grams of one order, with all that interpolation needs of them."""

    ngrams: Ints
    """Packed, sorted, each once; (ngrams,)."""
    kept: Floats
    """(c(h w) - D(c(h w))) / c(h), (ngrams,)."""
    histories: Ints
    """Packed, sorted, each once; (histories,)."""
    gamma: Floats
    """The share that the discounts leave to the order below, (histories,)."""
    discounts: Floats
    """D of the counts 1, 2, and 3 or more; (3,)."""

    @classmethod
    def of(cls, ngrams: Ints, counts: Ints) -> "Level":
        """Discount sorted n-grams and their counts."""
        discounts = discount(counts)
        taken = discounts[np.minimum(counts, 3) - 1]
        histories, first = np.unique(ngrams >> BITS, return_index=True)
        totals = np.add.reduceat(counts, first)
        gamma = np.add.reduceat(taken, first) / totals
        n_ngrams = np.diff(np.append(first, len(ngrams)))
        kept = (counts - taken) / np.repeat(totals, n_ngrams)
        return cls(ngrams, kept, histories, gamma, discounts)

    def interpolate(self, ngrams: Ints, lower: Floats) -> Floats:
        """Return the probabilities of `ngrams`, given those by the order below; (ngrams,)."""
        kept: Floats = _look_up(ngrams, self.ngrams, self.kept, 0.0)
        gamma: Floats = _look_up(ngrams >> BITS, self.histories, self.gamma, 1.0)
        return kept + gamma * lower


class KneserNey:
    """An interpolated modified Kneser-Ney model of order 1, 2 or 3; in one direction."""

    def __init__(self, levels: Sequence[Level], begin: int, n_words: int) -> None:
        self.levels = levels
        """From unigrams up."""
        self.begin = begin
        self.n_words = n_words

    @classmethod
    def fit(cls, text: Text, *, order: int, n_words: int) -> "KneserNey":
        """Count the n-grams of a text."""
        if not len(text.ids):
            raise DataError("the training text has no sentence; expected at least one")
        levels: list[Level] = []
        for n in range(order, 0, -1):
            ngrams, counts = np.unique(text.ngrams(n), return_counts=True)
            if n == 3:  # Two marks before a word say no more than one: that is a bigram.
                real = ngrams >> BITS != text.begin << BITS | text.begin
                ngrams, counts = ngrams[real], counts[real]
            if levels:
                tails, n_before = np.unique(levels[0].ngrams & _mask(n), return_counts=True)
                begins = ngrams >> BITS * (n - 1) == text.begin
                counts = np.where(begins, counts, _look_up(ngrams, tails, n_before, 0))
            levels.insert(0, Level.of(ngrams, counts))
        return cls(levels, text.begin, n_words)

    def probabilities(self, ngrams: Ints) -> Floats:
        """Return the probability of the last word of each packed n-gram, (ngrams,)."""
        found = np.where(ngrams & _mask(1) == self.begin, 0.0, 1 / (self.n_words - 1))
        for n, level in enumerate(self.levels, 1):
            found = level.interpolate(ngrams & _mask(n), found)
        return found

    def distribution(self, history: Sequence[int]) -> Floats:
        """Return the probability of every word after those read so far, the last read last."""
        n_before = len(self.levels) - 1
        ngrams = np.arange(self.n_words)
        padded = [*[self.begin] * n_before, *history]
        for distance in range(1, n_before + 1):
            ngrams |= padded[-distance] << (BITS * distance)
        return self.probabilities(ngrams)

    def perplexity(self, text: Text) -> float:
        """Return the perplexity of a text that runs in the same direction."""
        assert text.begin == self.begin
        chances = self.probabilities(text.ngrams(len(self.levels)))
        return float(np.exp(-np.log(chances).mean()))


def discount(counts: Ints) -> Floats:
    """Return D of the counts 1, 2, and 3 or more, from how many n-grams have the counts 1 to 4."""
    _, n1, n2, n3, n4 = np.bincount(np.minimum(counts, 5), minlength=6)[:5].tolist()
    if not n1 or not n2 or not n3:
        return np.array(FALLBACK)
    Y = n1 / (n1 + 2 * n2)  # the names are the paper's
    found = np.array([1 - 2 * Y * n2 / n1, 2 - 3 * Y * n3 / n2, 3 - 4 * Y * n4 / n3])
    return found if (found >= 0).all() else np.array(FALLBACK)


def _mask(n: int) -> int:
    return (1 << BITS * n) - 1


def _look_up(keys: Ints, table: Ints, values: Any, default: float) -> Any:
    """Return the value of each key in a sorted table, `default` where it is not there."""
    if not len(table):
        return np.full(len(keys), default)
    places = np.minimum(np.searchsorted(table, keys), len(table) - 1)
    return np.where(table[places] == keys, values[places], default)


# --- all of them ----------------------------------------------------------------------------------


def perplexities(
    train: Iterable[Sentence], held_out: Sequence[Sentence], n_words: int
) -> dict[str, Any]:
    """Return the perplexities of all models, forward and backward, from sentences without marks."""
    return compare(Text.of(train, n_words), Text.of(held_out, n_words), n_words)


def compare(train: Text, held_out: Text, n_words: int) -> dict[str, Any]:
    """Return the perplexities of all models, forward and backward."""
    n_words_read = int((held_out.ids > END).sum())
    if not n_words_read:
        raise DataError("the held-out text has no word; expected at least one")
    found: dict[str, Any] = {
        "n_words": n_words,
        "n_train_tokens": int((train.ids != train.begin).sum()),
        "n_predictions": int((held_out.ids != held_out.begin).sum()),
        "unknown_rate": int((held_out.ids == UNKNOWN).sum()) / n_words_read,
        "fallback_discounts": [],
    }
    pairs = {"forward": (train, held_out), "backward": (train.reversed(), held_out.reversed())}
    for direction, (text, unseen) in pairs.items():
        found[direction] = {}
        for name, order in ORDERS.items():
            model = KneserNey.fit(text, order=order, n_words=n_words)
            found[direction][name] = model.perplexity(unseen)
            found["fallback_discounts"] += [
                f"{direction} {name}, {n}-grams"
                for n, level in enumerate(model.levels, 1)
                if tuple(level.discounts) == FALLBACK
            ]
    return found


# --- files ----------------------------------------------------------------------------------------


def read_sentences(path: Path) -> Iterator[list[str]]:
    """Give the words of each line that has any."""
    with (
        lzma.open(path, "rt", encoding="utf-8")
        if path.suffix == ".xz"
        else path.open(encoding="utf-8") as file
    ):
        yield from filter(None, map(str.split, file))


def choose_words(path: Path, max_words: int) -> Vocab:
    """Return the marks and the most frequent words of a text; equally frequent ones by spelling."""
    counts: Counter[str] = Counter()
    for sentence in read_sentences(path):
        counts.update(sentence)
    words = sorted(counts.keys() - set(MARKS), key=lambda word: (-counts[word], word))
    return Vocab([*MARKS, *islice(words, max_words - len(MARKS))])


def compare_files(train: Path, held_out: Path, max_words: int) -> dict[str, Any]:
    """Return the perplexities on one text file after training on another."""
    vocab = choose_words(train, max_words)
    counted, unseen = (
        Text.of(map(vocab.encode, read_sentences(path)), len(vocab)) for path in (train, held_out)
    )
    return compare(counted, unseen, len(vocab))


def compare_corpus(folder: Path) -> dict[str, Any]:
    """Return the perplexities on the held-out text of a prepared corpus."""
    corpus = Corpus.load(folder)
    if corpus.vocab.words[: len(MARKS)] != MARKS:
        raise DataError(
            f"the vocabulary of {folder} begins with {corpus.vocab.words[: len(MARKS)]}; "
            f"expected {MARKS}"
        )
    train, held_out = (
        Text.joined(_parts(split), len(corpus.vocab))
        for split in (corpus.training, corpus.held_out)
    )
    return compare(train, held_out, len(corpus.vocab))


def _parts(split: Split) -> Iterator[tuple[Any, Any]]:
    for shard in split.shards:
        yield shard.ids, shard.ends
        shard.close()


def show(found: dict[str, Any]) -> None:
    """Print the figures as a table."""
    print(
        f"{found['n_words']:,} words in the vocabulary, {found['n_train_tokens']:,} tokens read, "
        f"{found['n_predictions']:,} to predict; {found['unknown_rate']:.2%} of the words unknown"
    )
    print(f"{'perplexity':<10}{'forward':>12}{'backward':>12}")
    for name in ORDERS:
        print(f"{name:<10}{found['forward'][name]:>12.2f}{found['backward'][name]:>12.2f}")
    for where in found["fallback_discounts"]:
        print(f"discounts {FALLBACK} taken, none can be estimated: {where}")
    print(f"{found['elapsed_s']:.1f} s, {found['max_memory_gb']:.2f} GB at most")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Perplexities of n-gram models.")
    parser.add_argument("train", type=Path, nargs="?", help="a sentence a line, words apart")
    parser.add_argument("held_out", type=Path, nargs="?", help="the same, to measure on")
    parser.add_argument("--max-words", type=int, default=50_000, help="marks included")
    parser.add_argument("--corpus", type=Path, help="a prepared corpus, instead of two files")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    args = parser.parse_args()
    if (args.corpus is None) == (args.held_out is None) or (args.corpus and args.train):
        parser.error("expected either TRAIN and HELD_OUT or --corpus FOLDER")
    started_at = time.perf_counter()
    if args.corpus:
        found = compare_corpus(args.corpus)
    else:
        found = compare_files(args.train, args.held_out, args.max_words)
    found["elapsed_s"] = time.perf_counter() - started_at
    found["max_memory_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    if args.json:
        print(json.dumps(found, indent=2))
    else:
        show(found)


if __name__ == "__main__":
    main()
