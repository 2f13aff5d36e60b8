"""Tasks on ELMo vectors: classification, tagging, question answering, coreference resolution."""

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
