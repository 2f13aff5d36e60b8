"""Sentences in, their perplexity out: by the full softmax, in both directions.

Each sentence starts from the zero state, as in `Elmo`, so its perplexity does not depend on other
sentences. A sentence of n words has n + 1 predictions in each direction: its words and the mark at
its other end.

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

from elmore.corpus.manifest import Count
from elmore.corpus.shards import Corpus, Split
from elmore.engine import FastEngine, PackedSentences
from elmore.engine.batching import token_budget_batches
from elmore.engine.word_scorer import word_log_probs
from elmore.errors import ConfigError, DataError, FormatError
from elmore.formats import Calibration, Pretrained, measure_calibration
from elmore.model.bilm import BiLM
from elmore.text import (
    BEGIN_SENTENCE,
    END_SENTENCE,
    UNKNOWN,
    IdEncoder,
    Vocab,
)

Ids = npt.NDArray[np.int64]

_MARKS = (BEGIN_SENTENCE, END_SENTENCE)
MAX_BATCH_TOKENS = 4096
_SENTENCES_AT_ONCE = 2048  # sorted by length among themselves
_CALIBRATION_WORDS = 100_000


@dataclass(frozen=True)
class Score:
    """The negative log-likelihood of some text, and what its perplexity is computed from."""

    n_predictions: Count
    """Of each direction: words and sentence marks."""
    n_unknown: Count
    """Words outside the vocabulary, which are predicted as `<UNK>`."""
    n_words: Count
    forward_nll: float
    """The sum over the predictions of the forward direction."""
    backward_nll: float
    """The same of the backward direction."""

    @property
    def forward(self) -> float:
        """The perplexity of the forward direction."""
        return _perplexity(self.forward_nll, self.n_predictions)

    @property
    def backward(self) -> float:
        """The perplexity of the backward direction."""
        return _perplexity(self.backward_nll, self.n_predictions)

    @property
    def mean(self) -> float:
        """exp of the mean loss of both directions, as in the paper."""
        return _perplexity((self.forward_nll + self.backward_nll) / 2, self.n_predictions)

    @property
    def unknown_rate(self) -> float:
        """The share of unknown words."""
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
    # exp overflows beyond this, which a diverged model may reach
    return math.exp(min(nll / n, 700.0)) if n else math.nan


def _no_softmax() -> FormatError:
    return FormatError(
        "the model has no softmax, so it gives words no probability; "
        "use a model folder that has one"
    )


class Scorer:
    """Scores sentences of word ids; `encode_ids` turns them into the network's token ids.

    Ids from the size of the vocabulary on are words outside of it.
    """

    def __init__(
        self,
        bilm: BiLM,
        encode_ids: Callable[[Ids], npt.NDArray[np.integer]],
        marks: Ids,
        unknown: int,
    ) -> None:
        """Take the ids of `<S>` and `</S>`, and of `<UNK>`."""
        if bilm.softmax is None:
            raise _no_softmax()
        self.engine, self.softmax, self.encode_ids = FastEngine(bilm), bilm.softmax, encode_ids
        self.begin, self.end = marks.tolist()
        self.unknown = unknown

    def score(self, sentences: Iterable[Ids]) -> Iterator[Score]:
        """Score sentences, each by itself, in their order."""
        for some in _chunks(sentences):
            scores: list[Score | None] = [None] * len(some)
            for batch in _batches(some):
                found = self._score([some[k] for k in batch])
                for k, score in zip(batch, found, strict=True):
                    scores[k] = score
            yield from filter(None, scores)

    def layers(self, sentences: Iterable[Ids]) -> Iterator[Tensor]:
        """Yield the layers of sentences, each (L + 1, T + 2, D) with its marks, in any order."""
        for some in _chunks(sentences):
            for batch in _batches(some):
                _, layers = self._read([some[k] for k in batch])
                yield from layers.split_with_sizes([len(some[k]) + 2 for k in batch], dim=1)

    @torch.inference_mode()
    def _read(self, sentences: Sequence[Ids]) -> tuple[Ids, Tensor]:
        """Read sentences, longest first; return their ids, marks included, and all layers."""
        ids = np.concatenate([[self.begin, *sentence, self.end] for sentence in sentences])
        lengths = [len(sentence) + 2 for sentence in sentences]
        words, tokens = np.unique(ids, return_inverse=True)
        vectors = self.engine.token_vectors(torch.from_numpy(self.encode_ids(words)).long())
        output = self.engine.read(vectors, PackedSentences(torch.from_numpy(tokens), lengths), None)
        return ids, output.layers

    @torch.inference_mode()
    def _score(self, sentences: Sequence[Ids]) -> list[Score]:
        """Score sentences, longest first."""
        ids, layers = self._read(sentences)
        lengths = [len(sentence) + 2 for sentence in sentences]
        word_ids = torch.from_numpy(np.where(ids >= len(self.softmax.bias), self.unknown, ids))
        is_last = np.zeros(len(ids), dtype=bool)
        is_last[np.cumsum(lengths) - 1] = True
        is_first = np.roll(is_last, 1)
        found = word_log_probs(
            self.softmax,
            layers[-1],
            word_ids,
            forward=torch.from_numpy(~is_first),
            backward=torch.from_numpy(~is_last),
        )
        n_predictions = [length - 1 for length in lengths]
        forward, backward = (
            (-log_probs.double()).split_with_sizes(n_predictions)
            for log_probs in (found.forward, found.backward)
        )
        unknown = (word_ids == self.unknown).split_with_sizes(lengths)
        return [
            Score(
                length - 1,
                int(unknown[k].sum()),
                length - 2,
                float(forward[k].sum()),
                float(backward[k].sum()),
            )
            for k, length in enumerate(lengths)
        ]


def _chunks(sentences: Iterable[Ids]) -> Iterator[list[Ids]]:
    """Yield sentences, so many at once that batches of them have little padding."""
    waiting = iter(sentences)
    while some := list(islice(waiting, _SENTENCES_AT_ONCE)):
        yield some


def _batches(sentences: Sequence[Ids]) -> Iterator[list[int]]:
    return token_budget_batches([len(sentence) + 2 for sentence in sentences], MAX_BATCH_TOKENS)


def corpus_scorer(bilm: BiLM, corpus: Corpus, alphabet: Vocab | None) -> Scorer:
    """Return the scorer of the sentences of a prepared corpus; `alphabet` is the model's."""
    marks = corpus.vocab.encode([BEGIN_SENTENCE, END_SENTENCE])
    return Scorer(bilm, corpus.id_encoder(bilm.config, alphabet), marks, corpus.unknown)


def score_split(scorer: Scorer, split: Split, max_words: int) -> Score:
    """Score the first sentences of a split, up to about so many words."""
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


def calibration_of(bilm: BiLM, corpus: Corpus, alphabet: Vocab | None) -> Calibration:
    """Measure the layers of a model on held-out text, or on training text where there is none."""
    split = corpus.held_out if corpus.held_out.n_words > 1 else corpus.training
    layers = corpus_scorer(bilm, corpus, alphabet).layers(_sentences(split, _CALIBRATION_WORDS))
    return measure_calibration((one.numpy() for one in layers), corpus.text_names)


def score_held_out(model: Pretrained, corpus: Corpus) -> Iterator[Score]:
    """Score the held-out sentences of a prepared corpus with a model of its vocabulary."""
    vocab, _ = _vocab_and_encoder(model)
    if vocab.words != corpus.vocab.words:
        raise ConfigError(
            f"{corpus.folder} was prepared with another vocabulary than the model's; "
            "give the corpus of the run that made the model, or the text itself"
        )
    if not corpus.held_out.n_words:
        raise DataError(f"{corpus.folder} has no held-out text; prepare it with held_out above 0")
    bilm = BiLM.from_arrays(model.config, model.arrays)
    scorer = corpus_scorer(bilm, corpus, model.alphabet)
    yield from scorer.score(_sentences(corpus.held_out, corpus.held_out.n_words))


def _vocab_and_encoder(model: Pretrained) -> tuple[Vocab, IdEncoder]:
    """Return the words of the softmax and the encoder of words, which perplexity needs."""
    if model.config.n_softmax_words is None:
        raise _no_softmax()
    if model.vocab is None:
        raise FormatError("the model has no vocabulary, so the rows of its softmax have no words")
    if model.config.token_encoder.chars is None:
        raise DataError("perplexity needs a model that encodes words from their characters")
    return model.vocab, model.encoder


def score_texts(model: Pretrained, texts: Iterable[Sequence[str]]) -> Iterator[Score]:
    """Score tokenized texts with a loaded model."""
    vocab, encoder = _vocab_and_encoder(model)
    outside: list[str] = []
    ids_of_outside: dict[str, int] = {}
    unknown = int(vocab.encode([UNKNOWN])[0])

    def word_ids(text: Sequence[str]) -> Ids:
        if isinstance(text, str):
            raise DataError(f"got the text {text[:40]!r}; expected a list of tokens")
        text = [UNKNOWN if word in _MARKS else word for word in text]  # as in training
        ids = vocab.encode(text)
        for place in np.nonzero(ids == unknown)[0].tolist():
            word = text[place]
            if word not in ids_of_outside:
                ids_of_outside[word] = len(vocab) + len(outside)
                outside.append(word)
            ids[place] = ids_of_outside[word]
        return ids

    def encode_ids(ids: Ids) -> npt.NDArray[np.integer]:
        words = [vocab.words[i] if i < len(vocab) else outside[i - len(vocab)] for i in ids]
        return encoder.encode(words)

    marks = vocab.encode([BEGIN_SENTENCE, END_SENTENCE])
    bilm = BiLM.from_arrays(model.config, model.arrays)
    scorer = Scorer(bilm, encode_ids, marks, unknown)
    yield from scorer.score(word_ids(text) for text in texts)
