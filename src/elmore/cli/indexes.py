"""What the verbs that read an index share: its model, and how an occurrence is shown."""

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from elmore.embed import Elmo
    from elmore.senses.describe import Sense
    from elmore.senses.index import Occurrence, OccurrenceIndex


def model_of(index: "OccurrenceIndex", given: str | None) -> "Elmo":
    """Load the model of an index from where it was, or from where it is now."""
    from elmore.embed import Elmo
    from elmore.errors import ConfigError

    source = given or index.model["source"]
    if source is None:
        raise ConfigError(f"{index.folder} does not say where its model is; name it with --model")
    elmo = Elmo.from_pretrained(source, tokenizer=index.model["tokenizer"])
    index.check_model(elmo)
    return elmo


def parts_of(occurrence: "Occurrence") -> tuple[str, str, str]:
    """Return the sentence before the word, the word, and what comes after it."""
    tokens, place = occurrence.tokens, occurrence.place
    before, after = " ".join(tokens[:place]), " ".join(tokens[place + 1 :])
    return before + " " * bool(before), tokens[place], " " * bool(after) + after


def end_in_columns(text: str, n_columns: int) -> str:
    """Return the end of a text, right-aligned in so many columns; Hangul takes two each."""
    while cell_len(text) > n_columns:
        text = text[1:]
    return " " * (n_columns - cell_len(text)) + text


def kind_of_cosines(index: "OccurrenceIndex") -> str:
    """Say whether the cosines of an index are of standardized vectors."""
    return "standardized by the model's calibration" if index.is_standardized else "raw"


def print_words(console: Console, sense: "Sense", *, indent: int) -> None:
    """Print the substitutes and the keywords of a sense."""
    for name, words in (("substitutes", sense.substitutes), ("keywords", sense.keywords)):
        if words:
            console.print(Text(f"{'':{indent}}{name}: {', '.join(words)}"))
