"""`elmore neighbours`: who means the same, in context."""

import json
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.cells import set_cell_size
from rich.console import Console
from rich.text import Text

from elmore.cli import arguments
from elmore.cli.indexes import end_in_columns, kind_of_cosines, model_of, parts_of

if TYPE_CHECKING:
    from elmore.senses.neighbours import LayerNeighbours

_MARGIN = 20  # columns for the cosine and the word


def neighbours(
    text: str,
    /,
    *,
    word: Annotated[str, Parameter(alias="-w")],
    in_: Annotated[Path, Parameter(name=["--in", "-i"])],
    model: Annotated[str | None, Parameter(alias="-m")] = None,
    n: Annotated[int, Parameter(name=["--n", "-n"], converter=arguments.whole_number)] = 10,
    same_word: Annotated[bool, Parameter(negative="")] = False,
    static: Path | None = None,
    html: Path | None = None,
) -> None:
    """Find the occurrences in a corpus that are nearest to a word in a sentence, on each layer.

    A table on a terminal, JSON in a pipe, a page with --html.

    Parameters
    ----------
    text
        The sentence.
    word
        The word of it to look for.
    in_
        An index (elmore index).
    model
        Where the index's model is now; else it is looked for where it was.
    n
        How many.
    same_word
        Only other occurrences of the same word.
    static
        Show also what static vectors find: a file of GloVe, word2vec or fastText, or a folder of
        ours.
    html
        Write a page there.
    """
    from elmore.senses.index import OccurrenceIndex
    from elmore.senses.neighbours import neighbours as find_neighbours
    from elmore.static import StaticVectors

    index = OccurrenceIndex.load(in_)
    elmo = model_of(index, model)
    near = None if static is None else StaticVectors.load(static).most_similar(word, n)
    with Console(stderr=True).status("looking; the first time in a large index takes minutes"):
        found = find_neighbours(elmo, index, text, word, n=n, same_word=same_word)
    if html is not None:
        html.parent.mkdir(parents=True, exist_ok=True)
        html.write_text(_page(text, word, found, near), encoding="utf-8")
    if not sys.stdout.isatty():
        facts = _facts(text, word, found, near) | {"standardized": index.is_standardized}
        sys.stdout.write(json.dumps(facts, ensure_ascii=False) + "\n")
        return
    console = Console(highlight=False)
    if near is not None:
        console.print("static vectors, whatever the sentence:", style="bold")
        console.print(Text("  " + ", ".join(f"{other} {cosine:.2f}" for other, cosine in near)))
    console.print(f"cosines of vectors, {kind_of_cosines(index)}", style="dim")
    n_columns = max(10, (console.width - _MARGIN) // 2)  # of the sentence on either side
    for layer in found:
        console.print(_title(layer), style="bold")
        for one in layer.neighbours:
            before, marked, after = parts_of(one.occurrence)
            line = Text(f"  {one.cosine:5.2f}  {end_in_columns(before, n_columns)}")
            line.append(marked, "bold yellow").append(set_cell_size(after, n_columns).rstrip())
            console.print(line, no_wrap=True, overflow="crop")


def _title(layer: "LayerNeighbours") -> str:
    from elmore.senses.index import layer_name

    exact = "" if layer.recall == 1 else f" (finds {layer.recall:.0%} of the nearest)"
    return f"{layer_name(layer.layer)}{exact}:"


def _facts(text: str, word: str, found: "list[LayerNeighbours]", near: Any) -> dict[str, Any]:
    return {
        "text": text,
        "word": word,
        "layers": [
            {
                "layer": layer.layer,
                "recall": layer.recall,
                "neighbours": [
                    {
                        "cosine": one.cosine,
                        "word": one.occurrence.word,
                        "place": one.occurrence.place,
                        "tokens": one.occurrence.tokens,
                    }
                    for one in layer.neighbours
                ],
            }
            for layer in found
        ],
        "static": near and [{"word": other, "cosine": cosine} for other, cosine in near],
    }


_HEAD = """<!doctype html>
<html><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto }}
td {{ padding: .15rem .6rem; vertical-align: top }} td:first-child {{ color: #666 }}
mark {{ background: #ffe08a; padding: 0 .15rem }}
</style></head><body><h1>{title}</h1><p>{text}</p>
"""


def _page(text: str, word: str, found: "list[LayerNeighbours]", near: Any) -> str:
    title = f"The neighbours of “{escape(word)}”"
    parts = [_HEAD.format(title=title, text=escape(text))]
    if near is not None:
        listed = ", ".join(f"{escape(other)} {cosine:.2f}" for other, cosine in near)
        parts.append(f"<h2>static vectors, whatever the sentence</h2><p>{listed}</p>\n")
    for layer in found:
        parts.append(f"<h2>{escape(_title(layer))}</h2><table>\n")
        for one in layer.neighbours:
            before, marked, after = map(escape, parts_of(one.occurrence))
            parts.append(f"<tr><td>{one.cosine:.2f}<td>{before}<mark>{marked}</mark>{after}</tr>\n")
        parts.append("</table>\n")
    return "".join([*parts, "</body></html>\n"])
