"""`elmore predict`: what a trained task says of new texts."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from elmore.errors import DataError


def predict(
    model: Path,
    /,
    *texts: Annotated[str, Parameter(allow_leading_hyphen=True)],
    elmo: str | None = None,
    static: Path | None = None,
    probabilities: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Give texts their labels, or words their tags: a line of JSON for each text.

    Parameters
    ----------
    model
        The folder of a trained task.
    texts
        Texts, or files with a text a line; of a pair, the two texts with a tab between them; for
        semantic roles the number of the predicate, from 0, a tab, and the text.
        Without any, standard input is read.
    elmo
        Where the biLM is, if it is not where it was.
    static
        Where the static vectors are, if they are not where they were.
    probabilities
        Give the probability of each label, or of each word's tags, as well.
    """
    from elmore.cli.task_flags import TASKS
    from elmore.tasks.saved import read_task_config

    cls = TASKS[read_task_config(model)["task"]]
    task: Any = cls.load(model, elmo=elmo, static=static)
    lines = list(_lines(texts))
    given: list[Any] = [_pair(line) for line in lines] if cls.task == "pair" else list(lines)
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


def _lines(texts: tuple[str, ...]) -> Iterator[str]:
    from elmore.corpus.compression import open_unpacked
    from elmore.corpus.lines import decode_lines

    if not texts:
        yield from decode_lines(sys.stdin.buffer, "standard input")
    for text in texts:
        if len(text) < 4096 and Path(text).is_file():
            with open_unpacked(Path(text)) as file:
                yield from decode_lines(file, text)
        else:
            yield text


def _sentence(line: str, task: Any) -> Any:
    """Return the tokens of a line, with its predicate's place if the task needs one."""
    place, tab, text = line.partition("\t")
    if not task.predicate:
        return [token.text for token in task.tokenizer_(line)]
    if not tab or not place.isdecimal():
        raise DataError(f"got {line!r}; expected the predicate's number, a tab and a text")
    return [token.text for token in task.tokenizer_(text)], int(place)


def _pair(line: str) -> tuple[str, str]:
    first, tab, second = line.partition("\t")
    if not tab:
        raise DataError(f"got {line!r}; a pair is two texts with a tab between them")
    return first, second
