"""`elmore change`: how the use of words changed from one corpus to another."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.cells import set_cell_size
from rich.console import Console
from rich.text import Text

from elmore.cli import arguments
from elmore.cli.indexes import kind_of_cosines, model_of, print_words
from elmore.errors import DataError


def change(
    *words: str,
    old: Path,
    new: Path,
    model: Annotated[str | None, Parameter(alias="-m")] = None,
    layer: Annotated[
        Literal["context", "expected"] | int | None, Parameter(converter=arguments.index_layer)
    ] = None,
    n: Annotated[int, Parameter(name=["--n", "-n"], converter=arguments.whole_number)] = 20,
    min_count: Annotated[int, Parameter(converter=arguments.whole_number)] = 20,
) -> None:
    """Say which words are used otherwise in a new corpus, or how some words are.

    Without words: those that changed most. With words: their senses too, and which rose and fell.
    A table on a terminal, JSON Lines in a pipe. Prototype and senses are 0 for no change; pairwise
    also grows with how varied a word's use is.

    Parameters
    ----------
    words
        The words to look at.
    old
        The index of the old corpus, or of one domain.
    new
        The index of the new corpus, built with the same model.
    model
        Where the indexes' model is now; else it is looked for where it was. Only words need it.
    layer
        The layer to compare, a number, context or expected; else the last that both have.
    n
        How many words to show.
    min_count
        How often a word must occur in each.
    """
    from elmore.senses.change import sense_changes, word_change, word_changes
    from elmore.senses.index import OccurrenceIndex

    before, after = OccurrenceIndex.load(old), OccurrenceIndex.load(new)
    shared = [one for one in before.layers if one in after.layers]
    if not shared:
        raise DataError(f"{old} and {new} have no layer in common; build them with the same one")
    used = shared[-1] if layer is None else layer
    console = Console(highlight=False)
    if not words:
        found = word_changes(before, after, used, min_count=min_count)
        if not found:
            raise DataError(
                f"no word occurs {min_count} times in both; ask for a lower --min-count"
            )
        if sys.stdout.isatty():
            console.print(f"cosines of vectors, {kind_of_cosines(before)}", style="dim")
            console.print(f"{'word':20} {'old':>8} {'new':>8}  prototype  pairwise", style="bold")
        for one in found[:n]:
            if not sys.stdout.isatty():
                facts = {**asdict(one), "standardized": before.is_standardized}
                sys.stdout.write(json.dumps(facts, ensure_ascii=False) + "\n")
                continue
            console.print(
                Text(
                    f"{set_cell_size(one.word, 20)} {one.n_old:8,} {one.n_new:8,}  "
                    f"{one.prototype:9.3f}  {one.pairwise:8.3f}"
                )
            )
        return
    elmo = model_of(before, model)
    for word in words:
        one = word_change(before, after, used, word)
        jumped, senses = sense_changes(elmo, before, after, word)
        if not sys.stdout.isatty():
            listed = [
                {
                    "name": sense.sense.name, "old": sense.old, "new": sense.new,
                    "substitutes": sense.sense.substitutes, "keywords": sense.sense.keywords,
                    "examples": sense.examples,
                }
                for sense in senses
            ]  # fmt: skip
            content = {
                **asdict(one), "standardized": before.is_standardized,
                "senses_divergence": jumped, "senses": listed,
            }  # fmt: skip
            sys.stdout.write(json.dumps(content, ensure_ascii=False) + "\n")
            continue
        console.print(
            Text(
                f"{word}: prototype {one.prototype:.3f}, pairwise {one.pairwise:.3f}, "
                f"senses {jumped:.3f} bits", "bold",
            )
        )  # fmt: skip
        for sense in senses:
            arrow = "↑" if sense.new > sense.old else "↓" if sense.new < sense.old else " "
            shares = f"{sense.old:4.0%} → {sense.new:4.0%} {arrow}"
            console.print(Text(f"  {sense.sense.name}  {shares}"))
            print_words(console, sense.sense, indent=7)
            for tokens in sense.examples:
                console.print(Text(f"       {' '.join(tokens)}", "dim"))
