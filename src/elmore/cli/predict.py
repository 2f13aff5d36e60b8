"""`elmore predict`: what a trained task says of new texts."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from elmore.cli.inputs import read_input
from elmore.errors import DataError


def predict(
    model: Path,
    /,
    *texts: Annotated[str, Parameter(allow_leading_hyphen=True)],
    elmo: str | None = None,
    static: Path | None = None,
    probabilities: Annotated[bool, Parameter(negative="")] = False,
    text_field: str = "text",
    first_field: str = "sentence1",
    second_field: str = "sentence2",
) -> None:
    """Give texts their labels, or words their tags: a line of JSON for each text.

    Parameters
    ----------
    model
        The folder of a trained task.
    texts
        Texts or files: .txt (a text a line), .jsonl, .csv, .tsv or .parquet, also compressed; - is
        standard input, which is also read if nothing is given. A text of a pair task is two texts
        with a tab between them; of semantic roles, the number of the predicate, from 0, a tab, and
        the text.
    elmo
        Where the biLM is, if it is not where it was.
    static
        Where the static vectors are, if they are not where they were.
    probabilities
        Give the probability of each label, or of each word's tags, as well.
    text_field
        The field of the text in .jsonl, .csv, .tsv and .parquet files.
    first_field
        pair: that of the first text.
    second_field
        pair: that of the second.
    """
    from elmore.cli.task_flags import TASKS
    from elmore.tasks.saved import read_task_config

    cls = TASKS[read_task_config(model)["task"]]
    task: Any = cls.load(model, elmo=elmo, static=static)
    fields = (first_field, second_field) if cls.task == "pair" else (text_field,)
    read = list(read_input(texts, fields))
    lines = ["\t".join(parts) for parts in read]
    given: list[Any] = [_pair(parts) for parts in read] if cls.task == "pair" else list(lines)
    if cls.task == "tag":
        given = [_sentence(line, task) for line in lines]
    found = task.predict(given)
    chances = task.predict_proba(given) if probabilities else [None] * len(lines)
    names = task.tags_ if cls.task == "tag" else task.classes_.tolist()
    for line, words, answer, chance in zip(lines, given, found, chances, strict=True):
        record: dict[str, Any] = {"text": line}
        if cls.task == "tag":
            record |= {"tokens": words[0] if task.predicate else words, "tags": answer}
        else:
            record["label"] = str(answer)
        if chance is not None:
            record["probabilities"] = (
                [dict(zip(names, word, strict=True)) for word in chance.tolist()]
                if cls.task == "tag"
                else dict(zip(names, chance.tolist(), strict=True))
            )
        sys.stdout.write(json.dumps(record, ensure_ascii=False) + "\n")


def _sentence(line: str, task: Any) -> Any:
    """Return the tokens of a line, with its predicate's place if the task needs one."""
    place, tab, text = line.partition("\t")
    if not task.predicate:
        return [token.text for token in task.features_.tokenizer(line)]
    if not tab or not place.isdecimal():
        raise DataError(f"got {line!r}; expected the predicate's number, a tab and a text")
    return [token.text for token in task.features_.tokenizer(text)], int(place)


def _pair(parts: tuple[str, ...]) -> tuple[str, str]:
    """Return the two texts of a record, or of a line."""
    if len(parts) == 2:
        return parts
    (line,) = parts
    first, tab, second = line.partition("\t")
    if not tab:
        raise DataError(f"got {line!r}; a pair is two texts with a tab between them")
    return first, second
