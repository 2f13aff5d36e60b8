"""What is sent: the bodies of requests, checked before anything is computed.

What a server answers is in `answers.py`.
"""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from elmore.embed.fill import Sides
from elmore.embed.pooling import Pooling

LayerName = Literal["mix", "all", "top", "context", "expected"]
LayerNumber = Annotated[int, Field(ge=0, le=1000)]
Encoding = Literal["float", "base64"]
Place = Annotated[int, Field(ge=0, le=2**31 - 1)]


def _check_plain(text: str) -> str:
    """Refuse what no text file has."""
    if "\0" in text:
        raise ValueError("Input has a NUL character; expected plain text")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("Input has a lone surrogate; expected text that UTF-8 can hold") from None
    return text


Plain = Annotated[str, AfterValidator(_check_plain)]
Texts = Annotated[
    list[Plain | list[Plain]],
    Field(
        min_length=1,
        description="Strings, which are tokenized, or lists of tokens, which are not.",
    ),
]
ModelName = Annotated[
    Plain | None, Field(description="The name of a model (GET /models); null: the first one.")
]


def _examples(*examples: dict[str, Any]) -> ConfigDict:
    return ConfigDict(strict=True, extra="forbid", json_schema_extra={"examples": list(examples)})


class _Request(BaseModel):
    """Wrong types and unknown fields are refused."""


class EmbedRequest(_Request):
    """Texts whose vectors are asked for."""

    model_config = _examples({"texts": ["I opened a bank account.", ["The", "river", "bank"]]})

    texts: Texts
    model: ModelName = None
    layers: LayerName | LayerNumber = Field(
        "mix",
        description="mix (their weighted mean), all, top, the number of a layer, or the states "
        "that predict each word: context, expected.",
    )
    pooling: Pooling | None = Field(
        None, description="One vector per text instead of one per word."
    )
    standardize: bool = Field(
        False, description="Standardize by the model's calibration; there is none for mix."
    )
    encoding: Encoding = Field(
        "float", description="Of vectors in JSON: numbers, or base64 of little-endian float32."
    )


class LayersRequest(_Request):
    """Texts whose 2L + 1 representations are asked for."""

    model_config = _examples({"texts": ["The river bank."], "encoding": "float"})

    texts: Texts
    model: ModelName = None
    standardize: bool = Field(False, description="Standardize by the model's calibration.")
    encoding: Encoding = Field(
        "float", description="Of vectors in JSON: numbers, or base64 of little-endian float32."
    )


class SimilarityRequest(_Request):
    """Two lists of texts to compare."""

    model_config = _examples(
        {"a": ["The bank lent me money."], "b": ["A loan.", "The river is deep."]}
    )

    a: Texts
    b: Texts
    model: ModelName = None
    pooling: Pooling = "mean"
    layers: Literal["mix", "top", "context", "expected"] | LayerNumber = "mix"


class FillRequest(_Request):
    """Texts with blanks, or with a word whose substitutes are asked for."""

    model_config = _examples(
        {"texts": ["They walked along the ___ of the river."], "n": 3},
        {"texts": ["The river bank is steep."], "word": "bank", "sides": "left", "n": 3},
    )

    texts: Texts
    model: ModelName = None
    word: Plain | Place | None = Field(
        None, description="A token of each text, or its number from 0; null: the blanks, `___`."
    )
    sides: Sides = Field("both", description="Which side's words are read.")
    n: int = Field(10, ge=1, le=100, description="How many words for each place.")


class ScoresRequest(_Request):
    """Texts whose words are scored."""

    model_config = _examples({"texts": ["The river bank is steep."]})

    texts: Texts
    model: ModelName = None


class NeighboursRequest(_Request):
    """A word in its sentence, whose nearest occurrences are asked for."""

    model_config = _examples(
        {"index": "wiki", "text": "The river bank was wet.", "word": "bank", "n": 3}
    )

    index: Plain = Field(description="The name of an index (GET /indexes).")
    text: Plain
    word: Plain = Field(description="A token of the text; its first occurrence is meant.")
    n: int = Field(10, ge=1, le=100, description="How many occurrences on each layer.")
    layers: list[Literal["context", "expected"] | LayerNumber] | None = Field(
        None, min_length=1, max_length=100, description="Layers of the index; null: all it has."
    )
    same_word: bool = Field(False, description="Only occurrences of the same word.")


class Clause(_Request):
    """A sentence with its predicate, for semantic roles."""

    model_config = _examples()

    text: Plain | list[Plain]
    predicate: Place = Field(description="Which of the tokens is the predicate.")


class PredictRequest(_Request):
    """Texts to label or to tag."""

    model_config = _examples({"texts": ["Kim lives in Seoul."]})

    texts: list[Plain | list[Plain] | Clause] = Field(
        min_length=1,
        description="Strings or lists of tokens; for a pair task, lists of two texts; for semantic "
        "roles, clauses.",
    )
    probabilities: bool = Field(False, description="Give the probability of each label, or tag.")


class OpenAIEmbeddingsRequest(BaseModel):
    """What clients of OpenAI's API send."""

    model_config = ConfigDict(
        strict=True,
        json_schema_extra={"examples": [{"model": "en", "input": ["The river bank."]}]},
    )

    model: Plain = Field(description="The name of a model (GET /models).")
    input: Plain | Annotated[list[Plain], Field(min_length=1)]
    encoding_format: Encoding = "float"
    dimensions: None = Field(None, description="Refused: vectors cannot be shortened.")
    user: Plain | None = Field(None, description="Ignored.")

    @field_validator("dimensions", mode="before")
    @classmethod
    def _refuse_dimensions(cls, value: Any) -> None:
        if value is not None:
            raise ValueError("dimensions cannot be chosen: vectors have all of the model's")

    @field_validator("input", mode="before")
    @classmethod
    def _refuse_token_ids(cls, value: Any) -> Any:
        first = value[0] if isinstance(value, list) and value else None
        if isinstance(first, int | list):
            raise ValueError("input has token ids, which are another model's; send strings")
        return value
