"""`Coreferencer`: a document in, the clusters of its mentions of the same thing out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from elmore.tasks.coref_network import CorefNetwork
from elmore.tasks.documents import SINGLETONS, SPEAKERS, ClusterAnswers, Clusters, DocumentReader
from elmore.tasks.estimator import TaskModel
from elmore.tasks.inputs import CharInput
from elmore.tasks.settings import CorefSettings, TaskName
from elmore.tasks.task import Task


@dataclass(repr=False, eq=False)
class Coreferencer(CorefSettings, TaskModel):
    """Finds the mentions of a document that refer to the same thing (Lee et al. 2017).

    Documents are strings, `Document`s, or lists of sentences, which are lists of tokens. The right
    answer is a list of clusters, each a list of mentions (start, end): half-open, in the characters
    of a string or the tokens of a document. If the training set has clusters of one mention, such
    are predicted too.
    """

    task: ClassVar[TaskName] = "coref"

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
