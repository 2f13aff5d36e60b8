"""Tasks on ELMo vectors: classification, tagging, question answering, coreference resolution.

Names are imported when first used, so that the settings of tasks can be read without torch.
"""

from typing import TYPE_CHECKING, Any

from elmore.extras import import_with_torch

if TYPE_CHECKING:
    from elmore.tasks.answer import QuestionAnswerer
    from elmore.tasks.classify import Classifier, PairClassifier
    from elmore.tasks.coref import Coreferencer
    from elmore.tasks.coref_conll import document_lines, read_documents
    from elmore.tasks.documents import Document, Mention
    from elmore.tasks.examples import Clause, Examples
    from elmore.tasks.inputs import CharInput, StaticInput
    from elmore.tasks.layer_inputs import ElmoInput, VectorInput
    from elmore.tasks.questions import Answer, Question, RightAnswer
    from elmore.tasks.readers import read_labelled, read_pairs, read_tagged
    from elmore.tasks.squad import read_questions
    from elmore.tasks.tag import Tagger

__all__ = [
    "Answer",
    "CharInput",
    "Classifier",
    "Clause",
    "Coreferencer",
    "Document",
    "ElmoInput",
    "Examples",
    "Mention",
    "PairClassifier",
    "Question",
    "QuestionAnswerer",
    "RightAnswer",
    "StaticInput",
    "Tagger",
    "VectorInput",
    "document_lines",
    "read_documents",
    "read_labelled",
    "read_pairs",
    "read_questions",
    "read_tagged",
]

_HOMES = {
    "answer": ("QuestionAnswerer",),
    "classify": ("Classifier", "PairClassifier"),
    "coref": ("Coreferencer",),
    "coref_conll": ("document_lines", "read_documents"),
    "documents": ("Document", "Mention"),
    "examples": ("Clause", "Examples"),
    "inputs": ("CharInput", "StaticInput"),
    "layer_inputs": ("ElmoInput", "VectorInput"),
    "questions": ("Answer", "Question", "RightAnswer"),
    "readers": ("read_labelled", "read_pairs", "read_tagged"),
    "squad": ("read_questions",),
    "tag": ("Tagger",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            home = import_with_torch(f"elmore.tasks.{module}", f"elmore.tasks.{name}", "tasks")
            return getattr(home, name)
    raise AttributeError(f"module 'elmore.tasks' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
