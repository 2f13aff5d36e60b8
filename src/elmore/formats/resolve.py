"""What a user calls a model in, the folder and then the model out.

A model is a folder on disk, the name of one that came with the package, or `hf://owner/name`.
Nothing is fetched unless the name says so.
"""

from importlib.resources import files
from pathlib import Path

from elmore.errors import FormatError
from elmore.folders import is_format
from elmore.formats.bilm_tf import HDF5_SUFFIXES, read_bilm_tf_folder
from elmore.formats.many_langs import (
    ENCODER,
    TOKEN_EMBEDDER,
    is_many_langs,
    read_many_langs,
)
from elmore.formats.native import CONFIG, WEIGHTS, read_native
from elmore.formats.pretrained import Pretrained

_HUB = "hf://"


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
    """Refuse elmore folders of other kinds, and say where the model is."""
    if is_format(folder / CONFIG, "elmore-task-1"):
        raise FormatError(
            f"{folder} is a trained task, not a model; use it with elmore predict or evaluate"
        )
    if (folder / "run.json").exists() and not (folder / CONFIG).exists():
        if (folder / "model" / CONFIG).exists():
            raise FormatError(f"{folder} is a training run; its model is {folder / 'model'}")
        raise FormatError(
            f"{folder} is a training run without a model yet; resume it: "
            f"elmore pretrain --out {folder}"
        )


def model_folder(name_or_path: str | Path) -> Path:
    """Return the folder of a model, fetched first if it is named hf://."""
    name = str(name_or_path)
    if name.startswith(_HUB):
        return _from_hub(name.removeprefix(_HUB))
    path = Path(name)
    if path.is_dir():
        return path
    bundled = bundled_models()
    if name in bundled:
        return bundled[name]
    if path.is_file():
        raise FormatError(f"{path} is a file; give the folder that holds it")
    raise FormatError(
        f"there is no folder {name!r}, and no model of that name comes with this version "
        f"({', '.join(bundled) or 'it has none'}); name a model folder (--model), or hf://owner/name"
    )


def _from_hub(repository: str) -> Path:
    from huggingface_hub import snapshot_download  # noqa: PLC0415  0.3 s, only if used
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError  # noqa: PLC0415

    patterns = ["*.json", "*.safetensors", "*.txt", "*.hdf5", "*.h5"]
    patterns += ["*.dic", TOKEN_EMBEDDER, ENCODER]
    try:
        return Path(snapshot_download(repository, allow_patterns=patterns))
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise FormatError(f"hf://{repository} cannot be fetched: {reason}") from None
