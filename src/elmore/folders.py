"""Files and folders that are there whole or not at all, and JSON. Below everything, as errors."""

import glob
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import msgspec

from elmore.errors import ConfigError, FormatError
from elmore.locks import LOCK, lock_of, locked, make_folder, try_hold
from elmore.metadata import (
    MAX_BYTES,
    checksum_of,
    has_checksum,
    parse_json,
    read_limited,
)
from elmore.stores import AnyPath

_OURS = "elmore-unfinished"  # in each folder that is being made, and locked, to know it for ours
_OLD = "old"  # in it, what is being replaced
_RANDOM = "[a-z0-9_]" * 8  # what tempfile puts into a name


def read_json(path: AnyPath) -> dict[str, Any]:
    """Read a JSON object that no description says more of; see metadata.py."""
    content = parse_json(read_limited(path, MAX_BYTES), path)
    if not isinstance(content, dict):
        raise FormatError(f"{path} holds a JSON {type(content).__name__}; expected an object")
    return content


def as_tuples(value: Any) -> Any:
    """Return JSON lists as the tuples that a configuration holds."""
    return tuple(as_tuples(item) for item in value) if isinstance(value, list) else value


def write_json(path: Path, content: Any) -> None:
    """Write a JSON object, of a mapping or of a metadata object, for people and machines."""
    with new_file(path) as beside:
        beside.write_bytes(json_bytes(content))


def json_bytes(content: Any) -> bytes:
    """Return what `write_json` writes."""
    is_checked = has_checksum(content)
    if not isinstance(content, Mapping):
        content = msgspec.to_builtins(content)
    written = as_json(content)
    if is_checked:
        written["checksum"] = checksum_of(written)
    return (json.dumps(written, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def as_json(content: Any) -> Any:
    """Return what is read again of content that is written.

    NaN and infinity are not JSON, and become null; the bytes of a file's name that are not UTF-8
    become question marks.
    """
    text = json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")
    return json.loads(text, parse_constant=lambda _: None)


@contextmanager
def new_file(path: Path, folder: Path | None = None) -> Iterator[Path]:
    """Give the name of an empty file to write to, and rename it to `path` at the end.

    It is in `folder` (or beside `path`), which must be the program's own. An interrupted write
    leaves what was there, also when the power fails.
    """
    beside = (folder or path.parent) / f"{path.name}.part"
    beside.unlink(missing_ok=True)  # of a killed program; a link is not followed
    try:
        beside.touch(exist_ok=False)
        yield beside
        sync(beside)
        beside.replace(path)
        sync(path.parent)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


@contextmanager
def new_output(path: Path) -> Iterator[Path]:
    """Give what `new_file` gives for a file in a folder of the user's, which is made if need be.

    What a killed program left of making the file is removed.
    """
    if path.exists() and not path.is_file():
        raise ConfigError(f"{path} is not a file; choose another name")
    with locked(lock_of(path), path):
        remove_unfinished(path)
        with _own_folder(path) as work, new_file(path, work) as beside:
            yield beside


def check_new(path: Path) -> None:
    """Refuse an output that exists, before anything is computed for it.

    What a killed program left of making it is removed, as it may have been killed at the very end.
    """
    if lock_of(path).exists():
        with locked(lock_of(path), path):  # which removes it
            pass
    _refuse_existing(path)


def _refuse_existing(path: Path) -> None:
    remove_unfinished(path)
    if path.is_symlink():
        raise ConfigError(f"{path} is a symbolic link; choose another name")
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        what = " and is not empty; " if path.is_dir() else "; remove it, or "
        raise ConfigError(f"{path} exists already{what}choose another name")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give a new folder to write into, and rename it to `folder` at the end: all or nothing.

    What a killed program left of making it is removed.
    """
    _refuse_existing(folder)
    make_folder(folder.parent)
    with _own_folder(folder) as work:
        made = work / "new"
        made.mkdir()
        yield made
        for path in (*made.rglob("*"), made):
            sync(path)
        made.rename(folder)
        sync(folder.parent)


@contextmanager
def replaced_folder(folder: Path, files: Collection[str]) -> Iterator[Path]:
    """Give the name of a folder to make, and put that in the place of `folder`: all or nothing.

    It gets everything that is in `folder` now, but the `files`, which are its maker's.
    """
    remove_unfinished(folder)
    with _own_folder(folder) as work:
        made = work / "new"
        yield made
        if folder.exists():
            shutil.copytree(
                folder, made, dirs_exist_ok=True,
                ignore=lambda at, names: set(names) & set(files) if Path(at) == folder else (),
            )  # fmt: skip
            for path in (*made.rglob("*"), made):
                sync(path)
            folder.rename(work / _OLD)
        made.rename(folder)
        sync(folder.parent)


@contextmanager
def _own_folder(path: Path) -> Iterator[Path]:
    """Give a folder beside `path` to make it in, and remove it at the end.

    Its mark is locked meanwhile, so that no other program takes it for what a killed one left.
    """
    work, mark = _make_own_folder(path)
    try:
        yield work
    finally:
        mark.close()
        with suppress(OSError):
            _remove_own_folder(work, path)


def _make_own_folder(path: Path) -> tuple[Path, IO[bytes]]:
    while True:
        work = Path(tempfile.mkdtemp(prefix=f"{path.name}.", suffix=".part", dir=path.parent))
        with suppress(FileNotFoundError):  # another program was faster, and has removed it
            mark = try_hold(work / _OURS)
            if mark is not None and os.fstat(mark.fileno()).st_nlink:
                return work, mark


def _remove_own_folder(work: Path, made: Path) -> None:
    """Remove a work folder, its mark last: if that is interrupted, the next run knows the rest.

    What was about to be replaced by `made`, and was not, goes back.
    """
    if (work / _OLD).exists() and not made.exists():
        (work / _OLD).rename(made)
    for path in work.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != _OURS:
            path.unlink()
    shutil.rmtree(work)


def remove_unfinished(folder: Path) -> None:
    """Remove what a killed program left of making a folder or file."""
    for work in folder.parent.glob(f"{glob.escape(folder.name)}.{_RANDOM}.part"):
        if (work / _OURS).is_file():
            mark = try_hold(work / _OURS)
            if mark is not None:  # otherwise it is being made
                with mark:
                    _remove_own_folder(work, folder)
        elif work.is_dir() and not any(work.iterdir()):  # killed before its mark was made
            work.rmdir()


def begin_job(path: Path, content: Mapping[str, Any]) -> None:
    """Begin a job that all of `content` decides, or resume it; `path` says what its folder holds.

    The folder is locked. Refuse one that holds another job, or what is not the program's own.
    """
    folder = path.parent
    wanted = as_json(content)
    if is_format(path, wanted["format"]):
        found = read_json(path)
        others = [name for name in wanted if found.get(name) != wanted[name]]
        if others:
            raise ConfigError(
                f"{folder} holds the unfinished work of another run ({', '.join(others)} changed); "
                "run the same as before to resume it, remove it, or choose another --out"
            )
    elif {file.name for file in folder.iterdir()} - {LOCK, f"{path.name}.part"}:
        raise ConfigError(
            f"{folder} is needed for unfinished work, but something else is in it; "
            "move that, or choose another --out"
        )
    write_json(path, wanted)


def is_format(path: AnyPath, expected: str | None) -> bool:
    """Return whether a file is a JSON object that says it has this format; None: says none."""
    try:
        return path.is_file() and read_json(path).get("format") == expected
    except (FormatError, OSError):
        return False


def shared_mode(path: Path) -> None:
    """Give a file that a library made private the permissions that other new files have."""
    probe = path.with_name(f"{path.name}.mode")
    probe.touch(exist_ok=False)
    path.chmod(probe.stat().st_mode)
    probe.unlink()


def sync(path: Path) -> None:
    """See a file, or the names in a folder, to the disk."""
    if path.is_dir() and sys.platform == "win32":  # which cannot open folders
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
