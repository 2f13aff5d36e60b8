"""`elmore export`: a model as a file for other runtimes."""

from pathlib import Path

from elmore.cli.terminal import print_result
from elmore.errors import MissingExtraError


def export(model: str, /, *, to: Path, vocab: Path | None = None) -> None:
    """Export a model to ONNX, for runtimes in other languages, on phones and in browsers.

    The file takes ids and gives all layers, their mean and the context-free vectors; its metadata
    say how words become ids.

    Parameters
    ----------
    model
        A model folder, the name of a bundled model, or hf://owner/name.
    to
        The file to write, such as model.onnx.
    vocab
        The vocabulary of a published model whose folder has none.
    """
    from importlib.util import find_spec

    from elmore.embed import Elmo
    from elmore.integrations.onnx import export_onnx
    from elmore.integrations.onnx.export import check_onnx_path
    from elmore.integrations.onnx.network import OPSET

    if find_spec("onnx") is None:
        raise MissingExtraError("an ONNX file", "onnx")  # before the model is read
    check_onnx_path(to)
    export_onnx(Elmo.from_pretrained(model, vocab=vocab), to)
    facts = {"model": model, "file": str(to), "opset": OPSET}
    size = to.stat().st_size
    print_result(facts | {"bytes": size}, facts | {"size": f"{size / 1e6:,.1f} MB"})
