"""`Coreferencer`: a document in, the clusters of its mentions of the same thing out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from elmore.checks import at_least
from elmore.errors import ConfigError
from elmore.tasks.coref_network import CorefNetwork
from elmore.tasks.documents import SINGLETONS, SPEAKERS, ClusterAnswers, Clusters, DocumentReader
from elmore.tasks.estimator import TaskModel
from elmore.tasks.inputs import MAX_CHAR_FILTERS, CharInput
from elmore.tasks.settings import MAX_HIDDEN_DIM
from elmore.tasks.task import Task, TaskName
from elmore.text.sentences import check_language

_MAX_WIDTH = 100


@dataclass(repr=False, eq=False)
class Coreferencer(TaskModel):
    """Finds the mentions of a document that refer to the same thing (Lee et al. 2017).

    Documents are strings, `Document`s, or lists of sentences, which are lists of tokens. The right
    answer is a list of clusters, each a list of mentions (start, end): half-open, in the characters
    of a string or the tokens of a document. If the training set has clusters of one mention, such
    are predicted too.
    """

    batch_size: int = 1
    """Examples in a batch, at most; a small training set has smaller ones, down to 4, so that an
    epoch has 20 updates."""
    learning_rate: float = 0.001
    """Adam's learning rate; it is halved when the dev score stops improving."""
    dropout: float = 0.2
    """Dropout of the task's own layers."""
    char_filters: int = 64
    """Filters of the task's own character CNN; 0: it has none."""
    scorer_dim: int = 150
    """Dimensions of the hidden layers that score mentions and antecedents."""
    max_width: int = 10
    """Tokens of a mention, at most."""
    spans_per_token: float = 0.4
    """Spans that are kept as possible mentions, for each token of a document."""
    max_antecedents: int = 250
    """How many of the kept spans before a mention may be its antecedent, the nearest."""
    max_sentences: int = 50
    """Sentences of a document that an epoch learns from, at most; where they begin is random."""
    split_sentences: str | None = "en"
    """The language by whose rules texts are split into sentences for the biLM; none: they are
    not."""

    task: ClassVar[TaskName] = "coref"

    def check_settings(self) -> None:
        """Refuse settings that `fit` would refuse, before examples are read."""
        super().check_settings()
        at_least(0, largest=MAX_CHAR_FILTERS, char_filters=self.char_filters)
        at_least(1, largest=MAX_HIDDEN_DIM, scorer_dim=self.scorer_dim)
        at_least(1, largest=_MAX_WIDTH, max_width=self.max_width)
        at_least(1, max_antecedents=self.max_antecedents, max_sentences=self.max_sentences)
        if not 0 < self.spans_per_token <= self.max_width:
            raise ConfigError(
                f"spans_per_token is {self.spans_per_token}; expected a number above 0, and not "
                f"above max_width, {self.max_width}"
            )
        if self.split_sentences is not None:
            check_language(self.split_sentences)

    def predict(self, X: Sequence[Any]) -> list[Clusters]:
        """Return the clusters of each document, each a list of `Mention`s."""
        return self._predict(X)

    def _new_task(self) -> Task:
        answers = ClusterAnswers()
        reader = DocumentReader(language=self.split_sentences, max_sentences=self.max_sentences)
        return Task(
            reader,
            answers,
            lambda new_tokens: CorefNetwork(
                new_tokens(), hidden_dim=self.hidden_dim, scorer_dim=self.scorer_dim,
                dropout=self.dropout, max_width=self.max_width,
                spans_per_token=self.spans_per_token, max_antecedents=self.max_antecedents,
                genres=answers.genres, speakers=SPEAKERS in answers.labels,
                singletons=SINGLETONS in answers.labels,
            ),
            answers.evaluate,
            inputs=(CharInput(self.char_filters),) if self.char_filters else (),
            max_predicted=1,
            part=reader.part,
        )  # fmt: skip
