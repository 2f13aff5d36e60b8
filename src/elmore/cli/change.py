"""`elmore change`: how the use of words changed from one corpus to another."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.cells import set_cell_size
from rich.text import Text

from elmore.cli import arguments
from elmore.cli.terminal import TextConsole, is_terminal, print_json, print_words
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
    """Find the words whose use changed most between two corpora, or how some words changed.

    Without words: those that changed most. With words: their senses too, and how the share of each
    changed. A table on a terminal, JSON Lines in a pipe. Prototype distance and sense divergence
    are 0 for no change; pairwise distance also grows with how varied a word's use is. Distances are
    of all occurrences, senses of distinct sentences (at most 1,000 of each index). Korean sentences
    are rebuilt from the morphemes of the indexes.

    Parameters
    ----------
    words
        The words to examine.
    old
        The index of the old corpus, or of one domain.
    new
        The index of the new corpus, built with the same model.
    model
        Where the model of the indexes is, if it has moved. Needed only with words.
    layer
        The layer to compare: a number, context or expected; default: the last that both have.
    n
        How many words to show.
    min_count
        The fewest occurrences of a word in each corpus.
    """
    from elmore.senses.change import last_shared_layer, sense_changes, word_change, word_changes
    from elmore.senses.detokenize import detokenize
    from elmore.senses.index import OccurrenceIndex

    before, after = OccurrenceIndex.load(old), OccurrenceIndex.load(new)
    used = last_shared_layer(before, after) if layer is None else layer
    console = TextConsole(highlight=False)
    if not words:
        found = word_changes(before, after, used, min_count=min_count)
        if not found:
            raise DataError(f"no word occurs {min_count} times in both; lower --min-count")
        if not is_terminal():
            for one in found[:n]:
                print_json({**asdict(one), "standardized": before.is_standardized})
            return
        console.print(f"cosines of vectors, {before.cosine_kind}", style="dim")
        console.print(f"{'word':20} {'old':>8} {'new':>8}  prototype  pairwise", style="bold")
        for one in found[:n]:
            console.print(
                Text(
                    f"{set_cell_size(one.word, 20)} {one.n_old:8,} {one.n_new:8,}  "
                    f"{one.prototype:9.3f}  {one.pairwise:8.3f}"
                )
            )
        return
    elmo = before.load_model(model)
    for word in words:
        one = word_change(before, after, used, word)
        divergence, senses, n_sentences = sense_changes(elmo, before, after, word)
        if not is_terminal():
            listed = [
                {
                    "name": sense.sense.name, "old": sense.old, "new": sense.new,
                    "substitutes": sense.sense.substitutes, "keywords": sense.sense.keywords,
                    "examples": [example.tokens for example in sense.examples],
                }
                for sense in senses
            ]  # fmt: skip
            content = {
                **asdict(one), "standardized": before.is_standardized,
                "sentences_old": n_sentences[0], "sentences_new": n_sentences[1],
                "senses_divergence": divergence, "senses": listed,
            }  # fmt: skip
            print_json(content)
            continue
        console.print(
            Text(
                f"{word}: prototype {one.prototype:.3f}, pairwise {one.pairwise:.3f}, "
                f"senses {divergence:.3f} bits", "bold",
            )
        )  # fmt: skip
        counts = zip((one.n_old, one.n_new), n_sentences, strict=True)
        console.print(
            "  occurrences (distinct sentences): "
            + " → ".join(f"{n:,} ({distinct:,})" for n, distinct in counts),
            style="dim",
        )
        for sense in senses:
            arrow = "↑" if sense.new > sense.old else "↓" if sense.new < sense.old else " "
            shares = f"{sense.old:4.0%} → {sense.new:4.0%} {arrow}"
            console.print(Text(f"  {sense.sense.name}  {shares}"))
            print_words(console, sense.sense, indent=7)
            for example in sense.examples:
                text = "".join(detokenize(example.tokens, before.tokenizer))
                console.print(Text(f"       {text}", "dim"))
