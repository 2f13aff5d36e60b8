"""`elmore senses`: the ways in which a word is used in a corpus."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from rich.text import Text

from elmore.cli import arguments
from elmore.cli.terminal import TextConsole, is_terminal, marked_line, print_json, print_words

if TYPE_CHECKING:
    from elmore.senses.describe import Sense
    from elmore.senses.index import Occurrence


def senses(
    word: str,
    /,
    *,
    in_: Annotated[Path, Parameter(name=["--in", "-i"])],
    model: Annotated[str | None, Parameter(alias="-m")] = None,
    labelled: Path | None = None,
    max_senses: Annotated[int, Parameter(converter=arguments.whole_number)] = 8,
    max_occurrences: Annotated[int, Parameter(converter=arguments.whole_number)] = 1_000,
    n_examples: Annotated[int, Parameter(converter=arguments.whole_number)] = 3,
    picture: Path | None = None,
    projection: Literal["pca", "tsne"] = "pca",
    seed: Annotated[int, Parameter(converter=arguments.whole_number)] = 1,
) -> None:
    """Find the senses of a word in a corpus, with substitutes and keywords of each.

    A list on a terminal, JSON in a pipe. Without labelled examples, senses are induced by
    clustering the occurrences by what the sentence expects in the word's place and by the topic of
    the words around it; there are as many as both agree on. Substitutes could replace the word,
    keywords occur around it. A sentence counts once, also if it is repeated. Korean sentences are
    rebuilt from the morphemes of the index.

    Parameters
    ----------
    word
        The word, as it is written in the corpus.
    in_
        An index (elmore index).
    model
        Where the model of the index is, if it has moved.
    labelled
        A file of examples, each line a sense, a tab and a sentence: every occurrence gets the
        sense whose mean expected state is nearest, instead of clustering.
    max_senses
        The most senses to find.
    max_occurrences
        The most sentences to read, a random sample.
    n_examples
        Examples to show of each sense, the most typical ones.
    picture
        A file for a picture of the occurrences, coloured by sense, on each layer of the index.
    projection
        The projection of the picture: pca or tsne.
    seed
        Random seed.
    """
    from elmore.senses.detokenize import marked_sentence
    from elmore.senses.index import OccurrenceIndex
    from elmore.senses.induce import find_senses, other_occurrences, sampled_rows
    from elmore.senses.wsd import label_senses, read_labelled_senses

    if picture is not None:
        from elmore.senses.pictures import check_picture, draw_map

        check_picture(picture)
    index = OccurrenceIndex.load(in_)
    rows = sampled_rows(index, word, most=max_occurrences, seed=seed)
    occurrences = [index.occurrence(int(row)) for row in rows]
    elmo = index.load_model(model)
    others = other_occurrences(index, word, seed=seed)
    if labelled is None:
        found = find_senses(elmo, occurrences, others=others, max_senses=max_senses, seed=seed)
    else:
        examples = read_labelled_senses(labelled, word, elmo)
        found = label_senses(elmo, occurrences, examples, others=others)
    if picture is not None:
        by_layer = {layer: index.vectors(layer)[rows] for layer in index.layers}
        draw_map(by_layer, found, word, picture, projection=projection)
    if not is_terminal():
        content = {
            "word": word,
            "occurrences": len(index.rows(word)),
            "sentences": len(occurrences),
            "standardized": index.is_standardized,
            "senses": [_facts(sense, occurrences, n_examples) for sense in found],
        }
        print_json(content)
        return
    console = TextConsole(highlight=False)
    console.print(
        f"{len(occurrences):,} distinct sentences of {len(index.rows(word)):,} occurrences",
        style="dim",
    )
    for sense in found:
        console.print(Text(f"{sense.name}: {sense.share:.0%}", "bold"))
        print_words(console, sense, indent=3)
        for row in sense.rows[:n_examples]:
            console.print(marked_line(marked_sentence(occurrences[row], index.tokenizer), "   "))


def _facts(sense: "Sense", occurrences: "list[Occurrence]", n: int) -> dict[str, Any]:
    return {
        "name": sense.name,
        "share": sense.share,
        "substitutes": sense.substitutes,
        "keywords": sense.keywords,
        "examples": [
            {"tokens": occurrences[k].tokens, "place": occurrences[k].place} for k in sense.rows[:n]
        ],
    }
