"""`elmore probe`: the accuracy of a linear probe on each layer."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from elmore.cli import arguments
from elmore.cli.example_flags import DEFAULT_DATA, DataFlags, read_tags
from elmore.cli.terminal import print_result
from elmore.errors import ConfigError, MissingExtraError


def probe(
    *,
    train: Path,
    dev: Path,
    model: Annotated[str, Parameter(alias="-m")] = "en",
    max_train: Annotated[int, Parameter(converter=arguments.whole_number)] = 6_000,
    data: Annotated[DataFlags, Parameter(name="*")] = DEFAULT_DATA,
) -> None:
    """Train a linear probe for word tags on each layer, and measure its accuracy.

    A table on a terminal, JSON in a pipe.

    Parameters
    ----------
    train
        The training set, tagged sentences: parts of speech, or any other tags.
    dev
        The dev set, tagged sentences.
    model
        A bundled name, a model folder or hf://owner/name.
    max_train
        Train on the first sentences only.
    """
    from elmore.embed import Elmo
    from elmore.senses.probe import probe_layers, tag_vectors

    if find_spec("sklearn") is None:
        raise MissingExtraError("a probe", "senses")  # before all is embedded
    if data.format == "srl":
        raise ConfigError("--format is 'srl', which tags clauses; a probe needs tags of words")
    known, asked = read_tags(train, data)[:max_train], read_tags(dev, data)
    elmo = Elmo.from_pretrained(model)
    scores = probe_layers(
        *tag_vectors(elmo, known.X, known.y), *tag_vectors(elmo, asked.X, asked.y)
    )
    names = [*(f"layer {n}" for n in range(elmo.n_layers)), "mean of layers"]
    accuracy = dict(zip(names, scores, strict=True))
    print_result(
        {"model": model, "accuracy": accuracy},
        {name: f"{100 * score:.1f} %" for name, score in accuracy.items()},
    )
