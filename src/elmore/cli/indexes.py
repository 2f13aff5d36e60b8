"""What the verbs that read an index share: its model, and how an occurrence is shown."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elmore.embed import Elmo
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
