"""What the commands share: their arguments, and a table on the terminal and as JSON."""

import json
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType

from elmore import Elmo
from elmore.errors import DataError, ElmoreError


@dataclass(frozen=True)
class Results:
    """A table of numbers."""

    title: str
    columns: Sequence[str]
    rows: Mapping[str, Sequence[float]]
    scale: float = 1
    """What the numbers are multiplied by where they are shown."""
    digits: int = 1
    """After the point."""
    note: str = ""
    """What the paper has, where it is not a row."""

    def __str__(self) -> str:
        widths = [max(7, len(column)) for column in self.columns]
        first = max(map(len, self.rows))
        lines = [
            self.title,
            " " * first
            + "".join(
                f"  {column:>{width}}" for column, width in zip(self.columns, widths, strict=True)
            ),
        ]
        for name, numbers in self.rows.items():
            cells = zip(numbers, widths, strict=True)
            shown = "".join(f"  {n * self.scale:{width}.{self.digits}f}" for n, width in cells)
            lines.append(f"{name:{first}}{shown}")
        return "\n".join([*lines, self.note] if self.note else lines)


def arguments_of(
    description: str | None,
    paths: Mapping[str, str] = MappingProxyType({}),
    counts: Mapping[str, int] = MappingProxyType({}),
) -> Namespace:
    """Read the arguments that every command has, other paths with what they are, and numbers."""
    parser = ArgumentParser(description=description, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="en", help="a bundled name or a model folder")
    parser.add_argument("--tokenizer", help="for raw text, instead of the model's own")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data set")
    for name, what in paths.items():
        parser.add_argument(f"--{name}", type=Path, required=True, help=what)
    for name, default in counts.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--json", type=Path, help="where to write the table as JSON")
    return parser.parse_args()


def elmo_of(arguments: Namespace) -> Elmo:
    """Load the model that the command line names."""
    return Elmo.from_pretrained(arguments.model, tokenizer=arguments.tokenizer)


def run(measure: Callable[[], Results], arguments: Namespace) -> None:
    """Measure, print, write; bad input is one sentence and exit code 2."""
    with say_errors():
        if arguments.json and not arguments.json.parent.is_dir():
            raise DataError(f"there is no folder {arguments.json.parent}; make it first")
        results = measure()
        print(_measured_on(arguments))
        print(results)
        if arguments.json:
            content = {"model": getattr(arguments, "model", None), **asdict(results)}
            arguments.json.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


def _measured_on(arguments: Namespace) -> str:
    """Say what was measured: all that was given but where it is written to."""
    said = []
    for name, value in vars(arguments).items():
        if value is not None and name not in ("out", "json"):
            shown = " ".join(map(str, value)) if isinstance(value, list | tuple) else value
            said.append(f"{name} {shown}")
    return ", ".join(said)


@contextmanager
def say_errors() -> Iterator[None]:
    """Turn bad input into one sentence and exit code 2."""
    try:
        yield
    except (ElmoreError, OSError) as error:
        print(f"paper: {error}", file=sys.stderr)
        sys.exit(2)
