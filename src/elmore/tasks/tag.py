"""`Tagger`: a sentence in, a tag for each word out."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch

from elmore.embed.texts import given_tokens
from elmore.errors import DataError, shown
from elmore.tasks.crf import Crf
from elmore.tasks.estimator import TaskModel
from elmore.tasks.examples import Examples
from elmore.tasks.inputs import CharInput
from elmore.tasks.label_answers import LabelAnswers
from elmore.tasks.metrics import LabelEvaluation, evaluate_spans, evaluate_tags
from elmore.tasks.networks import TagNetwork
from elmore.tasks.schemes import Scheme, allowed_transitions, scheme_of, to_bio, to_bioes
from elmore.tasks.settings import TagSettings, TaskName
from elmore.tasks.task import Batch, NewTokenInput, Reader, Reading, Task, Words


@dataclass(frozen=True)
class ClauseReading(Reading):
    """A sentence and the place of its predicate."""

    predicate: int


class SentenceReader(Reader):
    """Each example is a sentence, a list of tokens; with `predicate`, beside its place."""

    def __init__(self, *, predicate: bool) -> None:
        self.predicate = predicate

    def check(self, examples: Examples) -> None:
        """Refuse sentences that have not one tag for each token."""
        for place, (one, tags) in enumerate(zip(examples.X, examples.y, strict=True)):
            sentence, _ = self._clause(one, place)
            if isinstance(sentence, str):
                raise DataError(f"sentence {place} is {shown(sentence)}; expected a list of tokens")
            n_tokens = len(given_tokens(sentence, f"sentence {place}"))
            if not _are_tags(tags):
                raise DataError(
                    f"the tags of sentence {place} are {shown(tags)}; expected a list of strings, "
                    "such as B-PER, one for each token"
                )
            if n_tokens != len(tags):
                raise DataError(
                    f"sentence {place} has {n_tokens} tokens and {len(tags)} tags; "
                    "expected a tag for each"
                )

    def read(self, X: Sequence[Any], words: Words) -> list[Reading]:
        """Return the tokens of each sentence, and the place of its predicate if it has one."""
        found: list[Reading] = []
        for number, one in enumerate(X):
            sentence, place = self._clause(one, number)
            tokens = words.tokenize(sentence, number)
            if not self.predicate:
                found.append(Reading(((tokens,),)))
                continue
            if not 0 <= place < len(tokens):
                raise DataError(f"the predicate of {sentence!r} is at {place}; name a place in it")
            found.append(ClauseReading(((tokens,),), int(place)))
        return found

    def _clause(self, one: Any, number: int) -> tuple[Any, int]:
        """Return the sentence of an example, and its predicate's place if it has one."""
        is_pair = isinstance(one, Sequence) and not isinstance(one, str) and len(one) == 2
        is_clause = is_pair and isinstance(one[1], Integral)
        if is_clause and not self.predicate:
            raise DataError(
                f"got {one!r}, with the place of its predicate; set predicate=True (--predicate), "
                "or give sentences"
            )
        if self.predicate and not is_clause:
            raise DataError(f"got {one!r}; expected tokens and the place of the predicate")
        return one if is_clause else (one, -1)

    def training(
        self, readings: Sequence[Any], y: Sequence[Any]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Leave out sentences without tokens."""
        kept = [(one, tags) for one, tags in zip(readings, y, strict=True) if one.n_tokens]
        return [one for one, _ in kept], [tags for _, tags in kept]


def _are_tags(given: Any) -> bool:
    is_list = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
    return is_list and all(isinstance(tag, str) for tag in given)


class WordTags(LabelAnswers):
    """A tag for each word; spans in BIO are learned as BIOES and given back as BIO."""

    scores_weight = "crf.start"

    @property
    def scheme(self) -> Scheme:
        """The scheme of the training examples."""
        return scheme_of(self.labels)

    @property
    def tags(self) -> list[str]:
        """The tags that the network scores: those of the examples or, of spans, BIOES."""
        if self.scheme == "none":
            return self.labels
        kinds = sorted({tag.partition("-")[2] for tag in self.labels if tag != "O"})
        return ["O", *(f"{prefix}-{kind}" for kind in kinds for prefix in "BIES")]

    @property
    def n_scored(self) -> int:
        """How many tags the network scores."""
        return len(self.tags)

    def labels_of(self, y: Sequence[Any]) -> list[str]:
        """Return the tags of all words."""
        return [str(tag) for tags in y for tag in tags]

    def targets(self, readings: Sequence[Any], y: Sequence[Any]) -> list[Any]:
        """Return the number of each word's tag."""
        rows = {tag: row for row, tag in enumerate(self.tags)}
        inside = list if self.scheme == "none" else to_bioes
        return [[rows[tag] for tag in inside(tags)] for tags in y]

    def crf(self) -> Crf:
        """Return a new CRF of the tags."""
        inside: Scheme = "none" if self.scheme == "none" else "bioes"
        return Crf(len(self.tags), allowed_transitions(self.tags, inside))

    def decode(self, network: Any, scores: Any, batch: Batch) -> list[Any]:
        """Return the best sequence of tags of each sentence."""
        names, outside = self.tags, to_bio if self.scheme == "bio" else list
        found = network.crf.decode(scores, batch.sides[0].mask)
        return [
            outside([names[k] for k in tags[: one.n_tokens]])
            for tags, one in zip(found, batch.readings, strict=True)
        ]

    def probabilities(self, network: Any, scores: Any, batch: Batch) -> list[Any]:
        """Return the CRF's marginals, (words, K) for each sentence."""
        # What was computed in inference mode has no gradient; a copy may have one.
        with torch.inference_mode(mode=False), torch.enable_grad():
            found = network.crf.marginals(scores.clone(), batch.sides[0].mask.clone())
        return [
            row[: one.n_tokens].double().numpy()
            for row, one in zip(found, batch.readings, strict=True)
        ]

    def evaluate(self, right: Sequence[Any], given: Sequence[Any]) -> LabelEvaluation:
        """Return the F1 of spans, or the accuracy of tags that mark no spans."""
        return (evaluate_tags if self.scheme == "none" else evaluate_spans)(right, given)


@dataclass(repr=False, eq=False)
class Tagger(TagSettings, TaskModel):
    """Tags each word of a sentence: a biLSTM-CRF on [static; ELMo; characters].

    Span tags may be BIO or BIOES: the network uses BIOES, which learns better, and predictions are
    in the scheme of the training examples. Sentences are lists of tokens; strings are tokenized.
    With `predicate`, each is a `Clause`, or a pair of tokens and the predicate's place.
    """

    task: ClassVar[TaskName] = "tag"

    def predict(self, X: Sequence[Any]) -> list[list[str]]:
        """Return the tags of each sentence."""
        return self._predict(X)

    def predict_proba(self, X: Sequence[Any]) -> list[npt.NDArray[np.float64]]:
        """Return the probability of each tag of each word, (words, K) for each sentence.

        Columns are `tags_`.
        """
        return self._predict(X, self._answers.probabilities)

    def predict_with_proba(
        self, X: Sequence[Any]
    ) -> list[tuple[list[str], npt.NDArray[np.float64]]]:
        """Return the tags of each sentence with the probability of each tag, in one run."""
        return self._predict(X, self._answers.decode_with_probabilities)

    @property
    def tags_(self) -> list[str]:
        """The tags of `predict_proba`: those of the examples or, of spans, those of BIOES."""
        return self._answers.tags

    @property
    def _answers(self) -> WordTags:
        answers = self._task.answers
        assert isinstance(answers, WordTags)
        return answers

    def _new_task(self) -> Task:
        answers = WordTags()

        def network(new_tokens: NewTokenInput) -> TagNetwork:
            crf = answers.crf()  # first: a seed's initial weights depend on the order
            return TagNetwork(
                new_tokens(), crf, hidden_dim=self.hidden_dim, dropout=self.dropout,
                marks=self.predicate,
            )  # fmt: skip

        return Task(
            SentenceReader(predicate=self.predicate),
            answers,
            network,
            answers.evaluate,
            inputs=(CharInput(self.char_filters),) if self.char_filters else (),
        )
