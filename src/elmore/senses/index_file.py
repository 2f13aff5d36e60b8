"""The files of an index of occurrences: their names, what index.json says, their sizes.

An index is a folder of files, and index.json, which has the size and checksum of each.

| file | holds |
|---|---|
| vectors-N.f16 | for each occurrence its vector on layer N (or context, expected), float16 |
| occurrences.i32 | for each its word, its sentence and its place there |
| sentences.txt, sentences.i64 | the tokens of each sentence, and where it ends |
| words.txt | the words, in the order of their first occurrence |
| checksums.u64 | a checksum of each block of the files above, in their order (blocks.py) |

Vectors of a calibrated model are standardized.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from elmore.checksums import FileRecord, check_names
from elmore.embed.layers import layers_dim
from elmore.errors import ConfigError
from elmore.formats.calibration import Layer
from elmore.metadata import read_metadata
from elmore.senses.blocks import FIX
from elmore.stores import AnyPath
from elmore.text import Normalization

FACTS, OCCURRENCES = "index.json", "occurrences.i32"
SENTENCES, ENDS, WORDS = "sentences.txt", "sentences.i64", "words.txt"
CHECKSUMS = "checksums.u64"
FORMAT: Literal["elmore-index-1"] = "elmore-index-1"

Count = Annotated[int, Meta(ge=0, le=2**48)]
_IndexedLayer = Annotated[int, Meta(ge=0, le=1000)] | Literal["context", "expected"]


@dataclass(frozen=True)
class IndexConfig:
    """What an index holds of a corpus."""

    layers: tuple[_IndexedLayer, ...]
    """The layers that are indexed."""
    words: tuple[str, ...] | None = None
    """The words that are indexed; None: all."""
    max_per_word: int | None = None
    """The most occurrences of a word that are indexed, the first ones; None: all."""
    split_sentences: str | None = None
    """A language whose rules split each line into sentences."""

    def __post_init__(self) -> None:
        if not self.layers:
            raise ConfigError("there is no layer to keep; name at least one")
        if self.words is not None and not self.words:
            raise ConfigError("the list of words is empty; name at least one, or none for all")
        if self.max_per_word is not None and self.max_per_word < 1:
            raise ConfigError(f"max_per_word is {self.max_per_word}; expected at least 1")


@dataclass
class Facts:
    """How far the build of an index is: the sizes of its files."""

    n_lines: Count = 0
    """Lines of the corpus that were read."""
    n_sentences: Count = 0
    n_occurrences: Count = 0
    n_words: Count = 0
    sentence_bytes: Count = 0
    word_bytes: Count = 0
    is_whole: bool = False
    """Whether the build is finished."""


class IndexedModel(Struct, frozen=True, forbid_unknown_fields=True):
    """The model that an index was built with."""

    source: str | None
    """Where it was; None: nowhere, it was made in memory."""
    hash: str
    tokenizer: str
    normalization: Normalization | None
    calibration: str | None = None
    """A hash of its calibration, by which the vectors are standardized."""


class IndexFile(Struct, frozen=True, forbid_unknown_fields=True):
    """index.json."""

    format: Literal["elmore-index-1"]
    model: IndexedModel
    config: IndexConfig
    corpus: list[dict[str, Any]]
    dim: Annotated[int, Meta(ge=2, le=2**20)]
    facts: Facts
    files: dict[str, FileRecord] | None = None
    """The data files beside it; indexes of earlier versions do not say."""
    checksum: str | None = None


def vectors_file(layer: Layer) -> str:
    """Return the name of the file of a layer's vectors."""
    return f"vectors-{layer}.f16"


def file_sizes(facts: Facts, layers: Sequence[Layer], dim: int) -> dict[str, int]:
    """Return the size of each file in bytes."""
    return {
        **{
            vectors_file(layer): 2 * layers_dim(layer, dim) * facts.n_occurrences
            for layer in layers
        },
        OCCURRENCES: 12 * facts.n_occurrences,
        SENTENCES: facts.sentence_bytes,
        ENDS: 8 * facts.n_sentences,
        WORDS: facts.word_bytes,
    }


def read_facts(folder: AnyPath) -> IndexFile | None:
    """Read index.json; None if there is none."""
    path = folder / FACTS
    if not path.exists():
        return None
    found = read_metadata(path, IndexFile, fix=FIX)
    check_names(found.files or {}, path)
    return found
