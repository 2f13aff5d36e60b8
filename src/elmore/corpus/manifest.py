"""The manifest of a prepared corpus: what it was made from, its shards, its files and checksums."""

import hashlib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from elmore.checksums import check_names, checksum_bytes, describe_file
from elmore.errors import FormatError
from elmore.metadata import read_metadata

MANIFEST, VOCAB = "manifest.json", "vocab.txt"
FORMAT: Literal["elmore-corpus-1"] = "elmore-corpus-1"

Count = Annotated[int, Meta(ge=0, lt=2**53)]
Positive = Annotated[int, Meta(ge=1, lt=2**53)]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class CorpusFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the manifest says of a file beside it."""

    size: Count
    """Bytes."""
    xxh3: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")] | None = None
    sha256: Sha256 | None = None
    """The checksum that earlier versions wrote."""

    def check(self, path: Path, content: memoryview) -> None:
        """Refuse the content of a file that is not the one that was written."""
        if self.xxh3 is not None:
            found, expected = checksum_bytes(content), self.xxh3
        elif self.sha256 is not None:
            found, expected = hashlib.sha256(content).hexdigest(), self.sha256
        else:
            return
        if found != expected:
            raise damaged(path, f"its checksum is {found}, expected {expected}")


class TextRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A text that a corpus was made from; standard input has but a name."""

    name: str
    size: Count | None = None
    sha256: Sha256 | None = None


class ShardRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A shard; its fields are explained in `Shard`."""

    file: str
    n_words: Positive
    n_sentences: Positive
    n_unknown: Count
    n_outside: Count
    first_outside: Count


class SplitRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The training text or the held-out text."""

    n_words: Count
    n_sentences: Count
    n_unknown: Count
    shards: tuple[ShardRecord, ...]

    def __post_init__(self) -> None:
        for name in ("n_words", "n_sentences", "n_unknown"):
            total = sum(getattr(shard, name) for shard in self.shards)
            if getattr(self, name) != total:
                raise FormatError(f"{name} is {getattr(self, name)}; its shards have {total}")


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """manifest.json."""

    format: Literal["elmore-corpus-1"]
    config: dict[str, Any]
    """The settings; those of an earlier version may be fewer."""
    texts: tuple[TextRecord, ...]
    given_vocab: Sha256 | None
    """The hash of a vocabulary that was not the text's own."""
    n_lines: Count
    n_distinct_words: Count
    n_vocab_words: Positive
    coverage: dict[str, float]
    """The share of the text that so many of the most frequent words cover."""
    training: SplitRecord
    held_out: SplitRecord
    files: dict[str, CorpusFile]
    checksum: str | None = None


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a prepared corpus, and hold the sizes of its files against it."""
    path = folder / MANIFEST
    if not path.exists():
        raise FormatError(f"{folder} has no {MANIFEST}; expected a prepared corpus")
    manifest = read_metadata(path, Manifest, fix=_prepare_again(folder))
    check_names(manifest.files, path)
    shards = (*manifest.training.shards, *manifest.held_out.shards)
    for name in (VOCAB, *(shard.file for shard in shards)):
        if name not in manifest.files:
            raise FormatError(f"{path} lacks files.{name[:100]}; {_prepare_again(folder)}")
    for name, record in manifest.files.items():
        file = folder / name
        found = file.stat().st_size if file.is_file() else "no"
        if found != record.size:
            raise damaged(file, f"it has {found} bytes, expected {record.size}")
    return manifest


def describe_files(folder: Path) -> dict[str, CorpusFile]:
    """Return what a manifest is to say of the files of a folder."""
    records = {path.name: describe_file(path) for path in sorted(folder.iterdir())}
    return {name: CorpusFile(record.size, record.xxh3) for name, record in records.items()}


def damaged(path: Path, problem: str) -> FormatError:
    """Return the error for a file of a corpus."""
    return FormatError(f"{path} is damaged: {problem}; {_prepare_again(path.parent)}")


def _prepare_again(folder: Path) -> str:
    return f"remove {folder} and prepare the text again"
