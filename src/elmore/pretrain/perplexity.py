"""Sentences in, how well the biLM predicts their words out: by the full softmax, both directions.

Each sentence is read by itself, from no state, as `Elmo` reads it, so the figure does not depend on
what is read before. A sentence of n words has n + 1 predictions in each direction: its words and
the mark at its other end.

Shapes: N tokens of some sentences, marks included; p projection_dim.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmore.corpus.shards import Corpus, Split
from elmore.engine import FastEngine, PackedSentences
from elmore.engine.batching import token_budget_batches
from elmore.errors import ConfigError, DataError, FormatError
from elmore.formats import Calibration, Pretrained, measure_calibration
from elmore.model import BiLM
from elmore.text import (
    BEGIN_SENTENCE,
    END_SENTENCE,
    UNKNOWN,
    CharEncoder,
    CharWordEncoder,
    Vocab,
)

Ids = npt.NDArray[np.int64]

_MARKS = (BEGIN_SENTENCE, END_SENTENCE)
_SENTENCES_AT_ONCE = 2048  # sorted by length among themselves
_TOKENS_AT_ONCE = 4096
_MAX_LOGITS = 2**22  # at once: 16 MB
_CALIBRATED_WORDS = 100_000


@dataclass(frozen=True)
class Score:
    """How well some text was predicted."""

    n_predictions: int
    """In each direction: words and sentence marks."""
    n_unknown: int
    """How many of the words are not in the vocabulary, and were predicted as `<UNK>`."""
    n_words: int
    forward_nll: float
    """The sum of the negative log-likelihoods, read from the left."""
    backward_nll: float
    """The same, read from the right."""

    @property
    def forward(self) -> float:
        """The perplexity of the direction that reads from the left."""
        return _perplexity(self.forward_nll, self.n_predictions)

    @property
    def backward(self) -> float:
        """The perplexity of the direction that reads from the right."""
        return _perplexity(self.backward_nll, self.n_predictions)

    @property
    def mean(self) -> float:
        """exp of the mean loss of both directions, as the paper has it."""
        return _perplexity((self.forward_nll + self.backward_nll) / 2, self.n_predictions)

    @property
    def unknown_rate(self) -> float:
        """The share of the words that is unknown."""
        return self.n_unknown / self.n_words if self.n_words else 0.0

    def __add__(self, other: "Score") -> "Score":
        return Score(
            self.n_predictions + other.n_predictions,
            self.n_unknown + other.n_unknown,
            self.n_words + other.n_words,
            self.forward_nll + other.forward_nll,
            self.backward_nll + other.backward_nll,
        )


NOTHING = Score(0, 0, 0, 0.0, 0.0)


def _perplexity(nll: float, n: int) -> float:
    # beyond this exp has no number; a broken model may come here
    return math.exp(min(nll / n, 700.0)) if n else math.nan


def _no_softmax() -> FormatError:
    return FormatError(
        "the model has no softmax, so it gives words no probability; "
        "use a model folder that was written with it"
    )


class Scorer:
    """Scores sentences of word ids; `spell` gives ids their characters.

    An id of the vocabulary's length or more is a word outside of it.
    """

    def __init__(
        self, bilm: BiLM, spell: Callable[[Ids], npt.NDArray[np.integer]], marks: Ids, unknown: int
    ) -> None:
        """Take the rows of `<S>` and `</S>`, and of `<UNK>`."""
        if bilm.softmax is None:
            raise _no_softmax()
        self.engine, self.softmax, self.spell = FastEngine(bilm), bilm.softmax, spell
        self.begin, self.end = marks.tolist()
        self.unknown = unknown

    def score(self, sentences: Iterable[Ids]) -> Iterator[Score]:
        """Score sentences, each by itself, in their order."""
        waiting = iter(sentences)
        while some := list(islice(waiting, _SENTENCES_AT_ONCE)):
            scores: list[Score | None] = [None] * len(some)
            lengths = [len(sentence) + 2 for sentence in some]
            for batch in token_budget_batches(lengths, _TOKENS_AT_ONCE):
                found = self._score([some[k] for k in batch])
                for k, score in zip(batch, found, strict=True):
                    scores[k] = score
            yield from filter(None, scores)

    def layers(self, sentences: Iterable[Ids]) -> Iterator[Tensor]:
        """Return the layers of sentences, each (L + 1, T + 2, D) with its marks, in any order."""
        waiting = iter(sentences)
        while some := list(islice(waiting, _SENTENCES_AT_ONCE)):
            lengths = [len(sentence) + 2 for sentence in some]
            for batch in token_budget_batches(lengths, _TOKENS_AT_ONCE):
                _, layers = self._read([some[k] for k in batch])
                yield from layers.split_with_sizes([lengths[k] for k in batch], dim=1)

    @torch.inference_mode()
    def _read(self, sentences: Sequence[Ids]) -> tuple[Ids, Tensor]:
        """Read sentences, longest first; return their ids, marks included, and all layers."""
        ids = np.concatenate([[self.begin, *sentence, self.end] for sentence in sentences])
        lengths = [len(sentence) + 2 for sentence in sentences]
        words, tokens = np.unique(ids, return_inverse=True)
        vectors = self.engine.token_vectors(torch.from_numpy(self.spell(words)).long())
        reading = self.engine.read(
            vectors, PackedSentences(torch.from_numpy(tokens), lengths), None
        )
        return ids, reading.layers

    @torch.inference_mode()
    def _score(self, sentences: Sequence[Ids]) -> list[Score]:
        """Score sentences, longest first."""
        ids, layers = self._read(sentences)
        lengths = [len(sentence) + 2 for sentence in sentences]
        top, p = layers[-1], layers.shape[2] // 2  # (N, 2p)
        rows = torch.from_numpy(np.where(ids >= len(self.softmax.bias), self.unknown, ids))
        ends = np.cumsum(lengths)
        # Forward, each token but the last predicts the next; backward, each but the first.
        is_last = np.zeros(len(ids), dtype=bool)
        is_last[ends - 1] = True
        is_first = np.roll(is_last, 1)
        before, after = torch.from_numpy(~is_last), torch.from_numpy(~is_first)
        forward = self._losses(top[before, :p], rows[after])
        backward = self._losses(top[after, p:], rows[before])
        unknown = rows == self.unknown
        scores = []
        start = 0
        for number, length in enumerate(lengths):
            some = slice(start - number, start - number + length - 1)  # one prediction less each
            scores.append(
                Score(
                    length - 1,
                    int(unknown[start : start + length].sum()),
                    length - 2,
                    float(forward[some].sum()),
                    float(backward[some].sum()),
                )
            )
            start += length
        return scores

    def _losses(self, states: Tensor, rows: Tensor) -> Tensor:
        """Return the negative log-likelihood of each word (N,) after its state (N, p)."""
        step = max(1, _MAX_LOGITS // len(self.softmax.bias))
        found = [
            -self.softmax(states[start : start + step], rows[start : start + step]).double()
            for start in range(0, len(states), step)
        ]
        return torch.cat(found)


def corpus_scorer(bilm: BiLM, corpus: Corpus) -> Scorer:
    """Return what scores the sentences of a prepared corpus."""
    marks = corpus.vocab.encode([BEGIN_SENTENCE, END_SENTENCE])
    return Scorer(bilm, corpus.speller(bilm.config), marks, corpus.unknown)


def score_split(scorer: Scorer, split: Split, max_words: int) -> Score:
    """Score the first sentences of a prepared text, up to about so many words."""
    return sum(scorer.score(_sentences(split, max_words)), NOTHING)


def _sentences(split: Split, max_words: int) -> Iterator[Ids]:
    for shard in split.shards:
        start = 0
        for end in shard.ends.tolist():
            if max_words <= 0:
                return
            yield np.asarray(shard.ids[start:end], dtype=np.int64)
            max_words -= end - start
            start = end
        shard.close()


def calibration_of(bilm: BiLM, corpus: Corpus) -> Calibration:
    """Measure the layers of a model on held-out text, or on training text where there is none."""
    split = corpus.held_out if corpus.held_out.n_words else corpus.training
    readings = corpus_scorer(bilm, corpus).layers(_sentences(split, _CALIBRATED_WORDS))
    return measure_calibration(readings, [text["name"] for text in corpus.manifest["texts"]])


def score_held_out(model: Pretrained, corpus: Corpus) -> Iterator[Score]:
    """Score the held-out sentences of a prepared corpus with a model of its vocabulary."""
    vocab, _ = _words_and_spelling(model)
    if vocab.words != corpus.vocab.words:
        raise ConfigError(
            f"{corpus.folder} was prepared with another vocabulary than the model's; "
            "give the corpus of the run that made the model, or the text itself"
        )
    if not corpus.held_out.n_words:
        raise DataError(f"{corpus.folder} has no held-out text; prepare it with held_out above 0")
    scorer = corpus_scorer(model.bilm, corpus)
    yield from scorer.score(_sentences(corpus.held_out, corpus.held_out.n_words))


def _words_and_spelling(model: Pretrained) -> tuple[Vocab, CharEncoder | CharWordEncoder]:
    """Return the words of the softmax and what spells words, which a model must have."""
    if model.bilm.softmax is None:
        raise _no_softmax()
    if model.vocab is None:
        raise FormatError("the model has no vocabulary, so it cannot tell which row is which word")
    encoder = model.encoder
    if isinstance(encoder, Vocab):
        raise DataError("perplexity needs a model that spells words in characters")
    return model.vocab, encoder


def score_texts(model: Pretrained, texts: Iterable[Sequence[str]]) -> Iterator[Score]:
    """Score tokenized texts with a loaded model."""
    vocab, encoder = _words_and_spelling(model)
    outside: list[str] = []
    places: dict[str, int] = {}

    unknown = int(vocab.encode([UNKNOWN])[0])

    def number(text: Sequence[str]) -> Ids:
        text = [UNKNOWN if word in _MARKS else word for word in text]  # as in training
        rows = vocab.encode(text)
        for place in np.nonzero(rows == unknown)[0].tolist():
            word = text[place]
            if word not in places:
                places[word] = len(vocab) + len(outside)
                outside.append(word)
            rows[place] = places[word]
        return rows

    def spell(ids: Ids) -> npt.NDArray[np.integer]:
        words = [vocab.words[i] if i < len(vocab) else outside[i - len(vocab)] for i in ids]
        return encoder.encode(words)

    scorer = Scorer(
        model.bilm,
        spell,
        vocab.encode([BEGIN_SENTENCE, END_SENTENCE]),
        unknown,
    )
    yield from scorer.score(number(text) for text in texts)
