"""A corpus of any length in, one file of vectors out: constant memory, and resumable.

The corpus is split into blocks of texts. Each finished block is saved in a folder beside the
output, and at the end the blocks are written as one file. Run again after a kill, the same command
checks the saved blocks against the corpus and resumes after them; the file is the same to the last
byte.

Tokenizing, embedding and writing overlap, each in its own thread.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue
from threading import Event, Thread

from elmore.bilm_config import DType
from elmore.embed.block_files import FORMAT, JOB, Block, BlockSpool
from elmore.embed.elmo import Elmo
from elmore.embed.encode import encode_pooled, encode_words
from elmore.embed.layers import Layers, check_layers, layers_dim
from elmore.embed.pooling import Pooling
from elmore.embed.results import TokenVectors
from elmore.embed.texts import TokenizedText
from elmore.embed.writers import check_out, open_writer
from elmore.errors import ConfigError
from elmore.folders import is_format
from elmore.locks import locked_folder
from elmore.text.sentences import check_language

_MAX_BLOCK_TOKENS = 2**16  # the most that a kill may cost, however small the vectors
_BLOCKS_AHEAD = 2
_TOKENS_AT_ONCE = 4096  # where results are streamed


@dataclass(frozen=True)
class CorpusOptions:
    """How a corpus is embedded."""

    layers: Layers = "mix"
    """Which layers: see `Elmo.encode_tokens`."""
    dtype: DType = "float32"
    """The precision that vectors are stored in."""
    keep_sentence_marks: bool = False
    """Whether the sentence marks get vectors too."""
    split_sentences: str | None = None
    """The language by whose rules each line is split into texts; None: a line is a text."""
    pooling: Pooling | None = None
    """How the words of a text become one vector, as in `Elmo.encode`; None: a vector per word."""
    block_numbers: int = 2**24
    """The most values in the vectors of a block: 64 MB as float32, some 65,000 tokens of 256."""

    def __post_init__(self) -> None:
        if self.split_sentences is not None:
            check_language(self.split_sentences)
        if self.pooling is not None and self.keep_sentence_marks:
            raise ConfigError("pooling leaves the sentence marks out; leave one of the two out")

    def shape(self, elmo: Elmo) -> tuple[int, int]:
        """Return the number of layers of a token, and the dimensions of each."""
        return elmo.n_layers if self.layers == "all" else 1, layers_dim(self.layers, elmo.dim)

    def block_tokens(self, elmo: Elmo) -> int:
        """Return the most tokens whose vectors are in memory."""
        n_layers, dim = self.shape(elmo)
        return max(1, min(_MAX_BLOCK_TOKENS, self.block_numbers // (n_layers * dim)))


OnEmbedded = Callable[[int, int | None], None]
"""Is called with the numbers of further texts and tokens; None tokens: they were done before."""


@dataclass(frozen=True)
class CorpusSize:
    """The size of a file of vectors."""

    n_texts: int
    n_tokens: int


def embed_lines(
    elmo: Elmo, lines: Iterable[str], options: CorpusOptions, on_progress: OnEmbedded
) -> Iterator[TokenVectors]:
    """Yield the vectors of the texts in `lines`, one after the other."""
    for block in tokenized_blocks(elmo, iter(lines), options, _TOKENS_AT_ONCE):
        yield from embed_texts(elmo, block, options, on_progress)


def embed_corpus(
    elmo: Elmo, lines: Iterable[str], out: Path, options: CorpusOptions, on_progress: OnEmbedded
) -> CorpusSize:
    """Write the vectors of the texts in `lines` to `out`, resuming where a killed run stopped."""
    check_out(out)
    check_layers(options.layers, elmo.n_layers)
    folder = spool_folder(out)
    with locked_folder(folder, out):
        spool = BlockSpool(folder, {**elmo.fingerprint(), **asdict(options)})
        try:
            size = _embed_corpus(elmo, iter(lines), out, options, spool, on_progress=on_progress)
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
    on_progress: OnEmbedded,
) -> CorpusSize:
    n_layers, dim = options.shape(elmo)
    max_tokens = options.block_tokens(elmo)
    for n_texts in spool.skip_finished(lines):
        on_progress(n_texts, None)
    with ThreadPoolExecutor(1) as writer:
        writing: Future[None] | None = None
        for block in _ahead(tokenized_blocks(elmo, lines, options, max_tokens)):
            vectors = embed_texts(elmo, block, options, on_progress)
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
    """Return the folder of the finished blocks of an unfinished file."""
    return out.with_name(f"{out.name}.blocks")


def is_unfinished(out: Path) -> bool:
    """Return whether a run that writes this file was stopped before its end."""
    return is_format(spool_folder(out) / JOB, FORMAT)


def tokenized_blocks(
    elmo: Elmo, lines: Iterator[str], options: CorpusOptions, max_tokens: int
) -> Iterator[Block]:
    """Tokenize lines, up to so many tokens or lines a block."""
    reader = elmo.sentence_reader(options.split_sentences)
    block = Block([], [])
    n_tokens = 0
    for line in lines:
        block.lines.append(line)
        for words in reader.read_line(line):
            block.texts.append(TokenizedText(tuple(words), None))
            n_tokens += len(words)
        if n_tokens >= max_tokens or len(block.lines) >= max_tokens:
            yield block
            block, n_tokens = Block([], []), 0
    if block.lines:
        yield block


def embed_texts(
    elmo: Elmo, block: Block, options: CorpusOptions, on_progress: OnEmbedded
) -> list[TokenVectors]:
    """Return the vectors of the texts of a block."""
    if options.pooling is not None:
        pooled = encode_pooled(
            elmo,
            block.texts,
            pooling=options.pooling,
            layers=options.layers,
            output="numpy",
            dtype=options.dtype,
            on_progress=lambda n_tokens: on_progress(1, n_tokens),
        )
        return [
            TokenVectors((" ".join(text.tokens),), vectors[..., None, :], None)
            for text, vectors in zip(block.texts, pooled, strict=True)
        ]
    return encode_words(
        elmo,
        block.texts,
        layers=options.layers,
        keep_sentence_marks=options.keep_sentence_marks,
        output="numpy",
        dtype=options.dtype,
        on_progress=lambda n_tokens: on_progress(1, n_tokens),
    )


def _ahead(blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield the blocks while another thread prepares the next ones."""
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
        while not made.empty():  # let the thread proceed, and so end
            made.get_nowait()
