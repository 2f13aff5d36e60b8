"""The output of commands: a table on a terminal, JSON in a pipe."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from elmore.embed import TokenVectors
    from elmore.senses.describe import Sense
    from elmore.senses.detokenize import MarkedText

_SHOWN_DIMS = 6
_CONTROLS = dict.fromkeys({*range(32), *range(127, 160)} - {ord("\n"), ord("\t")}, "\ufffd")


def without_controls(text: str) -> str:
    """Return text whose control characters cannot move a terminal's cursor or change its title."""
    return text.translate(_CONTROLS)


class TextConsole(Console):
    """A console that prints texts and words of others: their control characters are replaced."""

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        return super()._render_buffer(
            Segment(text if control else without_controls(text), style, control)
            for text, style, control in buffer
        )


def is_terminal() -> bool:
    """Say whether standard output is read by a person."""
    return sys.stdout.isatty()


def print_result(facts: Mapping[str, Any], shown: Mapping[str, Any] | None = None) -> None:
    """Print names and values: a table on a terminal (of `shown`, if given), JSON in a pipe."""
    if is_terminal():
        print_facts(facts if shown is None else shown)
    else:
        print_json(facts)


def print_json(content: Any) -> None:
    """Print a line of JSON, escaped where standard output is not UTF-8."""
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(content, ensure_ascii=not is_utf8)
    # A name of a file may have bytes that are no characters.
    sys.stdout.write(text.encode("utf-8", "replace").decode("utf-8") + "\n")


def marked_line(shown: "MarkedText", begin: str = "") -> Text:
    """Return a sentence with its word in colour, after what the line begins with."""
    return Text(f"{begin}{shown.before}").append(shown.word, "bold yellow").append(shown.after)


def print_words(console: Console, sense: "Sense", *, indent: int) -> None:
    """Print the substitutes and the keywords of a sense."""
    for name, words in (("substitutes", sense.substitutes), ("keywords", sense.keywords)):
        if words:
            console.print(Text(f"{'':{indent}}{name}: {', '.join(words)}"))


def end_in_columns(text: str, n_columns: int) -> str:
    """Return the end of a text, right-aligned in so many columns; Hangul takes two each."""
    while cell_len(text) > n_columns:
        text = text[1:]
    return " " * (n_columns - cell_len(text)) + text


class TablePrinter:
    """Prints each text as a table: a row for each token and layer, with its first dimensions."""

    def __init__(self) -> None:
        self._console = TextConsole()

    def write(self, number: int, text: "TokenVectors") -> None:
        """Print one text."""
        several = text.vectors.ndim == 3
        layers = text.vectors if several else text.vectors[None]
        dim = layers.shape[-1]
        table = Table(title=f"text {number}", title_justify="left", box=None, pad_edge=False)
        table.add_column("token")
        if several:
            table.add_column("layer", justify="right")
        table.add_column("norm", justify="right")
        table.add_column(f"first {min(_SHOWN_DIMS, dim)} of {dim} dimensions")
        for place, token in enumerate(text.tokens):
            for depth, layer in enumerate(layers):
                vector = layer[place].astype("float32")
                norm = float((vector @ vector) ** 0.5)
                first = " ".join(f"{x:+.3f}" for x in vector[:_SHOWN_DIMS])
                cells = [token, *([str(depth)] if several else []), f"{norm:.3f}", first]
                table.add_row(*(Text(cell) for cell in cells))
        self._console.print(table)


def print_facts(facts: Mapping[str, Any]) -> None:
    """Print names and values, aligned."""
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in _flat(facts):
        table.add_row(Text(name.replace("_", " ")), Text(_shown(value)))
    TextConsole().print(table)


def _flat(facts: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Give names and values, those of a mapping under its name: "training held_out"."""
    for name, value in facts.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{above}{name} ")
        else:
            yield f"{above}{name}", value


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):  # pairs such as filters as they are given: 1:32, 2:32
        inner = [":".join(map(str, x)) if isinstance(x, list | tuple) else str(x) for x in value]
        return ", ".join(inner) or "none"
    if value is None or value == {}:
        return "none"
    return f"{value:,}" if type(value) is int else str(value)
