"""`elmore calibrate`: the mean and standard deviation of each layer, measured on text."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from elmore.cli import arguments
from elmore.cli.bars import progress_bar
from elmore.cli.terminal import print_result
from elmore.corpus.lines import MAX_LINE_BYTES
from elmore.errors import ConfigError
from elmore.folders import check_new


def calibrate(
    model: str,
    /,
    *texts: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    out: Annotated[Path, Parameter(alias="-o")],
    max_tokens: Annotated[int, Parameter(converter=arguments.whole_number)] = 200_000,
    split_sentences: str | None = None,
    tokenizer: str | None = None,
    text_field: str = "text",
    max_line_bytes: arguments.MaxLineBytes = MAX_LINE_BYTES,
    dtype: Literal["float32", "float16"] = "float32",
) -> None:
    """Measure the mean and standard deviation of each layer, and write the model with them.

    Standardized vectors have cosines that spread out and can be compared between layers. The model
    still gives raw vectors unless standardized ones are asked for.

    Parameters
    ----------
    model
        A model folder, the name of a bundled model, or hf://owner/name.
    texts
        Files: .txt (one text per line), .jsonl, .csv, .tsv or .parquet, also compressed; `-` is
        standard input.
    out
        The model folder to make.
    max_tokens
        The most tokens to read.
    split_sentences
        A language, such as en or ko: split each line into sentences.
    tokenizer
        whitespace, english, korean, korean-vocabulary, korean-eojeol or korean-syllables, instead
        of the model's own.
    text_field
        The field of the text in .jsonl, .csv, .tsv and .parquet files.
    dtype
        The type of the weights in the folder.
    """
    from dataclasses import replace

    from elmore.corpus.files import check_texts, name_of, read_texts
    from elmore.embed import Elmo
    from elmore.embed import calibrate as measure
    from elmore.formats import write_native

    if not texts:
        raise ConfigError("there is no text to calibrate on; name a file")
    check_new(out)
    check_texts(texts)
    elmo = Elmo.from_pretrained(model, tokenizer=tokenizer)
    reader = elmo.sentence_reader(split_sentences)
    with progress_bar(shown=True) as bar:
        task = bar.add_task("calibrating", total=max_tokens, tokens=0)

        def on_progress(n_tokens: int) -> None:
            bar.update(task, advance=n_tokens, tokens=bar.tasks[task].completed + n_tokens)

        found = measure(
            elmo,
            reader.sentences(read_texts(texts, text_field, max_line_bytes=max_line_bytes)),
            max_tokens=max_tokens,
            texts=[name_of(path) for path in texts],
            on_progress=on_progress,
        )
    write_native(replace(elmo.model, calibration=found), out, dtype)
    facts = {"model": str(out), "tokens": found.n_tokens, "layers": list(found.means)}
    print_result(facts)
