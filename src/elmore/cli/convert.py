"""`elmore convert`: from one model format to another."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from elmore.cli.terminal import print_result
from elmore.errors import ConfigError


def convert(
    source: str,
    weights: Path | None = None,
    /,
    *,
    out: Annotated[Path, Parameter(alias="-o")],
    to: Literal["elmore", "bilm-tf"] = "elmore",
    softmax: Path | None = None,
    vocab: Path | None = None,
    tokenizer: str | None = None,
    dtype: Literal["float32", "float16"] = "float32",
) -> None:
    """Convert a model: published files to an elmore model folder, or to bilm-tf's.

    Parameters
    ----------
    source
        A model folder, or an options.json, followed by its weights.
    weights
        The HDF5 file of the weights, after an options.json.
    out
        The folder to make.
    to
        elmore (config.json, model.safetensors) or bilm-tf (options.json, HDF5), which does not
        store the tokenizer, the normalization and how long words are truncated.
    softmax
        The HDF5 file of the softmax, with an options.json.
    vocab
        The vocabulary of the softmax or of the word table, one word per line.
    tokenizer
        How the model's text was tokenized: whitespace, english, korean, korean-eojeol or
        korean-syllables.
    dtype
        The type of the weights in an elmore model folder.
    """
    from dataclasses import replace

    from elmore.formats import read_bilm_tf, read_pretrained, write_bilm_tf, write_native
    from elmore.text import tokenizer_by_name

    if weights is not None:
        model = read_bilm_tf(Path(source), weights, softmax=softmax, vocab=vocab)
    elif Path(source).is_file():
        raise ConfigError(f"{source} is a file; give its weights too, or the folder of both")
    elif softmax is not None:
        raise ConfigError("--softmax goes with an options.json and its weights, not with a folder")
    else:
        model = read_pretrained(source, vocab)
    if tokenizer is not None and to == "bilm-tf":
        raise ConfigError("--tokenizer is for an elmore model folder; bilm-tf stores no tokenizer")
    if tokenizer is not None:
        model = replace(model, tokenizer=tokenizer_by_name(tokenizer).name)
    if to == "elmore":
        write_native(model, out, dtype)
    elif dtype != "float32":
        raise ConfigError("--dtype float16 is for an elmore model folder; bilm-tf stores float32")
    else:
        write_bilm_tf(model, out)
    files = {path.name: path.stat().st_size for path in sorted(out.iterdir())}
    sizes = {name: f"{size / 1e6:,.1f} MB" for name, size in files.items()}
    facts = {"folder": str(out), "format": to}
    print_result(facts | {"files": files}, facts | sizes)
