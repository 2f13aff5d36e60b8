"""What a user calls a model in, the folder and then the model out.

A model is a folder on disk, the name of one that came with the package, or `hf://owner/name`,
optionally `@` a revision. Nothing is fetched unless the name says so.
"""

import os
from importlib.resources import files
from pathlib import Path

from elmore.errors import ConfigError, FormatError
from elmore.formats.bilm_tf import HDF5_SUFFIXES, read_bilm_tf_folder
from elmore.formats.hub import fetch_from_hub
from elmore.formats.many_langs import (
    ENCODER,
    TOKEN_EMBEDDER,
    is_many_langs,
    read_many_langs,
)
from elmore.formats.native import CONFIG, WEIGHTS, read_native
from elmore.formats.pretrained import Pretrained

_HUB = "hf://"
_MAX_SHOWN = 200  # characters of a name in an error


def bundled_models() -> dict[str, Path]:
    """Return the models that came with the package, by name."""
    home = Path(str(files("elmore"))) / "models"
    return {path.parent.name: path.parent for path in sorted(home.glob(f"*/{CONFIG}"))}


def read_pretrained(
    name_or_path: str | Path, vocab: Path | None = None, *, verify: bool = True
) -> Pretrained:
    """Read a model in any format; `vocab` is for folders that have no vocabulary.

    Files whose checksums the folder has must match them, unless `verify` is false.
    """
    folder = model_folder(name_or_path)
    if is_many_langs(folder) and not (folder / WEIGHTS).exists():
        return read_many_langs(folder, vocab)
    is_published = any(folder.glob("*options*.json")) and not (folder / WEIGHTS).exists()
    if not is_published:
        _check_is_model(folder)
    if (folder / CONFIG).exists() and not is_published:
        return read_native(folder, vocab, verify=verify)
    return read_bilm_tf_folder(folder, vocab)


def unchecked_weights(folder: Path) -> list[Path]:
    """Return the weights in a published format, whose folder has no checksums."""
    if (folder / WEIGHTS).exists():
        return []
    return [
        path
        for path in sorted(folder.iterdir())
        if path.suffix in HDF5_SUFFIXES or path.name in (TOKEN_EMBEDDER, ENCODER)
    ]


def _check_is_model(folder: Path) -> None:
    """Refuse the folder of a training run, and say where the model is."""
    if (folder / "run.json").exists() and not (folder / CONFIG).exists():
        if (folder / "model" / CONFIG).exists():
            raise FormatError(f"{folder} is a training run; its model is {folder / 'model'}")
        raise FormatError(
            f"{folder} is a training run without a model yet; resume it: "
            f"elmore pretrain --out {folder}"
        )


def with_revision(name_or_path: str | Path, revision: str | None) -> str | Path:
    """Return the name of a model on the hub at a revision: a branch, a tag or a commit."""
    if revision is None:
        return name_or_path
    name = str(name_or_path)
    if not name.startswith(_HUB) or _split_revision(name)[1] is not None:
        raise ConfigError(
            f"revision is {revision!r}, but {name} has none; expected hf://owner/name"
        )
    return f"{name}@{revision}"


def _split_revision(name: str) -> tuple[str, str | None]:
    repository, _, revision = name.removeprefix(_HUB).partition("@")
    return repository, revision or None


def model_folder(name_or_path: str | Path) -> Path:
    """Return the folder of a model, fetched first if it is named hf://."""
    name = str(name_or_path)
    if name.startswith(_HUB):
        return fetch_from_hub(*_split_revision(name))
    if os.path.isdir(name):  # noqa: PTH112  any text may come, also one that is no path
        return Path(name)
    bundled = bundled_models()
    if name in bundled:
        return bundled[name]
    if os.path.isfile(name):  # noqa: PTH113
        raise FormatError(f"{name} is a file; give the folder that holds it")
    shown = repr(name) if len(name) <= _MAX_SHOWN else f"{name[:_MAX_SHOWN]!r}…"
    raise FormatError(
        f"there is no folder {shown}, and no model of that name comes with this version "
        f"({', '.join(bundled) or 'it has none'}); name a model folder (--model), or hf://owner/name"
    )
