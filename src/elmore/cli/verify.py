"""`elmore verify`: is every file of a folder what it was when it was written?"""

import json
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from elmore.errors import FormatError

# The metadata file of each kind of folder and its format, and what checks such a folder: a function
# of the folder that gives a CheckedFile (checksums.py) for each of its files.
_KINDS = {
    ("config.json", "elmore-bilm-1"): "elmore.formats:verify_native",
    ("config.json", "elmore-task-1"): "elmore.tasks.saved:verify_task",
    ("config.json", "elmore-static-1"): "elmore.static.vectors:verify_static",
    ("index.json", "elmore-index-1"): "elmore.senses.verify:verify_index",
    ("_manifest.json", "elmore-parts-1"): "elmore.corpus.parts:verify_parts",
    ("manifest.json", "elmore-corpus-1"): "elmore.corpus.shards:verify_corpus",
    ("run.json", None): "elmore.pretrain.verify:verify_run",
}


def verify(folder: str) -> None:
    """Check the files of a folder against their checksums; exit with 2 if one is damaged.

    A line for each file: ok, damaged, or no checksum, as a model's config.json, which may be
    edited by hand. JSON Lines in a pipe.

    Parameters
    ----------
    folder
        A model folder, the name of a bundled model, or hf://owner/name; or the folder of a trained
        task, of static vectors, of an index, of parts of vectors, of a prepared corpus or of a
        training run.
    """
    from elmore.formats import model_folder

    path = model_folder(folder)
    n_files, damaged = 0, []
    for file in _check_of(path)(path):
        n_files += 1
        if file.problem:
            damaged.append(file.problem)
        status = "damaged" if file.problem else "ok" if file.has_checksum else "no checksum"
        if sys.stdout.isatty():
            sys.stdout.write(f"{file.name}: {status}\n")
        else:
            facts: dict[str, Any] = {"file": file.name, "status": status, "problem": file.problem}
            sys.stdout.write(json.dumps(facts, ensure_ascii=False) + "\n")
    if damaged:
        raise FormatError(f"{len(damaged)} of {n_files} files are damaged: {' '.join(damaged)}")


def _check_of(folder: Path) -> Callable[[Path], Iterator[Any]]:
    from elmore.folders import is_format

    for (name, form), check in _KINDS.items():
        if is_format(folder / name, form):
            module, _, function = check.partition(":")
            found: Callable[[Path], Iterator[Any]] = getattr(import_module(module), function)
            return found
    raise FormatError(
        f"{folder} is no folder that verify knows; expected one with a readable "
        f"{' or '.join(dict.fromkeys(name for name, _ in _KINDS))} of this version"
    )
