"""A corpus of any length in, one file of vectors out: flat memory, and nothing lost when killed.

The corpus is cut into blocks of texts. Each finished block is kept in a folder beside the output,
and at the end the blocks are written out as the one file that was asked for. A run that was killed
is started again with the same command: it checks the blocks that it finds against the corpus and
resumes after them. Every block starts with an empty word cache, so that its vectors do not
depend on where a run began, and the file is the same to the last byte.

Tokenizing, embedding and writing overlap, each in its own thread.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue
from threading import Event, Thread

from elmore.embed.elmo import Elmo
from elmore.embed.pooling import Layers, Pooling, check_layers, layers_dim
from elmore.embed.results import DType, TokenVectors
from elmore.embed.spool import Block, BlockSpool
from elmore.embed.writers import check_out, open_writer
from elmore.errors import ConfigError
from elmore.locks import locked_folder
from elmore.text import normalize, split_sentences
from elmore.text.sentences import check_language

_MAX_BLOCK_TOKENS = 2**16  # what a kill may cost, however small the vectors
_BLOCKS_AHEAD = 2
_TOKENS_AT_ONCE = 4096  # where results are wanted as they come


@dataclass(frozen=True)
class CorpusOptions:
    """What is made of a corpus."""

    layers: Layers = "mix"
    """Which layers: see `Elmo.encode_tokens`."""
    dtype: DType = "float32"
    """What the numbers are stored in."""
    keep_sentence_marks: bool = False
    """Whether the marks have vectors too."""
    split_sentences: str | None = None
    """The language by whose rules each line is split into texts; None: a line is a text."""
    pooling: Pooling | None = None
    """How the words of a text become one vector, as in `Elmo.encode`; None: a vector per word."""
    block_numbers: int = 2**24
    """Numbers in the vectors of a block: 64 MB as float32, some 65,000 tokens of 256."""

    def __post_init__(self) -> None:
        if self.split_sentences is not None:
            check_language(self.split_sentences)
        if self.pooling is not None and self.keep_sentence_marks:
            raise ConfigError("pooling leaves the sentence marks out; leave one of the two out")


Progress = Callable[[int, int | None], None]
"""Is told how many more texts and tokens have been read; None tokens: by an earlier run."""


@dataclass(frozen=True)
class CorpusSize:
    """What a file of vectors holds."""

    n_texts: int
    n_tokens: int


def embed_lines(
    elmo: Elmo, lines: Iterable[str], options: CorpusOptions, progress: Progress
) -> Iterator[TokenVectors]:
    """Yield the vectors of the texts in `lines`, one after the other."""
    for block in _blocks(elmo, iter(lines), options, _TOKENS_AT_ONCE):
        yield from _embed(elmo, block, options, progress)


def embed_corpus(
    elmo: Elmo, lines: Iterable[str], out: Path, options: CorpusOptions, progress: Progress
) -> CorpusSize:
    """Write the vectors of the texts in `lines` to `out`, resuming where a killed run stopped."""
    check_out(out)
    check_layers(options.layers, elmo.n_layers)
    folder = spool_folder(out)
    with locked_folder(folder, out):
        spool = BlockSpool(folder, {**elmo.fingerprint(), **asdict(options)})
        try:
            size = _embed_corpus(elmo, iter(lines), out, options, spool, progress=progress)
        except BaseException:
            if spool.is_empty():
                spool.remove()  # nothing to resume from
            raise
        spool.remove()
        return size


def _embed_corpus(
    elmo: Elmo,
    lines: Iterator[str],
    out: Path,
    options: CorpusOptions,
    spool: BlockSpool,
    *,
    progress: Progress,
) -> CorpusSize:
    n_layers = elmo.n_layers if options.layers == "all" else 1
    dim = layers_dim(options.layers, elmo.dim)
    max_tokens = max(1, min(_MAX_BLOCK_TOKENS, options.block_numbers // (n_layers * dim)))
    for n_texts in spool.skip_finished(lines):
        progress(n_texts, None)
    with ThreadPoolExecutor(1) as writer:
        writing: Future[None] | None = None
        for block in _ahead(_blocks(elmo, lines, options, max_tokens)):
            elmo.cache.clear()
            vectors = _embed(elmo, block, options, progress)
            if writing is not None:
                writing.result()
            writing = writer.submit(spool.add, block, vectors)
        if writing is not None:
            writing.result()
    with open_writer(out, n_layers, dim, options.dtype, spool.folder) as target:
        size = CorpusSize(0, 0)
        for text in spool.texts():
            target.write(size.n_texts, text)
            size = CorpusSize(size.n_texts + 1, size.n_tokens + len(text.tokens))
    return size


def spool_folder(out: Path) -> Path:
    """Return where the finished blocks of an unfinished file are."""
    return out.with_name(f"{out.name}.blocks")


def _blocks(
    elmo: Elmo, lines: Iterator[str], options: CorpusOptions, max_tokens: int
) -> Iterator[Block]:
    """Tokenize lines until they have so many tokens, or are so many."""
    block = Block([], [])
    n_tokens = 0
    for line in lines:
        block.lines.append(line)
        normalized = normalize(line, elmo.model.normalization)
        for text in _texts(normalized, options.split_sentences):
            block.texts.append(tuple(token.text for token in elmo.tokenizer(text)))
            n_tokens += len(block.texts[-1])
        if n_tokens >= max_tokens or len(block.lines) >= max_tokens:
            yield block
            block, n_tokens = Block([], []), 0
    if block.lines:
        yield block


def _texts(line: str, language: str | None) -> list[str]:
    if language is None:
        return [line]
    return [line[start:end] for start, end in split_sentences(line, language)]


def _embed(
    elmo: Elmo, block: Block, options: CorpusOptions, progress: Progress
) -> list[TokenVectors]:
    if options.pooling is not None:
        pooled = elmo._encode(
            block.texts,
            pooling=options.pooling,
            layers=options.layers,
            output="numpy",
            dtype=options.dtype,
            done=lambda n_tokens: progress(1, n_tokens),
        )
        return [
            TokenVectors((" ".join(words),), vectors[..., None, :], None)
            for words, vectors in zip(block.texts, pooled, strict=True)
        ]
    return elmo._encode_tokens(
        block.texts,
        layers=options.layers,
        keep_sentence_marks=options.keep_sentence_marks,
        output="numpy",
        dtype=options.dtype,
        done=lambda n_tokens: progress(1, n_tokens),
    )


def _ahead(blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the same blocks, the next ones being made in another thread meanwhile."""
    made: Queue[Block | BaseException | None] = Queue(_BLOCKS_AHEAD)
    left = Event()

    def make() -> None:
        last: BaseException | None = None
        try:
            for block in blocks:
                made.put(block)
                if left.is_set():
                    return
        except BaseException as error:
            last = error
        made.put(last)

    # A daemon, because it may be waiting for a line that never comes.
    Thread(target=make, daemon=True).start()
    try:
        while (block := made.get()) is not None:
            if isinstance(block, BaseException):
                raise block
            yield block
    finally:
        left.set()
        while not made.empty():  # let it go on, and so end
            made.get_nowait()
