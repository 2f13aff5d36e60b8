"""Blocks of a corpus in, parts of a Parquet data set out, one file a block.

    job = EmbedJob.begin(elmo, ["corpus.txt"], "vectors")
    for number in range(job.n_blocks):
        embed_block(job, number)
    job.finish()

is all there is to it. Blocks may be embedded in any order, by any number of processes and machines
(elmore.scale runs them): each part has the same bytes.
"""

from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec

from elmore.corpus.blocks import BLOCK_BYTES, BlockPlan, plan_blocks, text_checksum
from elmore.corpus.lines import MAX_LINE_BYTES
from elmore.corpus.parts import PartRecord, PartsFolder, PartsManifest, part_name
from elmore.embed.block_job import BlockJob
from elmore.embed.corpus import CorpusOptions, embed_texts, tokenized_blocks
from elmore.embed.elmo import Elmo
from elmore.embed.layers import check_layers
from elmore.embed.writers import ParquetWriter, finishing
from elmore.errors import MissingExtraError
from elmore.stores import AnyPath, as_path, as_paths

TEXTS_PER_PART = 10**9
"""`text` in a data set is the number of its part times this, and its number in the part."""


class EmbedJob(BlockJob):
    """The vectors of a corpus that are wanted, and the folder of their parts."""

    def __init__(
        self, elmo: Elmo, plan: BlockPlan, folder: PartsFolder, options: CorpusOptions
    ) -> None:
        super().__init__(elmo, plan, folder)
        self.options = options

    @classmethod
    def begin(
        cls,
        elmo: Elmo,
        texts: Sequence[str | AnyPath],
        out: str | AnyPath,
        options: CorpusOptions | None = None,
        *,
        text_field: str = "text",
        block_bytes: int = BLOCK_BYTES,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> "EmbedJob":
        """Begin the folder `out`, or take up one that was begun with the same."""
        options = options or CorpusOptions()
        check_layers(options.layers, elmo.n_layers)
        if find_spec("pyarrow") is None:
            raise MissingExtraError("a folder of .parquet files", "parquet")
        plan = plan_blocks(
            as_paths(texts),
            text_field=text_field,
            block_bytes=block_bytes,
            max_line_bytes=max_line_bytes,
        )
        job = {
            **elmo.fingerprint(), **asdict(options),
            "text_field": text_field, "block_bytes": block_bytes,
        }  # fmt: skip
        return cls(elmo, plan, PartsFolder.begin(as_path(out), "vectors", job, plan), options)

    def run(self, number: int) -> PartRecord:
        """Embed a block."""
        return embed_block(self, number)

    def finish(self) -> PartsManifest:
        """Write the manifest, once all blocks are embedded."""
        return self.folder.finish()


def embed_block(job: EmbedJob, number: int) -> PartRecord:
    """Write the vectors of a block as a part, unless it is there and whole."""
    elmo, options, folder = job.elmo, job.options, job.folder
    texts = job.reader.read(number)
    text = text_checksum(texts)
    if (finished := folder.finished(number, text)) is not None:
        return finished
    n_texts = n_tokens = 0
    name = f"{part_name(number)}.parquet"
    with folder.work() as work:
        with finishing(ParquetWriter(work / name, *options.shape(elmo), options.dtype)) as writer:
            for some in tokenized_blocks(elmo, iter(texts), options, options.block_tokens(elmo)):
                for vectors in embed_texts(elmo, some, options, lambda *_: None):
                    writer.write(number * TEXTS_PER_PART + n_texts, vectors)
                    n_texts, n_tokens = n_texts + 1, n_tokens + len(vectors.tokens)
        counts = {"n_texts": n_texts, "n_tokens": n_tokens}
        return folder.enter(number, {name: work / name}, text=text, counts=counts)
