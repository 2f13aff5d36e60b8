"""Tasks on ELMo vectors: classification of texts and of pairs of texts, sequence tagging."""

from elmore.tasks.classify import Classifier, PairClassifier
from elmore.tasks.examples import Clause, Examples
from elmore.tasks.readers import read_labelled, read_pairs, read_tagged
from elmore.tasks.tag import Tagger

__all__ = [
    "Classifier",
    "Clause",
    "Examples",
    "PairClassifier",
    "Tagger",
    "read_labelled",
    "read_pairs",
    "read_tagged",
]
