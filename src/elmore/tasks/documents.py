"""Documents in, what a network reads and learns of them out; and clusters of mentions back.

Mentions are half-open, as slices are: of a string its characters, of tokenized sentences its
tokens, counted from the beginning of the document. A right mention that begins or ends inside a
token is learned as the tokens that it touches. One that crosses the end of a sentence is kept out
of training, because no such span is ever scored; in evaluation it counts as missed. One that is in
several clusters belongs to the first.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from numbers import Integral
from typing import Any, NamedTuple

import torch
from torch import Tensor

from elmore.errors import DataError, shown
from elmore.tasks.coref_metrics import Cluster, CorefEvaluation, Span, evaluate_clusters
from elmore.tasks.coref_network import DocumentScores
from elmore.tasks.examples import Examples
from elmore.tasks.task import Answers, Batch, Part, Reader, Reading, Words
from elmore.text import split_sentences

CLUSTERS, SINGLETONS, SPEAKERS, GENRE = "clusters", "singletons", "speakers", "genre "


@dataclass(frozen=True)
class Document:
    """A tokenized document."""

    sentences: Sequence[Sequence[str]]
    speakers: Sequence[str | None] = ()
    """Who says each sentence, if known."""
    genre: str | None = None
    name: str = ""
    part: int = 0
    header: str = field(default="", compare=False)
    """The line that begins it in its file, by which the official scorer knows a document."""

    def __post_init__(self) -> None:
        if not all(map(_are_tokens, self.sentences)):
            raise DataError(
                f"document {self.name!r} has {shown(self.sentences)}; expected a list of "
                "sentences, each a list of tokens"
            )
        if not isinstance(self.genre, str | None):
            raise DataError(f"genre is {shown(self.genre)}; expected a string, or None")
        if self.speakers and len(self.speakers) != len(self.sentences):
            raise DataError(
                f"document {self.name!r} has {len(self.sentences)} sentences and "
                f"{len(self.speakers)} speakers; expected one for each, or none at all"
            )

    @property
    def tokens(self) -> list[str]:
        """The tokens of all sentences."""
        return [token for sentence in self.sentences for token in sentence]


class Mention(NamedTuple):
    """A predicted mention."""

    start: int
    end: int
    """Of the characters of a string, or the tokens of a document, from `start` to before `end`."""
    text: str
    """Those characters, or those tokens with spaces between."""


Clusters = list[list[Mention]]


@dataclass(frozen=True)
class DocumentReading(Reading):
    """A document: the sentences of one text, none of them empty."""

    text: str | None
    """A string that was tokenized; None: it came as tokens."""
    offsets: tuple[Span, ...]
    """The characters of each token of a string."""
    speakers: tuple[str | None, ...]
    genre: str | None

    @property
    def tokens(self) -> list[str]:
        """The tokens of all sentences."""
        return [token for sentence in self.texts[0] for token in sentence]

    def token_span(self, span: Span) -> Span | None:
        """Return the first and last token of a mention; None if it is in no single sentence."""
        first, last = span[0], span[1] - 1
        if self.text is not None:
            touched = [
                place
                for place, (start, end) in enumerate(self.offsets)
                if start < span[1] and end > span[0]
            ]
            if not touched:
                return None
            first, last = touched[0], touched[-1]
        for end in accumulate(map(len, self.texts[0])):
            if first < end:
                return (first, last) if last < end else None
        return None

    def mention(self, first: int, last: int) -> Mention:
        """Return a span of tokens as users get it."""
        if self.text is None:
            return Mention(first, last + 1, " ".join(self.tokens[first : last + 1]))
        start, end = self.offsets[first][0], self.offsets[last][1]
        return Mention(start, end, self.text[start:end])


class DocumentReader(Reader):
    """Each example is a string, a `Document`, or a list of sentences, which are lists of tokens.

    `language` is the one by whose rules strings are split into sentences; None: they are one. In
    each epoch at most `max_sentences` of a document are learned from, chosen at random.
    """

    def __init__(self, *, language: str | None, max_sentences: int) -> None:
        self.language, self.max_sentences = language, max_sentences

    def check(self, examples: Examples) -> None:
        """Refuse clusters that are not of their document."""
        for place, (one, y) in enumerate(zip(examples.X, examples.y, strict=True)):
            if isinstance(one, DocumentReading):
                size = len(one.tokens) if one.text is None else len(one.text)
            else:
                size = len(one) if isinstance(one, str) else len(_document(one, place).tokens)
            if not isinstance(y, Sequence) or isinstance(y, str):
                raise DataError(f"the clusters of document {place} are {shown(y)}; expected a list")
            for cluster in y:
                for start, end in _spans(cluster):
                    if not 0 <= start < end <= size:
                        raise DataError(
                            f"document {place} has a mention from {start} to {end}; expected a "
                            f"start before its end, within 0 and {size}"
                        )

    def read(self, X: Sequence[Any], words: Words) -> list[DocumentReading]:
        """Split strings into sentences and tokens; take other documents as they are."""
        return [self._read(one, place, words) for place, one in enumerate(X)]

    def _read(self, one: Any, place: int, words: Words) -> DocumentReading:
        if isinstance(one, DocumentReading):
            return one
        if isinstance(one, str):
            bounds = split_sentences(one, self.language) if self.language else [(0, len(one))]
            sentences, offsets = [], []
            for start, end in bounds:
                found = words.tokens(one[start:end])
                sentences.append(tuple(token.text for token in found))
                offsets += [(start + token.start, start + token.end) for token in found]
            text = tuple(filter(None, sentences))
            return DocumentReading((text,), one, tuple(offsets), (), None)
        given = _document(one, place)
        text = tuple(tuple(sentence) for sentence in given.sentences if len(sentence))
        speakers = tuple(
            speaker
            for speaker, sentence in zip(given.speakers, given.sentences, strict=False)
            if len(sentence)
        )
        return DocumentReading((text,), None, (), speakers, given.genre)

    def tokenized(self, X: Sequence[Any], words: Words) -> list[Any]:
        """Return the readings, which `read` takes too."""
        return list(self.read(X, words))

    def part(self, reading: DocumentReading, target: Tensor, rng: random.Random) -> Part:
        """Choose the sentences of a document that an epoch learns from."""
        (text,) = reading.texts
        begin = rng.randrange(max(0, len(text) - self.max_sentences) + 1)
        chosen = slice(begin, begin + self.max_sentences)
        if begin == 0 and len(text) <= self.max_sentences:
            return Part(reading, target, chosen)
        n_before, n_tokens = (sum(map(len, some)) for some in (text[:begin], text[chosen]))
        inside = (target[:, 0] >= n_before) & (target[:, 1] < n_before + n_tokens)
        moved = target[inside] - torch.tensor([n_before, n_before, 0])
        cut = replace(reading, texts=(text[chosen],), speakers=reading.speakers[chosen])
        return Part(cut, moved, chosen)


class ClusterAnswers(Answers):
    """The clusters of mentions of each document.

    Its labels are what the training set has: clusters, singletons, speakers, and its genres.
    """

    @property
    def genres(self) -> list[str]:
        """The genres of the training set."""
        return [label.removeprefix(GENRE) for label in self.labels if label.startswith(GENRE)]

    def learn(self, train: Examples, dev: Examples) -> None:
        """See what the training set has."""
        if all(len(cluster) < 2 for y in train.y for cluster in distinct_clusters(y)):
            raise DataError(
                "no document of the training set has a cluster of two mentions; give some that have"
            )
        genres = {genre for one in train.X if (genre := getattr(one, "genre", None)) is not None}
        self.labels = [CLUSTERS, *(f"{GENRE}{genre}" for genre in sorted(genres))]
        if any(len(set(_spans(cluster))) == 1 for y in train.y for cluster in y):
            self.labels.append(SINGLETONS)
        if any(any(getattr(one, "speakers", ())) for one in train.X):
            self.labels.append(SPEAKERS)

    def targets(self, readings: Sequence[Any], y: Sequence[Any]) -> list[Any]:
        """Return the first and last token of each mention, and its cluster from 1, (n, 3)."""
        found = []
        for reading, clusters in zip(readings, y, strict=True):
            rows = [
                (*span, number)
                for number, cluster in enumerate(distinct_clusters(clusters), start=1)
                for span in map(reading.token_span, cluster)
                if span is not None
            ]
            found.append(torch.tensor(rows, dtype=torch.long).view(-1, 3))
        return found

    def decode(self, network: Any, scores: list[DocumentScores], batch: Batch) -> list[Clusters]:
        """Return the clusters of each document, in the order of their first mentions."""
        found = []
        for one, reading in zip(scores, batch.readings, strict=True):
            clusters = best_clusters(one, singletons=SINGLETONS in self.labels)
            if not reading.texts[0]:  # a document may have no words
                clusters = []
            found.append([[reading.mention(*span) for span in cluster] for cluster in clusters])
        return found

    def evaluate(self, right: Sequence[Any], given: Sequence[Any]) -> CorefEvaluation:
        """Return MUC, B-cubed, CEAF-phi4 and their mean."""
        return evaluate_clusters(
            [distinct_clusters(y) for y in right], [distinct_clusters(y) for y in given]
        )


def best_clusters(scores: DocumentScores, *, singletons: bool) -> list[list[Span]]:
    """Join each span to its best antecedent; with `singletons`, a lone mention is a cluster."""
    cluster_of: dict[int, list[Span]] = {}
    for row, choice in enumerate(scores.antecedents.argmax(1).tolist()):
        cluster_of[row] = cluster_of[row - choice] if choice else []
        cluster_of[row].append(scores.spans[row])
    is_mention = (scores.mentions > 0).tolist()
    found = {id(cluster): (row, cluster) for row, cluster in reversed(cluster_of.items())}
    return [
        cluster
        for row, cluster in sorted(found.values())
        if len(cluster) > 1 or (singletons and is_mention[row])
    ]


def distinct_clusters(y: Any) -> list[Cluster]:
    """Return clusters in which each mention occurs once, in the first that has it."""
    seen: set[Span] = set()
    found = []
    for cluster in y:
        own = [span for span in dict.fromkeys(_spans(cluster)) if span not in seen]
        seen.update(own)
        if own:
            found.append(tuple(own))
    return found


def _spans(cluster: Any) -> list[Span]:
    mentions = cluster if isinstance(cluster, Sequence) else [cluster]
    for mention in mentions:
        is_mention = isinstance(mention, Sequence) and len(mention) >= 2
        if not is_mention or not all(isinstance(place, Integral) for place in mention[:2]):
            raise DataError(
                f"a cluster has {shown(mention)}; expected a list of clusters for each document, "
                "each a list of mentions (start, end)"
            )
    return [(int(mention[0]), int(mention[1])) for mention in mentions]


def _document(one: Any, place: int) -> Document:
    if isinstance(one, Document):
        return one
    if not isinstance(one, Sequence) or not all(map(_are_tokens, one)):
        raise DataError(
            f"document {place} is {shown(one)}; expected a string, a Document, or a list of "
            "sentences, each a list of tokens"
        )
    return Document(one)


def _are_tokens(sentence: Any) -> bool:
    is_list = isinstance(sentence, Sequence) and not isinstance(sentence, str)
    return is_list and all(isinstance(token, str) for token in sentence)
