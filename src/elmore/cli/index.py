"""`elmore index`: a corpus to the vectors of its words' occurrences, on disk."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from elmore.cli import arguments
from elmore.cli.bars import progress_bar
from elmore.cli.terminal import print_result
from elmore.corpus.lines import MAX_LINE_BYTES
from elmore.errors import ConfigError

if TYPE_CHECKING:
    from elmore.formats.calibration import Layer


def index(
    *texts: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    out: Annotated[Path, Parameter(alias="-o")],
    model: Annotated[str, Parameter(alias="-m")] = "en",
    layers: str = "expected",
    words: str | None = None,
    max_per_word: Annotated[int | None, Parameter(converter=arguments.whole_number)] = None,
    split_sentences: str | None = None,
    tokenizer: str | None = None,
    text_field: str = "text",
    max_line_bytes: arguments.MaxLineBytes = MAX_LINE_BYTES,
) -> None:
    """Build an index of the word occurrences of a corpus: their vectors and sentences.

    The same command again resumes where it stopped. `elmore neighbours`, `senses` and `change` read
    it.

    Parameters
    ----------
    texts
        Files: .txt (one text per line), .jsonl, .csv, .tsv or .parquet, also compressed.
    out
        The folder to make.
    model
        A bundled name, a model folder or hf://owner/name.
    layers
        The layers to index, with commas: top, all, numbers, or the states that predict a word
        without reading it: context, expected. Each takes 2 bytes per dimension; expected has half
        as many dimensions.
    words
        Index only these words, with commas, or @FILE with one word per line.
    max_per_word
        The most occurrences of a word to index, the first ones.
    split_sentences
        A language, such as en or ko: split each line into sentences.
    tokenizer
        whitespace, english, korean, korean-vocabulary, korean-eojeol or korean-syllables, instead
        of the model's own.
    text_field
        The field of the text in .jsonl, .csv, .tsv and .parquet files.
    """
    from elmore.corpus.files import STANDARD_INPUT, check_texts, describe_text, read_texts
    from elmore.embed import Elmo
    from elmore.senses.build import build_index
    from elmore.senses.index_file import IndexConfig
    from elmore.text.sentences import check_language

    if not texts:
        raise ConfigError("there is no text; name the files of the corpus")
    if STANDARD_INPUT in texts:
        raise ConfigError("standard input cannot be read twice, which resuming needs; name a file")
    if split_sentences is not None:
        check_language(split_sentences)
    check_texts(texts)
    elmo = Elmo.from_pretrained(model, tokenizer=tokenizer)
    config = IndexConfig(
        layers=_layers(layers, elmo.n_layers),
        words=None if words is None else _words(words),
        max_per_word=max_per_word,
        split_sentences=split_sentences,
    )
    with progress_bar(shown=True) as bar:
        task = bar.add_task("indexing", total=None, tokens=0)
        n_kept = 0

        def on_progress(n_lines: int, n_occurrences: int) -> None:
            nonlocal n_kept
            n_kept += n_occurrences
            bar.update(task, advance=n_lines, tokens=n_kept)

        try:
            found = build_index(
                elmo, read_texts(texts, text_field, max_line_bytes=max_line_bytes), out, config,
                source=[{**describe_text(path), "field": text_field} for path in texts],
                on_progress=on_progress,
            )  # fmt: skip
        except KeyboardInterrupt:
            raise KeyboardInterrupt(f"{out} keeps what is done; the same command resumes") from None
    size = sum(path.stat().st_size for path in out.iterdir())
    facts = {
        "index": str(out),
        "occurrences": len(found),
        "words": len(found.words),
        "sentences": found.facts.n_sentences,
        "layers": found.layers,
        "size": size,
    }
    print_result(facts, facts | {"size": f"{size / 1e6:,.1f} MB"})


def _layers(asked: str, n_layers: int) -> "tuple[Layer, ...]":
    parts = set(asked.split(","))
    names = [name for name in ("context", "expected") if name in parts]
    numbers = {int(part) for part in parts if part.isdecimal() and len(part) < 10}
    if "top" in parts:
        numbers.add(n_layers - 1)
    if "all" in parts:
        numbers |= set(range(n_layers))
    known = {"top", "all", "context", "expected", *map(str, numbers)}
    if parts - known:
        raise ConfigError(
            f"--layers is {asked!r}; expected top, all, context, expected or numbers, with commas"
        )
    return (*sorted(numbers), *names)


def _words(asked: str) -> tuple[str, ...]:
    if not asked.startswith("@"):
        return tuple(word.strip() for word in asked.split(",") if word.strip())
    from elmore.corpus.lines import decode_lines

    with Path(asked[1:]).open("rb") as file:
        return tuple(line.strip() for line in decode_lines(file, asked[1:]) if line.strip())
