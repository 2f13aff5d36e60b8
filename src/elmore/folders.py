"""Folders that are there whole or not at all, and the JSON in them. Below everything, as errors."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from elmore.errors import ConfigError, FormatError


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        content = json.loads(path.read_bytes().decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path} is not JSON ({error}); expected a JSON object") from None
    if not isinstance(content, dict):
        raise FormatError(f"{path} holds a JSON {type(content).__name__}; expected an object")
    return content


def read_format(path: Path, expected: str) -> dict[str, Any]:
    """Read a JSON object that says which format it has."""
    content = read_json(path)
    if content.get("format") != expected:
        raise FormatError(
            f"{path}: format is {content.get('format')!r}; this version reads {expected!r}"
        )
    return content


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON object for people and machines."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give a folder beside `folder` to write into, and rename it at the end: all or nothing."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} exists already and is not empty; choose another name")
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", suffix=".part", dir=folder.parent))
    try:
        yield beside
        beside.chmod(0o755)  # mkdtemp makes it private
        beside.rename(folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
