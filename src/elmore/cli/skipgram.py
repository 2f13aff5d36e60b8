"""`elmore skipgram`: text files to static vectors."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from elmore.cli import arguments
from elmore.cli.bars import progress_bar
from elmore.corpus.lines import MAX_LINE_BYTES
from elmore.errors import ConfigError
from elmore.folders import check_new
from elmore.locks import lock_of, locked
from elmore.static.config import SkipGramConfig
from elmore.text import Normalization

DEFAULT = SkipGramConfig()


def skipgram(
    *texts: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    out: Annotated[Path, Parameter(alias="-o")],
    tokenizer: str = "english",
    normalization: Normalization = "NFC",
    split_sentences: str | None = None,
    text_field: str = "text",
    max_line_bytes: arguments.MaxLineBytes = MAX_LINE_BYTES,
    config: Annotated[SkipGramConfig, Parameter(name="*")] = DEFAULT,
) -> None:
    """Train static vectors on your own text: one for each word, independent of the sentence.

    Skip-gram with negative sampling, by gensim (extra static). With one thread it is deterministic.

    Parameters
    ----------
    texts
        Files: .txt (one text per line), .jsonl, .csv, .tsv or .parquet, also compressed; `-` is
        standard input.
    out
        The folder to make; `StaticVectors.load` reads it.
    tokenizer
        whitespace, english, korean, korean-eojeol or korean-syllables.
    normalization
        Normalization of the text: NFC, or uncased, which is NFC in lower case.
    split_sentences
        A language, such as en or ko: split each line into sentences.
    text_field
        The field of the text in .jsonl, .csv, .tsv and .parquet files.
    """
    from elmore.corpus.files import check_texts, read_texts
    from elmore.corpus.sentence_reader import SentenceReader
    from elmore.static.skipgram import train_skipgram
    from elmore.text import tokenizer_by_name

    if not texts:
        raise ConfigError("there is no text; name the files to train on, or - for standard input")
    check_new(out)
    check_texts(texts)
    tokenizer_by_name(tokenizer)("")  # which raises if its extra is missing
    reader = SentenceReader(tokenizer, normalization, split_sentences)
    with locked(lock_of(out), out), progress_bar(shown=True) as bar:
        tasks = {
            stage: bar.add_task(stage, total=None, tokens=0) for stage in ("tokenize", "train")
        }

        def on_progress(stage: str, done: int, total: int) -> None:
            bar.update(tasks[stage], completed=done, total=total or None, tokens=done)

        vectors = train_skipgram(
            reader.sentences(read_texts(texts, text_field, max_line_bytes=max_line_bytes)),
            config,
            on_progress=on_progress,
        )
        vectors.save(out)
