"""`elmore predict`: the labels, tags, answers or clusters that a trained task gives to texts."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from cyclopts import Parameter
from rich.text import Text

from elmore.cli import arguments
from elmore.cli.inputs import read_input
from elmore.cli.terminal import TextConsole, is_terminal, print_json
from elmore.corpus.lines import MAX_LINE_BYTES
from elmore.errors import ConfigError, DataError


class _Given(NamedTuple):
    """One text to predict."""

    text: str
    example: Any
    """As the task takes it: a text, a pair, a question, tokens, or tokens and their predicate."""
    tokens: Sequence[str] = ()
    """Of a tagger."""
    spans: Sequence[tuple[int, int]] = ()
    """Where they are in the text."""


def predict(
    model: Path,
    /,
    *texts: Annotated[str, Parameter(allow_leading_hyphen=True)],
    elmo: str | None = None,
    static: Path | None = None,
    probabilities: Annotated[bool, Parameter(negative="")] = False,
    text_field: str = "text",
    max_line_bytes: arguments.MaxLineBytes = MAX_LINE_BYTES,
    first_field: str = "sentence1",
    second_field: str = "sentence2",
    question_field: str = "question",
    token_column: int = 0,
    conll: Annotated[bool, Parameter(negative="")] = False,
) -> None:
    """Predict the labels of texts, the tags of words, answers to questions, or coreference.

    A list on a terminal, a line of JSON for each text in a pipe.

    Parameters
    ----------
    model
        The folder of a trained task.
    texts
        Texts and files: .txt (one text per line), .jsonl, .csv, .tsv or .parquet, also compressed;
        `-` is standard input, which is also read if nothing is given. A tagger takes .conll and
        .conllu files too, and reads their tokens; a coref task takes .conll files of documents
        (CoNLL-2012), and each other text is a document. A text of a pair task is two texts with a
        tab between them; of semantic role labelling, the number of the predicate, from 0, a tab,
        and the text; of an answer task, the question, a tab, and the text. An answer task takes
        SQuAD's .json files too, and gives the id of each question.
    elmo
        Where the biLM is, if it has moved.
    static
        Where the static vectors are, if they have moved.
    probabilities
        Give the probability of each label, or of each word's tags, as well; an answer always has
        its own.
    text_field
        The field of the text in .jsonl, .csv, .tsv and .parquet files.
    first_field
        pair: the field of the first text.
    second_field
        pair: the field of the second text.
    question_field
        answer: the field of the question.
    token_column
        tag: the column of the token in .conll files, counted from 0, or from the end if negative.
    conll
        coref: print the documents of .conll files with their clusters in CoNLL-2012's columns.
    """
    from elmore.tasks.catalogue import TASKS
    from elmore.tasks.saved import read_task_config

    cls = TASKS[read_task_config(model).task].model
    if conll and cls.task != "coref":
        raise ConfigError(f"--conll is for a coref task, and the task of {model} is {cls.task}")
    task: Any = cls.load(model, elmo=elmo, static=static)
    if cls.task == "coref":
        _corefer(task, texts, text_field, max_line_bytes, conll=conll)
        return
    if cls.task == "answer":
        _answer(task, texts, (question_field, text_field), max_line_bytes)
        return
    is_tagger = cls.task == "tag"
    if is_tagger:
        given = list(_sentences(texts, task, text_field, token_column, max_line_bytes))
    else:
        fields = (first_field, second_field) if cls.task == "pair" else (text_field,)
        read = list(read_input(texts, fields, max_line_bytes=max_line_bytes))
        given = [
            _Given("\t".join(parts), _pair(parts) if cls.task == "pair" else parts[0])
            for parts in read
        ]
    examples = [one.example for one in given]
    found = (
        task.predict_with_proba(examples)
        if probabilities
        else [(answer, None) for answer in task.predict(examples)]
    )
    names = task.tags_ if is_tagger else list(map(str, task.classes_))
    for one, (answer, chance) in zip(given, found, strict=True):
        record: dict[str, Any] = {"text": one.text}
        if is_tagger:
            record |= {"tokens": one.tokens, "spans": one.spans, "tags": answer}
        else:
            record["label"] = str(answer)
        if chance is not None:
            rows = [
                dict(zip(names, row, strict=True))
                for row in chance.reshape(-1, len(names)).tolist()
            ]
            record["probabilities"] = rows if is_tagger else rows[0]
        if is_terminal():
            _print(record)
        else:
            print_json(record)


def _answer(task: Any, texts: Sequence[str], fields: tuple[str, str], max_line_bytes: int) -> None:
    """Answer questions, and print them."""
    given = list(_questions(texts, fields, max_line_bytes))
    answers = task.predict([question for _, question in given])
    for (name, (question, text)), answer in zip(given, answers, strict=True):
        if is_terminal():
            shown = Text(answer.text or "no answer", "bold" if answer.text else "dim")
            shown.append(f"  {question}").append(f"  {answer.probability:.1%}", "dim")
            TextConsole(highlight=False).print(shown)
            continue
        span = None if answer.start is None else (answer.start, answer.end)
        record = {} if name is None else {"id": name}
        print_json(record | {
            "question": question, "text": text, "answer": answer.text, "span": span,
            "probability": answer.probability,
        })  # fmt: skip


def _questions(
    texts: Sequence[str], fields: tuple[str, str], max_line_bytes: int
) -> Iterator[tuple[str | int | None, tuple[str, str]]]:
    """Give the questions of SQuAD files with their ids, and others without one."""
    from elmore.tasks.squad import is_squad_file, read_unanswered

    for one in _read_each(texts, is_squad_file, fields, max_line_bytes):
        if isinstance(one, Path):
            yield from read_unanswered(one)
        else:
            yield None, _pair(one)


def _corefer(
    task: Any, texts: Sequence[str], text_field: str, max_line_bytes: int, *, conll: bool
) -> None:
    """Find the clusters of documents, and print them."""
    from elmore.tasks.coref_conll import document_lines, read_documents
    from elmore.tasks.documents import Document
    from elmore.tasks.readers import is_column_file

    if conll:
        for given in texts or ("-",):  # standard input
            if not _is_file_of(is_column_file, given):
                raise ConfigError(f"--conll takes .conll files alone; got {given!r}")
    documents: list[Any] = []
    for one in _read_each(texts, is_column_file, [text_field], max_line_bytes):
        documents += read_documents(one).X if isinstance(one, Path) else one
    console = TextConsole(highlight=False)
    for document, clusters in zip(documents, task.predict(documents), strict=True):
        if conll:
            for line in document_lines(document, clusters):
                sys.stdout.write(f"{line}\n")
        elif is_terminal():
            is_text = isinstance(document, str)
            console.print(Text(document if is_text else f"{document.name}, part {document.part}"))
            for number, cluster in enumerate(clusters, start=1):
                shown = " · ".join(" ".join(mention.text.split()) for mention in cluster)
                console.print(Text(f"  {number}  ", "bold yellow").append(shown))
        elif isinstance(document, Document):
            print_json({
                "document": document.name, "part": document.part, "tokens": document.tokens,
                "clusters": clusters,
            })  # fmt: skip
        else:
            print_json({"text": document, "clusters": clusters})


def _sentences(
    texts: Sequence[str], task: Any, text_field: str, token_column: int, max_line_bytes: int
) -> Iterator[_Given]:
    """Give the sentences of files of columns by their tokens, and other texts tokenized."""
    from elmore.tasks.readers import is_column_file, read_sentences

    for one in _read_each(texts, is_column_file, [text_field], max_line_bytes):
        if isinstance(one, Path):
            if task.predicate:
                raise DataError(
                    f"{one} does not say which word is the predicate; give lines of the "
                    "predicate's number, a tab and a text"
                )
            for tokens in read_sentences(one, token_column=token_column):
                ends = [sum(map(len, tokens[: k + 1])) + k for k in range(len(tokens))]
                spans = [(end - len(token), end) for token, end in zip(tokens, ends, strict=True)]
                yield _Given(" ".join(tokens), tokens, tokens, spans)
        else:
            yield _sentence(one[0], task)


def _read_each(
    texts: Sequence[str],
    is_own: Callable[[Path], bool],
    fields: Sequence[str],
    max_line_bytes: int,
) -> Iterator[Path | tuple[str, ...]]:
    """Give the files of the task's own format as they are, and other texts by their fields."""
    for one in texts or ("-",):  # standard input
        if _is_file_of(is_own, one):
            yield Path(one)
        else:
            yield from read_input([one] if texts else [], fields, max_line_bytes=max_line_bytes)


def _is_file_of(is_own: Callable[[Path], bool], one: str) -> bool:
    return is_own(Path(one)) and os.path.isfile(one)  # noqa: PTH113  any text may come


def _sentence(line: str, task: Any) -> _Given:
    """Tokenize a line, which begins with its predicate's place if the task needs one."""
    place, tab, text = line.partition("\t") if task.predicate else ("", "", line)
    if task.predicate and (not tab or not place.isdecimal()):
        raise DataError(f"got {line!r}; expected the predicate's number, a tab and a text")
    found = task.features_.tokenizer(text)
    tokens = [token.text for token in found]
    shift = len(line) - len(text)
    spans = [(token.start + shift, token.end + shift) for token in found]
    return _Given(line, (tokens, int(place)) if task.predicate else tokens, tokens, spans)


def _pair(parts: tuple[str, ...]) -> tuple[str, str]:
    """Return the two texts of a record, or of a line: of a pair, or a question and its text."""
    if len(parts) == 2:
        return parts
    (line,) = parts
    first, tab, second = line.partition("\t")
    if not tab:
        raise DataError(f"got {line!r}; a pair is two texts with a tab between them")
    return first, second


def _print(record: dict[str, Any]) -> None:
    """Print a text and its label, or its tagged spans as they are in the text."""
    from elmore.tasks.schemes import scheme_of, spans_of

    console, text = TextConsole(highlight=False), record["text"]
    if "label" in record:
        chances = record.get("probabilities", {})
        shown = "".join(f"  {name} {chance:.1%}" for name, chance in chances.items())
        console.print(Text(f"{record['label']}", "bold").append(f"  {text}").append(shown, "dim"))
        return
    console.print(Text(text))
    spans, tags = record["spans"], record["tags"]
    if not spans:  # a blank line has no words
        return
    if scheme_of(tags) == "none":
        found = [(tag, *span) for tag, span in zip(tags, spans, strict=True) if tag != "O"]
    else:
        found = [(kind, spans[a][0], spans[b - 1][1]) for kind, a, b in spans_of(tags)]
    for kind, start, end in found:
        console.print(Text(f"  {text[start:end]}  ").append(kind, "bold yellow"))
