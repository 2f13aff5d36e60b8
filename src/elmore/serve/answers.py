"""What a server answers, as /openapi.json says it; what is sent is in `schemas.py`.

Vectors are sent by `encoding.py` without passing through these models; tests hold both together.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Span = tuple[int, int]
Vectors = list[float] | list[list[float]] | list[list[list[float]]] | str
Layer = int | Literal["context", "expected"]
Spans = Annotated[
    list[Span] | None,
    Field(
        description="Where each token stands in the text, [start, end), in Unicode code points; "
        "null where tokens were sent."
    ),
]


def example(content: dict[str, Any]) -> ConfigDict:
    """Return the configuration of a model that has an example."""
    return ConfigDict(json_schema_extra={"examples": [content]})


class FieldError(BaseModel):
    """What is wrong with one field."""

    field: str
    error: str


class Error(BaseModel):
    """Why a request is refused."""

    model_config = example({"error": "there is no model 'fr'; this server has en, ko"})

    error: str = Field(description="One sentence.")
    fields: list[FieldError] | None = Field(None, description="The fields that are wrong.")


class OpenAIErrorFacts(BaseModel):
    """Why a request is refused."""

    message: str = Field(description="One sentence.")
    type: Literal["invalid_request_error", "server_error"]
    param: None
    code: None


class OpenAIError(BaseModel):
    """An error as clients of OpenAI's API read it."""

    error: OpenAIErrorFacts
    fields: list[FieldError] | None = Field(None, description="The fields that are wrong.")


class EmbeddedText(BaseModel):
    """One text with its vectors."""

    tokens: list[str]
    spans: Spans
    shape: list[int] = Field(
        description="Of the vectors: [T, D]; [L + 1, T, D] for layers=all; without T if pooled."
    )
    vectors: Vectors = Field(description="Nested lists, or base64 of float32, row by row.")


class EmbedAnswer(BaseModel):
    """The vectors of each text."""

    model_config = example(
        {
            "model": "en",
            "results": [
                {
                    "tokens": ["I", "opened"],
                    "spans": [[0, 1], [2, 8]],
                    "shape": [2, 3],
                    "vectors": [[0.12, -0.3, 0.08], [0.4, 0.01, -0.2]],
                }
            ],
        }
    )

    model: str
    results: list[EmbeddedText]


class LayersOfText(BaseModel):
    """One text with all its representations."""

    tokens: list[str]
    spans: Spans
    shape: list[int] = Field(description="Of each representation: [T, D / 2].")
    representations: dict[str, Vectors] = Field(
        description='By name: "token", "forward 1", "backward 1", and so on. Layer 0 is [token; '
        "token], layer j is [forward j; backward j]."
    )


class LayersAnswer(BaseModel):
    """The representations of each text."""

    model_config = example(
        {
            "model": "en",
            "results": [
                {
                    "tokens": ["bank"],
                    "spans": [[0, 4]],
                    "shape": [1, 2],
                    "representations": {
                        "token": [[0.1, 0.2]],
                        "forward 1": [[0.3, -0.1]],
                        "backward 1": [[0.0, 0.5]],
                    },
                }
            ],
        }
    )

    model: str
    results: list[LayersOfText]


class OpenAIEmbedding(BaseModel):
    """One vector."""

    object: Literal["embedding"]
    index: int
    embedding: list[float] | str


class OpenAIUsage(BaseModel):
    """How much was read."""

    prompt_tokens: int
    total_tokens: int


class OpenAIEmbeddingsAnswer(BaseModel):
    """What clients of OpenAI's API read."""

    model_config = example(
        {
            "object": "list",
            "data": [{"object": "embedding", "index": 0, "embedding": [0.12, -0.3, 0.08]}],
            "model": "en",
            "usage": {"prompt_tokens": 4, "total_tokens": 4},
        }
    )

    object: Literal["list"]
    data: list[OpenAIEmbedding]
    model: str
    usage: OpenAIUsage


class SimilarityAnswer(BaseModel):
    """Cosines."""

    model_config = example({"model": "en", "cosines": [[0.81, 0.42]]})

    model: str
    cosines: list[list[float]] = Field(description="Of each text of a with each of b.")


class FilledPlace(BaseModel):
    """The most probable words for one place."""

    text: int = Field(description="The number of the text, from 0.")
    tokens: list[str]
    place: int = Field(description="Which of the tokens is filled.")
    words: list[str]
    probabilities: list[float]


class FillAnswer(BaseModel):
    """The words for each blank, or for the named word."""

    model_config = example(
        {
            "model": "en",
            "results": [
                {
                    "text": 0,
                    "tokens": ["the", "___", "of", "the", "river"],
                    "place": 1,
                    "words": ["banks", "mouth", "edge"],
                    "probabilities": [0.4, 0.2, 0.1],
                }
            ],
        }
    )

    model: str
    results: list[FilledPlace]


class ScoredText(BaseModel):
    """How probable the words of one text are, in natural logarithms; their negative: surprisal."""

    tokens: list[str]
    spans: Spans
    forward: list[float] = Field(description="log p(word | the words before it).")
    backward: list[float] = Field(description="log p(word | the words after it).")
    known: list[bool] = Field(description="Whether the softmax has the word; else it is <UNK>.")


class ScoresAnswer(BaseModel):
    """The scores of each text."""

    model_config = example(
        {
            "model": "en",
            "results": [
                {
                    "tokens": ["The", "bank"],
                    "spans": [[0, 3], [4, 8]],
                    "forward": [-2.1, -7.9],
                    "backward": [-1.4, -9.2],
                    "known": [True, True],
                }
            ],
        }
    )

    model: str
    results: list[ScoredText]


class Prediction(BaseModel):
    """What a task says of one text."""

    label: str | None = Field(None, description="Of a text or a pair.")
    tokens: list[str] | None = Field(None, description="Of a tagged text.")
    spans: Spans = None
    tags: list[str] | None = Field(None, description="A tag for each token.")
    probabilities: dict[str, float] | list[dict[str, float]] | None = Field(
        None, description="Of each label; or, for each token, of each tag."
    )


class PredictAnswer(BaseModel):
    """What a task says of each text."""

    model_config = example(
        {
            "task": "ner",
            "results": [
                {"tokens": ["Kim", "left"], "spans": [[0, 3], [4, 8]], "tags": ["B-PER", "O"]}
            ],
        }
    )

    task: str
    results: list[Prediction]


class ModelFacts(BaseModel):
    """One model."""

    name: str
    dim: int = Field(description="Dimensions of a layer.")
    n_layers: int = Field(description="The token layer and each LSTM layer.")
    tokenizer: str
    n_words: int | None = Field(description="Words of the vocabulary; null if it has none.")
    has_softmax: bool = Field(description="Whether it can fill and score.")
    is_calibrated: bool = Field(description="Whether it can standardize.")


class ModelsAnswer(BaseModel):
    """The models of the server; the first is the default."""

    model_config = example(
        {
            "models": [
                {
                    "name": "en",
                    "dim": 256,
                    "n_layers": 3,
                    "tokenizer": "english",
                    "n_words": 50000,
                    "has_softmax": True,
                    "is_calibrated": True,
                }
            ]
        }
    )

    models: list[ModelFacts]


class TaskFacts(BaseModel):
    """One trained task."""

    name: str
    kind: Literal["classify", "tag", "pair"]
    labels: list[str]
    needs_predicate: bool = Field(description="Whether its texts are clauses.")
    model: str | None = Field(description="The model it stands on; null: one of its own, or none.")


class TasksAnswer(BaseModel):
    """The tasks of the server."""

    model_config = example(
        {
            "tasks": [
                {
                    "name": "ner",
                    "kind": "tag",
                    "labels": ["B-PER", "O"],
                    "needs_predicate": False,
                    "model": "en",
                }
            ]
        }
    )

    tasks: list[TaskFacts]


class HealthAnswer(BaseModel):
    """The server answers."""

    model_config = example({"status": "ok", "version": "0.1.0"})

    status: Literal["ok"]
    version: str
