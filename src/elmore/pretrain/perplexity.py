"""Sentences in, their perplexity out: by the full softmax, in both directions.

Each sentence starts from the zero state, as in `Elmo`, so its perplexity does not depend on other
sentences. A sentence of n words has n + 1 predictions in each direction: its words and the mark at
its other end.

Shapes: T tokens of a sentence, marks included; L+1 layers, D dim.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from elmore.corpus.manifest import Count
from elmore.corpus.shards import Corpus, Split
from elmore.engine.network import Network
from elmore.engine.reader import Reader
from elmore.engine.softmax import Softmax
from elmore.engine.word_cache import WordCache
from elmore.engine.word_scorer import TextScores, WordScorer
from elmore.errors import ConfigError, DataError, FormatError
from elmore.formats import Calibration, Pretrained, measure_calibration
from elmore.kernels.library import Floats
from elmore.text import BEGIN_SENTENCE, END_SENTENCE, UNKNOWN

_MARKS = (BEGIN_SENTENCE, END_SENTENCE)
_CACHE_WORDS = 65_536
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


def score_texts(model: Pretrained, texts: Iterable[Sequence[str]]) -> Iterator[Score]:
    """Score tokenized texts with a loaded model, each by itself, in their order."""
    scorer = _scorer(model)
    unknown = int(scorer.vocab.encode([UNKNOWN])[0])
    for some in _chunks(map(_as_in_training, texts)):
        scores = dict(scorer.score(some))
        for number in range(len(some)):
            yield _score(scores[number], unknown)


def score_split(model: Pretrained, corpus: Corpus, split: Split, max_words: int) -> Score:
    """Score the first sentences of a split of a prepared corpus, up to about so many words."""
    return sum(score_texts(model, _sentences(corpus, split, max_words)), NOTHING)


def score_held_out(model: Pretrained, corpus: Corpus) -> Iterator[Score]:
    """Score the held-out sentences of a prepared corpus with a model of its vocabulary."""
    if _scorer(model).vocab.words != corpus.vocab.words:
        raise ConfigError(
            f"{corpus.folder} was prepared with another vocabulary than the model's; "
            "give the corpus of the run that made the model, or the text itself"
        )
    if not corpus.held_out.n_words:
        raise DataError(f"{corpus.folder} has no held-out text; prepare it with held_out above 0")
    yield from score_texts(model, _sentences(corpus, corpus.held_out, corpus.held_out.n_words))


def calibration_of(model: Pretrained, corpus: Corpus) -> Calibration:
    """Measure the layers of a model on held-out text, or on training text where there is none."""
    split = corpus.held_out if corpus.held_out.n_words > 1 else corpus.training
    reader = _reader(model)

    def layers() -> Iterator[Floats]:
        for some in _chunks(_sentences(corpus, split, _CALIBRATION_WORDS)):
            for _, one in reader.read(some):
                yield one

    return measure_calibration(layers(), corpus.text_names)


def _reader(model: Pretrained) -> Reader:
    cache = WordCache(model.config.lstm.projection_dim, _CACHE_WORDS)
    return Reader(Network(model.config, model.arrays), model.encoder, cache)


def _scorer(model: Pretrained) -> WordScorer:
    """Return what scores words, which takes a softmax, its words, and an encoder of any word."""
    if model.config.n_softmax_words is None:
        raise FormatError(
            "the model has no softmax, so it gives words no probability; "
            "use a model folder that has one"
        )
    if model.vocab is None:
        raise FormatError("the model has no vocabulary, so the rows of its softmax have no words")
    if model.config.token_encoder.chars is None:
        raise DataError("perplexity needs a model that encodes words from their characters")
    return WordScorer(_reader(model), Softmax(model.arrays), model.vocab)


def _as_in_training(text: Sequence[str]) -> list[str]:
    if isinstance(text, str):
        raise DataError(f"got the text {text[:40]!r}; expected a list of tokens")
    return [UNKNOWN if word in _MARKS else word for word in text]


def _score(scores: TextScores, unknown: int) -> Score:
    n_words = len(scores.words)
    return Score(
        n_words + 1,
        int((scores.words == unknown).sum()),
        n_words,
        -math.fsum(scores.forward.tolist()),
        -math.fsum(scores.backward.tolist()),
    )


def _chunks(sentences: Iterable[Sequence[str]]) -> Iterator[list[Sequence[str]]]:
    """Yield sentences, so many at once that batches of them are of similar lengths."""
    waiting = iter(sentences)
    while some := list(islice(waiting, _SENTENCES_AT_ONCE)):
        yield some


def _sentences(corpus: Corpus, split: Split, max_words: int) -> Iterator[list[str]]:
    for shard in split.shards:
        start = 0
        for end in shard.ends.tolist():
            if max_words <= 0:
                return
            yield corpus.words(shard.ids[start:end])
            max_words -= end - start
            start = end
        shard.close()
