"""A corpus in, a folder of vectors or an index out: the same bytes however many workers there are.

What a block becomes is said in embed/parts.py and senses/parts.py; here blocks are given to the
processes of this machine or to a Ray cluster, and what they finished is put together. Killed at
any moment, the same call resumes with the blocks that are not finished.
"""

from collections.abc import Callable, Iterator, Sequence

from elmore.checks import at_least
from elmore.corpus.blocks import BLOCK_BYTES
from elmore.corpus.lines import MAX_LINE_BYTES
from elmore.corpus.parts import PartRecord, PartsManifest, lock_parts
from elmore.embed import CorpusOptions, Elmo
from elmore.embed.block_job import BlockJob
from elmore.embed.parts import EmbedJob
from elmore.errors import ConfigError, ElmoreError
from elmore.scale.processes import run_in_processes
from elmore.senses.index_file import IndexConfig, IndexFile
from elmore.senses.parts import IndexJob, finished_index
from elmore.stores import AnyPath, as_path

OnPart = Callable[[int, PartRecord], None]
"""Is called with the number of all blocks, and the record of one that is finished."""


def embed_parts(
    elmo: Elmo,
    texts: Sequence[str | AnyPath],
    out: str | AnyPath,
    options: CorpusOptions | None = None,
    *,
    text_field: str = "text",
    block_bytes: int = BLOCK_BYTES,
    max_line_bytes: int = MAX_LINE_BYTES,
    n_processes: int = 1,
    ray: str | None = None,
    on_part: OnPart = lambda n_blocks, record: None,
) -> PartsManifest:
    """Write the vectors of a corpus as a Parquet data set, a part for each block, or resume it.

    Blocks are embedded by `n_processes` processes of this machine, or on the Ray cluster at `ray`:
    "local", "auto" or "ray://HOST:PORT".
    """
    _check(texts, out, n_processes, ray)
    with lock_parts(as_path(out)):
        job = EmbedJob.begin(
            elmo,
            texts,
            out,
            options,
            text_field=text_field,
            block_bytes=block_bytes,
            max_line_bytes=max_line_bytes,
        )
        _run(job, n_processes, ray, on_part)
        return job.finish()


def index_parts(
    elmo: Elmo,
    texts: Sequence[str | AnyPath],
    out: str | AnyPath,
    config: IndexConfig,
    *,
    text_field: str = "text",
    block_bytes: int = BLOCK_BYTES,
    max_line_bytes: int = MAX_LINE_BYTES,
    n_processes: int = 1,
    ray: str | None = None,
    on_part: OnPart = lambda n_blocks, record: None,
) -> IndexFile:
    """Build an index of a corpus, or resume it, by processes or on Ray as `embed_parts` does.

    Return what its index.json says; a local one is loaded by `OccurrenceIndex.load(out)`.
    """
    _check(texts, out, n_processes, ray)
    with lock_parts(as_path(out)):
        found = finished_index(elmo, texts, out, config, text_field=text_field)
        if found is not None:
            return found
        job = IndexJob.begin(
            elmo,
            texts,
            out,
            config,
            text_field=text_field,
            block_bytes=block_bytes,
            max_line_bytes=max_line_bytes,
        )
        _run(job, n_processes, ray, on_part)
        return job.finish()


def _check(
    texts: Sequence[str | AnyPath], out: str | AnyPath, n_processes: int, ray: str | None
) -> None:
    at_least(1, largest=1024, n_processes=n_processes)
    if n_processes == 1 and ray is None:
        return
    for address in map(str, (*texts, out)):
        if address.startswith("memory://"):
            raise ConfigError(
                f"{address} is in the memory of this process, which others do not see; use one "
                "process, or another store"
            )


def _run(job: BlockJob, n_processes: int, ray: str | None, on_part: OnPart) -> None:
    """Have all blocks made that are needed; leave nothing behind that nobody could resume."""
    numbers = range(job.n_blocks)
    try:
        finished: set[int] = set()
        n_first = 0  # so many of the first blocks are finished
        for number, record in _records(job, numbers, n_processes, ray):
            on_part(job.n_blocks, record)
            finished.add(number)
            while n_first in finished:
                if job.is_enough(n_first):
                    return
                finished.remove(n_first)
                n_first += 1
    except (ElmoreError, OSError):  # such as a full disk
        if job.folder.is_empty():
            job.folder.remove()
        raise


def _records(
    job: BlockJob, numbers: Sequence[int], n_processes: int, ray: str | None
) -> Iterator[tuple[int, PartRecord]]:
    if ray is None:
        return run_in_processes(job, numbers, n_processes)
    from elmore.scale.ray_cluster import run_on_ray  # noqa: PLC0415  an extra

    return run_on_ray(job, numbers, ray)
