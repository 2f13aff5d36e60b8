"""ELMo at work: text classification, sequence tagging and sentence pairs on frozen vectors."""

from elmore.tasks.classify import Classifier, PairClassifier
from elmore.tasks.readers import Examples, read_pairs, read_tagged, read_texts
from elmore.tasks.tag import Tagger

__all__ = [
    "Classifier",
    "Examples",
    "PairClassifier",
    "Tagger",
    "read_pairs",
    "read_tagged",
    "read_texts",
]
