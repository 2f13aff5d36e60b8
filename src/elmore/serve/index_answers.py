"""What a server answers about indexes: neighbours, senses, maps, change of meaning."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from elmore.serve.answers import Layer, Span, example

_OCCURRENCE: dict[str, Any] = {
    "tokens": ["the", "river", "bank"],
    "place": 2,
    "text": "the river bank",
    "span": [10, 14],
}
_SENSE: dict[str, Any] = {
    "name": "1",
    "share": 0.6,
    "substitutes": ["shore", "side"],
    "keywords": ["river", "water"],
}


class IndexedWord(BaseModel):
    """A word of an index."""

    word: str
    n_occurrences: int


class IndexFacts(BaseModel):
    """One index."""

    name: str
    model: str
    layers: list[Layer]
    is_standardized: bool = Field(description="Whether its vectors are standardized.")
    corpus: list[str] = Field(description="The texts that it was built from, by file name.")
    n_occurrences: int
    n_words: int
    words: list[IndexedWord] = Field(description="The most frequent words, at most 500.")


class IndexesAnswer(BaseModel):
    """The indexes of the server."""

    model_config = example(
        {
            "indexes": [
                {
                    "name": "wiki",
                    "model": "en",
                    "layers": [2, "expected"],
                    "is_standardized": True,
                    "corpus": ["wiki.txt"],
                    "n_occurrences": 5000,
                    "n_words": 40,
                    "words": [{"word": "bank", "n_occurrences": 300}],
                }
            ]
        }
    )

    indexes: list[IndexFacts]


class Occurrence(BaseModel):
    """A word where it stands."""

    tokens: list[str] = Field(description="Its sentence.")
    place: int = Field(description="Which of the tokens it is.")
    text: str = Field(description="The sentence as people write it, rebuilt from its tokens.")
    span: Span = Field(
        description="Where the word is in the text, [start, end), in Unicode code points."
    )


class Neighbour(Occurrence):
    """An occurrence, and how near it is."""

    word: str
    cosine: float


class LayerNeighbours(BaseModel):
    """What is nearest on one layer."""

    layer: Layer
    recall: float = Field(description="The share of the nearest that the search finds; 1: exact.")
    neighbours: list[Neighbour]


class NeighboursAnswer(BaseModel):
    """The occurrences nearest to a word in its sentence."""

    model_config = example(
        {
            "index": "wiki",
            "is_standardized": True,
            "layers": [
                {
                    "layer": "expected",
                    "recall": 1.0,
                    "neighbours": [{**_OCCURRENCE, "word": "bank", "cosine": 0.83}],
                }
            ],
        }
    )

    index: str
    is_standardized: bool
    layers: list[LayerNeighbours]


class SenseWords(BaseModel):
    """A sense by its words."""

    name: str
    substitutes: list[str] = Field(description="Words that could stand in its place.")
    keywords: list[str] = Field(description="Words that stand around it.")


class SenseFacts(SenseWords):
    """A sense, and which occurrences have it."""

    share: float = Field(description="Of the occurrences.")
    rows: list[int] = Field(description="Numbers in `occurrences`, the most typical first.")


class SensesAnswer(BaseModel):
    """The senses of a word, the most frequent first."""

    model_config = example(
        {
            "index": "wiki",
            "word": "bank",
            "n_occurrences": 300,
            "senses": [{**_SENSE, "rows": [0]}],
            "occurrences": [_OCCURRENCE],
        }
    )

    index: str
    word: str
    n_occurrences: int = Field(description="Of the word in the index.")
    senses: list[SenseFacts]
    occurrences: list[Occurrence] = Field(description="Those that were looked at.")


class Point(Occurrence):
    """An occurrence on the map."""

    x: float
    y: float
    sense: int = Field(description="The number of its sense in `senses`.")


class MapAnswer(BaseModel):
    """The occurrences of a word in two dimensions: what is near is alike."""

    model_config = example(
        {
            "index": "wiki",
            "word": "bank",
            "layer": "expected",
            "method": "pca",
            "senses": [_SENSE],
            "points": [{**_OCCURRENCE, "x": 0.2, "y": -0.1, "sense": 0}],
        }
    )

    index: str
    word: str
    layer: Layer
    method: Literal["pca", "tsne"]
    senses: list[SenseWords]
    points: list[Point] = Field(description="In the order of `occurrences` of GET /senses.")


class WordChange(BaseModel):
    """How much the use of a word changed."""

    word: str
    n_before: int
    n_after: int
    prototype: float = Field(description="1 - cosine of the mean vectors; 0: no change.")
    pairwise: float = Field(description="The mean of 1 - cosine over all pairs.")


class ChangeAnswer(BaseModel):
    """The words whose use changed most."""

    model_config = example(
        {
            "before": "1900s",
            "after": "2000s",
            "layer": "expected",
            "words": [
                {
                    "word": "cell",
                    "n_before": 90,
                    "n_after": 120,
                    "prototype": 0.4,
                    "pairwise": 0.8,
                }
            ],
        }
    )

    before: str
    after: str
    layer: Layer
    words: list[WordChange]


class SenseChange(SenseWords):
    """A sense, and how often it is meant before and after."""

    before: float = Field(description="Its share of the occurrences before.")
    after: float
    examples: list[Occurrence] = Field(description="Typical occurrences.")


class WordChangeAnswer(WordChange):
    """How the use of one word changed, sense by sense."""

    model_config = example(
        {
            "word": "cell",
            "n_before": 90,
            "n_after": 120,
            "prototype": 0.4,
            "pairwise": 0.8,
            "layer": "expected",
            "divergence": 0.3,
            "senses": [
                {
                    "name": "1",
                    "before": 0.9,
                    "after": 0.4,
                    "substitutes": ["room"],
                    "keywords": ["prison"],
                    "examples": [
                        {
                            "tokens": ["a", "prison", "cell", "."],
                            "place": 2,
                            "text": "a prison cell.",
                            "span": [9, 13],
                        }
                    ],
                }
            ],
        }
    )

    layer: Layer
    divergence: float = Field(description="Of how often each sense is meant, in bits, 0 to 1.")
    senses: list[SenseChange]
