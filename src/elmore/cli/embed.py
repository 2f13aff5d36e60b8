"""`elmore embed`: texts, files or standard input to vectors."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from elmore.cli import arguments
from elmore.cli.bars import parts_bar, progress_bar
from elmore.cli.inputs import count_texts, read_input
from elmore.cli.terminal import TablePrinter, is_terminal
from elmore.corpus.lines import MAX_LINE_BYTES
from elmore.errors import ConfigError


def embed(
    *texts: Annotated[str, Parameter(allow_leading_hyphen=True)],
    model: Annotated[str, Parameter(alias="-m")] = "en",
    out: Annotated[str | None, Parameter(alias="-o")] = None,
    overwrite: Annotated[bool, Parameter(negative="")] = False,
    layers: Annotated[
        Literal["mix", "all", "top", "context", "expected"] | int,
        Parameter(converter=arguments.layers),
    ] = "mix",
    pooling: Literal["mean", "max", "first-last"] | None = None,
    dtype: Literal["float32", "float16"] = "float32",
    precision: Literal["float32", "bfloat16", "auto"] = "float32",
    tokenizer: str | None = None,
    split_sentences: str | None = None,
    keep_sentence_marks: Annotated[bool, Parameter(negative="")] = False,
    text_field: str = "text",
    max_line_bytes: arguments.MaxLineBytes = MAX_LINE_BYTES,
    vocab: Path | None = None,
    word_vectors: Path | None = None,
    batch_tokens: Annotated[int, Parameter(converter=arguments.whole_number)] = 4096,
    device: str = "cpu",
    processes: Annotated[int | None, Parameter(converter=arguments.whole_number)] = None,
    ray: str | None = None,
    block_bytes: Annotated[int | None, Parameter(converter=arguments.whole_number)] = None,
) -> None:
    """Compute one vector per word, or per text (--pooling).

    A table on a terminal, JSON Lines in a pipe, or a file.

    Parameters
    ----------
    texts
        Texts and files: .txt (one text per line), .jsonl, .csv, .tsv or .parquet, also
        compressed, also at URLs such as s3://bucket/*.zst; `-` is standard input, which is
        also read if nothing is given.
    model
        A model folder, the name of a bundled model, or hf://owner/name.
    out
        Where to write: .jsonl, .npz, .h5 (AllenNLP's layout) or .parquet; or a folder of .parquet
        parts: a name that ends in /, or a URL such as s3://bucket/vectors.
    overwrite
        Replace --out if it exists.
    layers
        mix (the mean of all layers), all, top, or the number of a layer; 0 has no context. Or the
        states that predict each word without reading it: context (the forward state before it and
        the backward state after it, concatenated) or expected (their sum).
    pooling
        One vector per text instead of one per word: mean, max or first-last.
    dtype
        The type of the vectors.
    precision
        The type of matrix products; auto is bfloat16 where the processor supports it.
    tokenizer
        whitespace, english, korean, korean-vocabulary, korean-eojeol or korean-syllables, instead
        of the model's own.
    split_sentences
        A language, such as en or ko: split each text into sentences and embed each separately.
    keep_sentence_marks
        Keep the vectors of the sentence marks `<S>` and `</S>`.
    text_field
        The field of the text in .jsonl, .csv, .tsv and .parquet files.
    vocab
        The vocabulary of a published model whose folder has none.
    word_vectors
        An HDF5 file of cached token vectors, one row per word of the vocabulary.
    batch_tokens
        Tokens in a batch.
    device
        The device to run on: cpu, cuda, cuda:1, …
    processes
        For a folder of parts: processes, of one thread each; default: one for each core.
    ray
        For a folder of parts: the Ray cluster to run on: auto (the one that this machine is in),
        ray://HOST:PORT, or local; one of its CPUs stays free.
    block_bytes
        For a folder of parts: bytes of text in a part; default: 1,048,576.
    """
    from elmore.corpus.blocks import BLOCK_BYTES
    from elmore.embed import (
        CorpusOptions,
        Elmo,
        JsonLinesWriter,
        check_out,
        embed_corpus,
        embed_lines,
        is_unfinished,
    )

    if out is not None and arguments.is_parts_folder(out):
        arguments.check_parts(texts, out, overwrite)
    elif processes is not None or ray is not None or block_bytes is not None:
        raise ConfigError(
            "--processes, --ray and --block-bytes are for a folder of parts; end its name in /, "
            "such as --out vectors/"
        )
    elif out is not None:
        check_out(Path(out))
        if Path(out).exists() and not overwrite and not is_unfinished(Path(out)):
            raise ConfigError(f"{out} exists already; add --overwrite, or choose another --out")
    options = CorpusOptions(layers, dtype, keep_sentence_marks, split_sentences, pooling)
    lines = (text for (text,) in read_input(texts, [text_field], max_line_bytes=max_line_bytes))
    elmo = Elmo.from_pretrained(
        model,
        tokenizer=tokenizer,
        vocab=vocab,
        word_vectors=word_vectors,
        max_batch_tokens=batch_tokens,
        precision=precision,
        device=device,
    )
    if out is not None and arguments.is_parts_folder(out):
        from elmore.scale import embed_parts

        with parts_bar("embedding", "n_tokens", ray) as on_part:
            done = embed_parts(
                elmo, texts, out, options, text_field=text_field,
                block_bytes=BLOCK_BYTES if block_bytes is None else block_bytes,
                n_processes=arguments.n_processes(processes if device == "cpu" else processes or 1),
                ray=ray, max_line_bytes=max_line_bytes, on_part=on_part,
            ).totals  # fmt: skip
        if sys.stderr.isatty():
            sys.stderr.write(f"{out}: {done['n_texts']:,} texts, {done['n_tokens']:,} tokens\n")
        return
    with progress_bar(shown=out is not None or not is_terminal()) as bar:
        n_texts = None if split_sentences else count_texts(texts)
        task = bar.add_task("embedding", total=n_texts, tokens=0)

        def on_progress(n_texts: int, n_tokens: int | None) -> None:
            shown = bar.tasks[task]
            if n_tokens is None:  # of an earlier run: less to do, and nothing done yet
                bar.update(task, total=shown.total and shown.total - n_texts)
            else:
                bar.update(task, advance=n_texts, tokens=shown.fields["tokens"] + n_tokens)

        if out is None:
            writer = TablePrinter() if is_terminal() else JsonLinesWriter(sys.stdout.buffer)
            for number, text in enumerate(embed_lines(elmo, lines, options, on_progress)):
                writer.write(number, text)
            return
        try:
            size = embed_corpus(elmo, lines, Path(out), options, on_progress)
        except KeyboardInterrupt:
            kept = is_unfinished(Path(out))
            raise KeyboardInterrupt("the same command resumes from here" if kept else "") from None
    if sys.stderr.isatty():
        sys.stderr.write(f"{out}: {size.n_texts:,} texts, {size.n_tokens:,} tokens\n")
