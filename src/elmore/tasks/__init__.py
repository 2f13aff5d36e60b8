"""Tasks on ELMo vectors: classification of texts and pairs, tagging, question answering."""

from elmore.tasks.answer import QuestionAnswerer
from elmore.tasks.classify import Classifier, PairClassifier
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
    "ElmoInput",
    "Examples",
    "PairClassifier",
    "Question",
    "QuestionAnswerer",
    "RightAnswer",
    "StaticInput",
    "Tagger",
    "VectorInput",
    "read_labelled",
    "read_pairs",
    "read_questions",
    "read_tagged",
]
