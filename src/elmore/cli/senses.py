"""`elmore senses`: the ways in which a word is used in a corpus."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from elmore.cli import arguments
from elmore.cli.indexes import model_of, parts_of, print_words
from elmore.errors import DataError

if TYPE_CHECKING:
    from elmore.embed import Elmo
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
    """Tell the senses of a word apart by its occurrences, with substitutes and keywords of each.

    A list on a terminal, JSON in a pipe. Without labelled examples the senses are groups of like
    use, as many as what the sentences expect in the word's place and the topic of the words around
    agree on. Substitutes could stand in the word's place, keywords stand around it.

    Parameters
    ----------
    word
        The word, as it is written in the corpus.
    in_
        An index (elmore index).
    model
        Where the index's model is now; else it is looked for where it was.
    labelled
        A file of examples, a sense, a tab and a sentence on each line: every occurrence gets the
        sense whose mean vector is nearest, by what the sentences expect in the word's place.
    max_senses
        The most senses to look for.
    max_occurrences
        The most occurrences to look at, drawn at random.
    n_examples
        Sentences to show of each sense, the most typical ones.
    picture
        Draw the occurrences there, coloured by sense, for each layer of the index.
    projection
        How they are laid out: pca or tsne.
    seed
        Random seed.
    """
    from elmore.senses.index import OccurrenceIndex
    from elmore.senses.induce import find_senses, other_occurrences, sampled_rows
    from elmore.senses.wsd import label_senses

    index = OccurrenceIndex.load(in_)
    rows = sampled_rows(index, word, most=max_occurrences, seed=seed)
    occurrences = [index.occurrence(int(row)) for row in rows]
    elmo = model_of(index, model)
    others = other_occurrences(index, word, seed=seed)
    if labelled is None:
        found = find_senses(elmo, occurrences, others=others, max_senses=max_senses, seed=seed)
    else:
        examples = _read_labelled(labelled, word, elmo)
        found = label_senses(elmo, occurrences, examples, others=others)
    if picture is not None:
        from elmore.senses.pictures import draw_map

        by_layer = {layer: index.vectors(layer)[rows] for layer in index.layers}
        draw_map(by_layer, found, word, picture, projection=projection)
    if not sys.stdout.isatty():
        content = {
            "word": word,
            "occurrences": len(occurrences),
            "standardized": index.is_standardized,
            "senses": [_facts(sense, occurrences, n_examples) for sense in found],
        }
        sys.stdout.write(json.dumps(content, ensure_ascii=False) + "\n")
        return
    console = Console(highlight=False)
    for sense in found:
        console.print(Text(f"{sense.name}: {sense.share:.0%}", "bold"))
        print_words(console, sense, indent=3)
        for row in sense.rows[:n_examples]:
            before, marked, after = parts_of(occurrences[row])
            console.print(Text(f"   {before}").append(marked, "bold yellow").append(after))


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


def _read_labelled(path: Path, word: str, elmo: "Elmo") -> "list[tuple[str, Occurrence]]":
    from elmore.corpus.lines import decode_lines
    from elmore.senses.index import Occurrence
    from elmore.text import normalize

    word = normalize(word, elmo.model.normalization)
    found = []
    with path.open("rb") as file:
        for number, line in enumerate(decode_lines(file, str(path)), start=1):
            if not line.strip():
                continue
            sense, tab, text = line.partition("\t")
            tokens = tuple(token.text for token in elmo.tokenizer(text))
            if not tab or word not in tokens:
                raise DataError(
                    f"{path}, line {number}, has {line!r}; "
                    f"expected a sense, a tab and a sentence with the word {word!r}"
                )
            found.append((sense, Occurrence(word, tokens, tokens.index(word))))
    if not found:
        raise DataError(f"{path} has no examples; expected a sense, a tab and a sentence a line")
    return found
