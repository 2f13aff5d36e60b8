"""The output of blocks: a folder of parts, on local disk or at any address, and its manifest.

    vectors/
      part-00000.parquet, …        what block 0 became; a part may have several files
      _manifest.json               what decides all parts, and in the end the record of each
      _parts/part-00000.json       until then: the record of a part that is finished

Readers of Parquet data sets pass over names that begin with "_". A part is made in a work folder,
moved to its name, and then entered: it counts when its record is there, so that no store has to
rename. Workers write only their own parts and records, and may be anywhere; one driver begins and
ends a folder. A local folder is locked meanwhile. On a store without locks two drivers of the same
work do it twice, with the same bytes.
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from elmore.checksums import CheckedFile, FileRecord, check_file, check_names, describe_file
from elmore.corpus.blocks import Block, BlockPlan, CorpusFile
from elmore.errors import ConfigError, DataError, FormatError
from elmore.folders import as_json, json_bytes, sync, write_json
from elmore.locks import LOCK, locked_folder, make_folder
from elmore.metadata import read_metadata
from elmore.stores import AnyPath, RemotePath

MANIFEST, RECORDS = "_manifest.json", "_parts"
FORMAT: Literal["elmore-parts-1"] = "elmore-parts-1"
MAX_MANIFEST_BYTES = 2**30

_REQUESTS_AT_ONCE = 16  # to a store

Count = Annotated[int, Meta(ge=0, le=2**53)]


class PartRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """A finished part."""

    text: Annotated[str, Meta(pattern="^[0-9a-f]{32}$")]
    """A checksum of the text of its block."""
    counts: dict[str, Count]
    """What it holds, such as n_texts and n_tokens."""
    files: dict[str, FileRecord]


class PartRecordFile(PartRecord, frozen=True, forbid_unknown_fields=True):
    """_parts/part-00000.json."""

    checksum: str = ""


class PartsManifest(Struct, frozen=True, forbid_unknown_fields=True):
    """_manifest.json."""

    format: Literal["elmore-parts-1"]
    kind: Literal["vectors", "index"]
    """What the parts are of."""
    job: dict[str, Any]
    """What decides the parts, apart from the text: the fingerprint of the model, the options."""
    corpus: tuple[CorpusFile, ...]
    blocks: tuple[Block, ...]
    parts: tuple[PartRecord, ...] | None = None
    """One for each block; null: the work is not finished."""
    checksum: str = ""

    @property
    def totals(self) -> dict[str, int]:
        """What all parts hold together."""
        return totals_of(self.parts or ())


def totals_of(parts: Sequence[PartRecord]) -> dict[str, int]:
    """Return what some parts hold together."""
    found: Counter[str] = Counter()
    for part in parts:
        found.update(part.counts)
    return dict(found)


def read_parts(root: AnyPath) -> PartsManifest | None:
    """Read the manifest of a folder; None if it has none."""
    path = root / MANIFEST
    if not path.is_file():
        return None
    found = read_metadata(path, PartsManifest, max_bytes=MAX_MANIFEST_BYTES, fix=_again(root))
    if found.parts is not None and len(found.parts) != len(found.blocks):
        raise FormatError(
            f"{path} has {len(found.parts)} parts of {len(found.blocks)} blocks; {_again(root)}"
        )
    for part in found.parts or ():
        check_names(part.files, path)
    return found


def _again(root: AnyPath) -> str:
    return f"copy {root} again, or remove it and begin again"


def part_name(number: int) -> str:
    """Return the name of a part, to which a suffix is added."""
    return f"part-{number:05d}"


class PartsFolder:
    """A folder in which the blocks of a corpus become parts."""

    def __init__(self, root: AnyPath, manifest: PartsManifest) -> None:
        self.root, self.manifest = root, manifest

    @classmethod
    def begin(
        cls, root: AnyPath, kind: Literal["vectors", "index"], job: Mapping[str, Any],
        plan: BlockPlan,
    ) -> "PartsFolder":  # fmt: skip
        """Begin a folder, or take up one that was begun with the same text, model and options."""
        wanted = PartsManifest(FORMAT, kind, as_json(dict(job)), plan.files, plan.blocks)
        if isinstance(root, Path) and root.exists() and not root.is_dir():
            raise ConfigError(f"{root} is a file; a folder is to be written there")
        found = read_parts(root)
        if found is None:
            others = set(_names(root)) - {LOCK, f"{MANIFEST}.part"}
            if others:
                raise ConfigError(
                    f"{root} is not empty, and {MANIFEST} is not in it; choose another --out"
                )
            if isinstance(root, Path):
                make_folder(root)
            _write(root / MANIFEST, wanted)
            return cls(root, wanted)
        _check_same(found, wanted, root)
        return cls(root, found)

    def lock(self) -> AbstractContextManager[None]:
        """Hold the folder, so that no second driver writes to it."""
        return lock_parts(self.root)

    def path(self, name: str) -> AnyPath:
        """Return where a file of a part is."""
        return self.root / name

    def record(self, number: int) -> PartRecord | None:
        """Return the record of a finished part; None if it is not finished."""
        if self.manifest.parts is not None:
            return self.manifest.parts[number]
        path = self._record_path(number)
        if not path.is_file():
            return None
        found = read_metadata(path, PartRecordFile, fix="remove it to have its part made again")
        check_names(found.files, path)
        return PartRecord(found.text, found.counts, found.files)

    def finished(self, number: int, text: str) -> PartRecord | None:
        """Return the record of a part that is whole; None if it is to be made.

        `text` is the checksum of its block's text. A part that is damaged is refused, not replaced.
        """
        found = self.record(number)
        if found is None:
            return None
        if found.text != text:
            raise DataError(
                f"{self.root} was begun with other text: block {number} has changed; remove it, "
                "or give the text that it was begun with"
            )
        if not all(self.path(name).is_file() for name in found.files):
            return None
        for name, record in found.files.items():
            check_file(self.path(name), record, fix="remove it to have it made again")
        return found

    @contextmanager
    def work(self) -> Iterator[Path]:
        """Give a new local folder to make a part in, which is removed afterwards."""
        if isinstance(self.root, RemotePath):
            with TemporaryDirectory(prefix="elmore-") as made:
                yield Path(made)
            return
        if not (self.root / MANIFEST).is_file():
            raise DataError(
                f"{self.root} was removed, or emptied, while it was written to; remove what is "
                "left of it, and run the same command again"
            )
        records = self.root / RECORDS
        records.mkdir(exist_ok=True)
        made = mkdtemp(prefix="work-", dir=records)  # where a rename is possible
        try:
            yield Path(made)
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def enter(
        self, number: int, files: Mapping[str, Path], *, text: str, counts: Mapping[str, int]
    ) -> PartRecord:
        """Move the files of a part from the work folder to their names, and write its record."""
        record = PartRecord(
            text, dict(counts), {name: describe_file(path) for name, path in files.items()}
        )
        with self.work() as work:
            for name, path in files.items():
                publish(path, self.path(name))
            beside = work / "record.json"
            beside.write_bytes(json_bytes(PartRecordFile(record.text, record.counts, record.files)))
            publish(beside, self._record_path(number))
        return record

    def finished_records(self) -> tuple[PartRecord, ...]:
        """Return the records of the parts that are finished."""
        numbers = range(len(self.manifest.blocks))
        if isinstance(self.root, RemotePath):  # a request takes long, and most of it is waiting
            with ThreadPoolExecutor(_REQUESTS_AT_ONCE) as pool:
                found = list(pool.map(self.record, numbers))
        else:
            found = [self.record(number) for number in numbers]
        return tuple(record for record in found if record is not None)

    def finish(self) -> PartsManifest:
        """Write the records of all parts into the manifest."""
        if self.manifest.parts is None:
            parts = self.finished_records()
            if missing := len(self.manifest.blocks) - len(parts):
                raise DataError(f"{self.root} lacks {missing:,} parts; embed their blocks first")
            there = set(_names(self.root))
            for name in (name for part in parts for name in part.files if name not in there):
                raise DataError(
                    f"{self.root} lacks {name}, which was finished: something has removed it; run "
                    "the same command again"
                )
            self.manifest = replace(self.manifest, parts=parts)
            _write(self.root / MANIFEST, self.manifest)
        _remove_folder(self.root / RECORDS)
        return self.manifest

    def is_empty(self) -> bool:
        """Whether no part is finished: there is nothing to resume from."""
        records = _names(self.root / RECORDS)
        return self.manifest.parts is None and not any(one.endswith(".json") for one in records)

    def remove(self) -> None:
        """Remove all finished parts, their records and the manifest, which comes last."""
        for number in range(len(self.manifest.blocks)):
            if (record := self.record(number)) is not None:
                for name in record.files:
                    self.path(name).unlink(missing_ok=True)
        _remove_folder(self.root / RECORDS)
        (self.root / MANIFEST).unlink(missing_ok=True)

    def _record_path(self, number: int) -> AnyPath:
        return self.root / RECORDS / f"{part_name(number)}.json"


def lock_parts(root: AnyPath) -> AbstractContextManager[None]:
    """Hold a folder of parts, where its store has locks."""
    return locked_folder(root) if isinstance(root, Path) else nullcontext()


def verify_parts(folder: Path) -> Iterator[CheckedFile]:
    """Check every part of a finished folder against its checksum."""
    manifest = read_parts(folder)
    assert manifest is not None  # its format was read
    problem = None
    if manifest.parts is None:
        problem = f"{folder} is not finished; the command that began it resumes"
    yield CheckedFile(MANIFEST, True, problem)
    for part in manifest.parts or ():
        for name, record in part.files.items():
            try:
                check_file(folder / name, record, fix="remove it to have it made again")
            except FormatError as error:
                yield CheckedFile(name, True, str(error))
            else:
                yield CheckedFile(name, True)


def publish(local: Path, target: AnyPath) -> None:
    """Move a file that is whole to its name; on a remote store, copy it."""
    if isinstance(target, RemotePath):
        target.upload(local)
        return
    sync(local)
    local.replace(target)
    sync(target.parent)


def _write(path: AnyPath, content: Any) -> None:
    if isinstance(path, RemotePath):
        path.write_bytes(json_bytes(content))
    else:
        write_json(path, content)


def _names(root: AnyPath) -> list[str]:
    if isinstance(root, RemotePath):
        return root.names()
    return [path.name for path in root.iterdir()] if root.is_dir() else []


def _remove_folder(folder: AnyPath) -> None:
    if isinstance(folder, RemotePath):
        folder.remove_folder()
    else:
        shutil.rmtree(folder, ignore_errors=True)


def _check_same(found: PartsManifest, wanted: PartsManifest, root: AnyPath) -> None:
    others = [] if found.kind == wanted.kind else ["kind"]
    others += [
        name
        for name in sorted({*found.job, *wanted.job})
        if found.job.get(name) != wanted.job.get(name)
    ]
    if others:
        raise ConfigError(
            f"{root} was begun with another model or other options ({', '.join(others)} changed); "
            "run the same as before to resume it, remove it, or choose another --out"
        )
    if (found.corpus, found.blocks) != (wanted.corpus, wanted.blocks):
        raise ConfigError(
            f"{root} was begun with other text or another block size; run the same as before to "
            "resume it, remove it, or choose another --out"
        )
