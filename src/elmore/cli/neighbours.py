"""`elmore neighbours`: the nearest occurrences of a word in context."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.cells import set_cell_size
from rich.console import Console
from rich.text import Text

from elmore.cli import arguments
from elmore.cli.terminal import TextConsole, end_in_columns, is_terminal, marked_line, print_json
from elmore.folders import new_output

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

    A table on a terminal, JSON in a pipe, a web page with --html. Korean sentences are rebuilt from
    the morphemes of the index.

    Parameters
    ----------
    text
        The sentence.
    word
        The word of the sentence to find neighbours of.
    in_
        An index (elmore index).
    model
        Where the model of the index is, if it has moved.
    n
        How many neighbours.
    same_word
        Only other occurrences of the same word.
    static
        Show the most similar words by static vectors too: a GloVe, word2vec or fastText file, or
        an elmore folder of vectors.
    html
        A file for a web page of the results.
    """
    from elmore.senses.detokenize import MarkedText, marked_sentence
    from elmore.senses.index import OccurrenceIndex
    from elmore.senses.neighbours import neighbours as find_neighbours
    from elmore.senses.neighbours_page import neighbours_page
    from elmore.static import StaticVectors

    index = OccurrenceIndex.load(in_)
    elmo = index.load_model(model)
    similar = None if static is None else StaticVectors.load(static).most_similar(word, n)
    with Console(stderr=True).status("searching; the first time in a large index takes minutes"):
        found = find_neighbours(elmo, index, text, word, n=n, same_word=same_word)
    if html is not None:
        page = neighbours_page(text, word, found, tokenizer=index.tokenizer, similar=similar)
        with new_output(html) as beside:
            beside.write_text(page, encoding="utf-8", errors="replace")
    if not is_terminal():
        print_json(_facts(text, word, found, similar) | {"standardized": index.is_standardized})
        return
    console = TextConsole(highlight=False)
    if similar is not None:
        console.print("static vectors, in any sentence:", style="bold")
        console.print(Text("  " + ", ".join(f"{other} {cosine:.2f}" for other, cosine in similar)))
    console.print(f"cosines of vectors, {index.cosine_kind}", style="dim")
    n_columns = max(10, (console.width - _MARGIN) // 2)  # of the sentence on either side
    for layer in found:
        console.print(layer.title, style="bold")
        for one in layer.neighbours:
            shown = marked_sentence(one.occurrence, index.tokenizer)
            line = MarkedText(
                end_in_columns(shown.before, n_columns),
                shown.word,
                set_cell_size(shown.after, n_columns).rstrip(),
            )
            console.print(
                marked_line(line, f"  {one.cosine:5.2f}  "), no_wrap=True, overflow="crop"
            )


def _facts(text: str, word: str, found: "list[LayerNeighbours]", similar: Any) -> dict[str, Any]:
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
        "static": similar and [{"word": other, "cosine": cosine} for other, cosine in similar],
    }
