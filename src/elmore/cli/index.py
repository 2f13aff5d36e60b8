"""`elmore index`: a corpus to the vectors of its words' occurrences, on disk."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from elmore.cli import arguments
from elmore.cli.bars import parts_bar
from elmore.cli.terminal import print_result
from elmore.corpus.lines import MAX_LINE_BYTES
from elmore.errors import ConfigError

if TYPE_CHECKING:
    from elmore.formats.calibration import Layer


def index(
    *texts: Annotated[str, Parameter(allow_leading_hyphen=True)],
    out: Annotated[str, Parameter(alias="-o")],
    model: Annotated[str, Parameter(alias="-m")] = "en",
    layers: str = "expected",
    words: str | None = None,
    max_per_word: Annotated[int | None, Parameter(converter=arguments.whole_number)] = None,
    split_sentences: str | None = None,
    tokenizer: str | None = None,
    text_field: str = "text",
    max_line_bytes: arguments.MaxLineBytes = MAX_LINE_BYTES,
    processes: Annotated[int | None, Parameter(converter=arguments.whole_number)] = None,
    ray: str | None = None,
    block_bytes: Annotated[int | None, Parameter(converter=arguments.whole_number)] = None,
) -> None:
    """Build an index of the word occurrences of a corpus: their vectors and sentences.

    The same command again resumes where it stopped. `elmore neighbours`, `senses` and `change` read
    it.

    Parameters
    ----------
    texts
        Files: .txt (one text per line), .jsonl, .csv, .tsv or .parquet, also compressed, also at
        URLs such as s3://bucket/*.zst.
    out
        The folder to make, also at a URL.
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
    processes
        Processes, of one thread each; default: one for each core.
    ray
        The Ray cluster to run on: auto (the one that this machine is in), ray://HOST:PORT, or
        local; one of its CPUs stays free.
    block_bytes
        Bytes of text in a block, the unit of work; default: 1,048,576.
    """
    from elmore.corpus.blocks import BLOCK_BYTES
    from elmore.corpus.files import STANDARD_INPUT, check_texts
    from elmore.embed import Elmo
    from elmore.scale import index_parts
    from elmore.senses.index_file import FACTS, IndexConfig
    from elmore.stores import as_path, as_paths
    from elmore.text.sentences import check_language

    if not texts:
        raise ConfigError("there is no text; name the files of the corpus")
    if str(STANDARD_INPUT) in texts:
        raise ConfigError("standard input cannot be read twice, which resuming needs; name a file")
    if split_sentences is not None:
        check_language(split_sentences)
    check_texts(as_paths(texts))
    elmo = Elmo.from_pretrained(model, tokenizer=tokenizer)
    config = IndexConfig(
        layers=_layers(layers, elmo.n_layers),
        words=None if words is None else _words(words),
        max_per_word=max_per_word,
        split_sentences=split_sentences,
    )
    with parts_bar("indexing", "n_occurrences", ray) as on_part:
        found = index_parts(
            elmo, texts, out, config, text_field=text_field,
            block_bytes=BLOCK_BYTES if block_bytes is None else block_bytes,
            n_processes=arguments.n_processes(processes),
            ray=ray, max_line_bytes=max_line_bytes, on_part=on_part,
        )  # fmt: skip
    size = sum(record.size for record in (found.files or {}).values())
    size += (as_path(out) / FACTS).stat().st_size
    facts = {
        "index": out,
        "occurrences": found.facts.n_occurrences,
        "words": found.facts.n_words,
        "sentences": found.facts.n_sentences,
        "layers": list(found.config.layers),
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
