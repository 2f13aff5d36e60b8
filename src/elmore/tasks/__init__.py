"""ELMo at work: text classification, sequence tagging and sentence pairs on frozen vectors."""

from elmore.tasks.classify import Classifier, PairClassifier
from elmore.tasks.readers import Clause, Examples, read_pairs, read_tagged, read_texts
from elmore.tasks.tag import Tagger

__all__ = [
    "Classifier",
    "Clause",
    "Examples",
    "PairClassifier",
    "Tagger",
    "read_pairs",
    "read_tagged",
    "read_texts",
]
