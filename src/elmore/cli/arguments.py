"""Converters of command line values, where cyclopts is too lenient: it rounds 1.5 to 2."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

from cyclopts import Parameter, Token

from elmore.checks import at_least
from elmore.errors import ConfigError, DataError
from elmore.stores import is_address

_LARGEST = 2**32 - 1  # also of seeds; sizes beyond it overflow in one library or another
_NAMES = ("mix", "all", "top", "context", "expected")


def whole_number(_: Any, tokens: Sequence[Token]) -> int:
    """Take a whole number and nothing else."""
    value = tokens[0].value
    if not value.isdecimal():
        raise ValueError(f"got {value!r}, expected a whole number")
    if len(value) > len(str(_LARGEST)) or int(value) > _LARGEST:
        raise ValueError(f"got {value!r}, expected at most {_LARGEST}")
    return int(value)


MaxLineBytes = Annotated[
    int,
    Parameter(
        name="--max-line-bytes",
        converter=whole_number,
        help="Refuse a file with a line of more bytes than this, decompressed.",
    ),
]
"""An option of the commands that read corpora; its default is corpus.lines.MAX_LINE_BYTES."""


def layers(_: Any, tokens: Sequence[Token]) -> str | int:
    """Take the name or the number of layers; whether the model has them is for the model to say."""
    value = tokens[0].value
    if value not in _NAMES and not value.isdecimal():
        raise ValueError(f"got {value!r}, expected {', '.join(_NAMES)}, or the number of a layer")
    return value if value in _NAMES else int(value)


def one_layer(_: Any, tokens: Sequence[Token]) -> str | int:
    """Take mix, top or the number of a layer."""
    value = tokens[0].value
    if value not in ("mix", "top") and not value.isdecimal():
        raise ValueError(f"got {value!r}, expected mix, top, or the number of a layer")
    return int(value) if value.isdecimal() else value


def index_layer(_: Any, tokens: Sequence[Token]) -> str | int:
    """Take what an index keeps: the number of a layer, context or expected."""
    value = tokens[0].value
    if value not in ("context", "expected") and not value.isdecimal():
        raise ValueError(f"got {value!r}, expected the number of a layer, context or expected")
    return int(value) if value.isdecimal() else value


def n_processes(given: int | None) -> int:
    """Return how many processes were asked for; by default as many as there are cores."""
    chosen = (os.cpu_count() or 1) if given is None else given
    at_least(1, largest=1024, processes=chosen)
    return chosen


def is_parts_folder(out: str) -> bool:
    """Return whether --out is a folder of parts: it ends in /, is an address, or is one already."""
    from elmore.corpus.parts import MANIFEST

    return out.endswith("/") or is_address(out) or (Path(out) / MANIFEST).is_file()


def check_parts(texts: Sequence[str], out: str, overwrite: bool) -> None:
    """Refuse what goes with a single file, but not with a folder of parts."""
    if overwrite:
        raise ConfigError(
            f"{out} is a folder of parts, which --overwrite does not replace; remove it yourself"
        )
    if Path(out.rstrip("/")).suffix in (".jsonl", ".npz", ".h5", ".hdf5", ".parquet"):
        raise ConfigError(
            f"{out} would be a folder of parts, but is named like a file; leave the suffix out"
        )
    for text in texts:
        if not is_address(text) and not Path(text).is_file():
            raise DataError(f"{text[:60]!r} is no file; a folder of parts is made from files")


def check_choice(flag: str, value: str, choices: Any) -> None:
    """Refuse a word that is not among those of a Literal type."""
    if value not in get_args(choices):
        raise ConfigError(f"{flag} is {value!r}; expected one of {', '.join(get_args(choices))}")
