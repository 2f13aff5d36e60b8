"""`elmore fill`: the most probable words for a place in a sentence."""

import sys
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter
from rich.text import Text

from elmore.cli import arguments
from elmore.cli.terminal import TextConsole, is_terminal, marked_line, print_json
from elmore.corpus.lines import decode_lines
from elmore.errors import DataError

if TYPE_CHECKING:
    from elmore.embed import Substitutes


def fill(
    *texts: str,
    model: Annotated[str, Parameter(alias="-m")] = "en",
    word: Annotated[str | None, Parameter(alias="-w")] = None,
    sides: Literal["both", "left", "right"] = "both",
    n: Annotated[int, Parameter(name=["--n", "-n"], converter=arguments.whole_number)] = 10,
    tokenizer: str | None = None,
) -> None:
    """Predict the most probable words for each blank, written ___, with their probabilities.

    A table on a terminal, a line of JSON for each blank in a pipe.

    Parameters
    ----------
    texts
        The texts; without any, standard input is read, one text per line.
    model
        A model folder with its softmax, the name of a bundled model, or hf://owner/name.
    word
        A word of each text to find substitutes for, instead of a blank.
    sides
        The context to use: both sides, or the left or right one alone.
    n
        How many words to predict.
    tokenizer
        whitespace, english, korean, korean-vocabulary, korean-eojeol or korean-syllables, instead
        of the model's own.
    """
    from elmore.embed import Elmo
    from elmore.text import normalize

    if not texts and sys.stdin.isatty():
        raise DataError("nothing to fill; give texts, or pipe text in")
    given = list(texts) or [
        line for line in decode_lines(sys.stdin.buffer, "standard input") if line.strip()
    ]
    elmo = Elmo.from_pretrained(model, tokenizer=tokenizer)
    found = elmo.fill(given, word=word, sides=sides, n=n)
    if is_terminal():
        _print(found, [normalize(text, elmo.model.normalization) for text in given])
        return
    for one in found:
        print_json({
            "text": one.text,
            "tokens": one.tokens,
            "place": one.place,
            "words": one.words,
            "probabilities": [float(f"{p:.6g}") for p in one.probabilities],
        })  # fmt: skip


def _print(found: "list[Substitutes]", texts: list[str]) -> None:
    from elmore.senses.detokenize import marked_token

    console = TextConsole(highlight=False)
    for one in found:
        console.print(marked_line(marked_token(texts[one.text], one.tokens, one.place)))
        for word, probability in zip(one.words, one.probabilities, strict=True):
            console.print(Text(f"  {probability:6.1%}  {word}"))
