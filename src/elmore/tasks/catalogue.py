"""The tasks by name: what trains each, and what reads its files of examples."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from elmore.tasks.answer import QuestionAnswerer
from elmore.tasks.classify import Classifier, PairClassifier
from elmore.tasks.coref import Coreferencer
from elmore.tasks.coref_conll import DocumentFormat, read_documents
from elmore.tasks.estimator import TaskModel
from elmore.tasks.examples import Examples
from elmore.tasks.readers import (
    PairFormat,
    TagFormat,
    TextFormat,
    read_labelled,
    read_pairs,
    read_tagged,
)
from elmore.tasks.squad import QuestionFormat, read_questions
from elmore.tasks.tag import Tagger


@dataclass(frozen=True)
class TaskKind:
    """One task."""

    model: type[TaskModel]
    read: Callable[..., Examples]
    """Reads a file."""
    formats: Any
    """The formats of files, a Literal."""


TASKS: dict[str, TaskKind] = {
    kind.model.task: kind
    for kind in (
        TaskKind(Classifier, read_labelled, TextFormat),
        TaskKind(Tagger, read_tagged, TagFormat),
        TaskKind(PairClassifier, read_pairs, PairFormat),
        TaskKind(QuestionAnswerer, read_questions, QuestionFormat),
        TaskKind(Coreferencer, read_documents, DocumentFormat),
    )
}
