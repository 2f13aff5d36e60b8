"""Vectors or an index in, one Arrow stream out, and from it the files of vector stores.

A stream has a row for each token, in order: `text` (its number), `position`, `token`, `vector`, and
of an index also `sentence`. What stores want beyond that (pgvector, Qdrant, any that reads Arrow)
is a few lines: docs/howto/export-vectors.md. Needs pyarrow, and lancedb for its tables.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from elmore.bilm_config import DType
from elmore.corpus.compression import damaged
from elmore.corpus.parts import MANIFEST
from elmore.embed.vector_parts import VectorParts, read_batches
from elmore.embed.writers import finishing
from elmore.errors import ConfigError, FormatError, MissingExtraError
from elmore.folders import check_new, new_folder, new_output
from elmore.senses.index import OccurrenceIndex
from elmore.senses.index_file import FACTS
from elmore.stores import AnyPath, RemotePath, as_path

MOST_EXACT = 200_000
"""Rows of a LanceDB table up to which it has no approximate index: a search compares them all."""

_ROWS_AT_ONCE = 16_384
_KEYS = ("text", "position", "token")


@dataclass(frozen=True)
class VectorStream:
    """Rows of vectors, as Arrow."""

    schema: Any
    """A `pyarrow.Schema`."""
    n_rows: int
    dim: int
    batches: Callable[[], Iterator[Any]]
    """Gives the record batches, from the start each time."""

    def reader(self) -> Any:
        """Return a `pyarrow.RecordBatchReader`, which most stores take."""
        return _arrow().RecordBatchReader.from_batches(self.schema, self.batches())


def open_stream(
    source: str | AnyPath, *, layer: str | int | None = None, dtype: DType | None = None
) -> VectorStream:
    """Open a folder of parts, a .parquet file of `elmore embed`, or an index.

    `layer` is one of several that there are; `dtype` converts the vectors.
    """
    path = as_path(source)
    if (path / FACTS).is_file():
        if not isinstance(path, Path):
            raise ConfigError(f"{source} is an index at an address; copy it to a disk first")
        return _of_index(OccurrenceIndex.load(path), layer, dtype)
    if (path / MANIFEST).is_file():
        parts = VectorParts.load(path)
        table = _Table(parts.schema, parts.n_tokens, parts.batches)
        return _of_table(table, str(source), layer, dtype)
    if path.suffix == ".parquet" and isinstance(path, Path) and path.is_file():
        return _of_table(_open_parquet(path), str(source), layer, dtype)
    raise FormatError(
        f"{source} is no vectors; expected a folder of parts or a .parquet file of elmore embed, "
        "or an index"
    )


class _Table(NamedTuple):
    """What `elmore embed` has written."""

    schema: Any
    n_rows: int
    batches: Callable[[Sequence[str], int], Iterator[Any]]
    """Gives the record batches, of some columns and so many rows."""


def _open_parquet(path: Path) -> _Table:
    pa = _arrow()
    from pyarrow import dataset  # noqa: PLC0415  an extra

    try:
        found = dataset.dataset(str(path.absolute()))  # arrow takes a: for the scheme of a URI
        n_rows, _ = found.count_rows(), found.schema.names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise damaged(path, error) from None
    return _Table(
        found.schema,
        n_rows,
        lambda columns, size: read_batches(found, path, columns=columns, batch_size=size),
    )


def _of_table(
    found: _Table, source: str, layer: str | int | None, dtype: DType | None
) -> VectorStream:
    pa = _arrow()
    columns = [name for name in found.schema.names if name not in _KEYS]
    if not set(_KEYS) < set(found.schema.names) or not all(
        pa.types.is_fixed_size_list(kind) and kind.list_size > 0
        for kind in (found.schema.field(name).type for name in columns)
    ):
        raise FormatError(f"{source} has not the columns that elmore embed writes")
    layers = {name.removeprefix("layer_"): name for name in columns}
    chosen = layers[_choose(layer, list(layers), source)]
    given = found.schema.field(chosen).type
    schema, convert = _vector_schema(given.list_size, dtype or str(given.value_type), ())

    def batches() -> Iterator[Any]:
        wanted = [*_KEYS, chosen]
        for batch in found.batches(wanted, _ROWS_AT_ONCE):
            if batch.num_rows:
                vectors = batch[chosen].flatten().to_numpy(zero_copy_only=False)
                keys = [batch[name] for name in _KEYS]
                yield pa.record_batch([*keys, convert(vectors)], schema=schema)

    return VectorStream(schema, found.n_rows, given.list_size, batches)


def _of_index(index: OccurrenceIndex, layer: str | int | None, dtype: DType | None) -> VectorStream:
    pa = _arrow()
    layers = {str(one): one for one in index.layers}
    vectors = index.vectors(layers[_choose(layer, list(layers), str(index.folder))])
    dim = vectors.shape[1]
    schema, convert = _vector_schema(dim, dtype or "float16", [("sentence", pa.string())])

    def batches() -> Iterator[Any]:
        for start in range(0, len(index), _ROWS_AT_ONCE):
            end = min(start + _ROWS_AT_ONCE, len(index))
            some = index.keys(start, end)
            occurrences = [index.occurrence(row) for row in range(start, end)]
            yield pa.record_batch(
                [
                    pa.array(some[:, 1], pa.int64()),
                    pa.array(some[:, 2], pa.int32()),
                    [one.word for one in occurrences],
                    convert(vectors[start:end].reshape(-1)),
                    [" ".join(one.tokens) for one in occurrences],
                ],
                schema=schema,
            )

    return VectorStream(schema, len(index), dim, batches)


def _choose(asked: str | int | None, known: list[str], source: str) -> str:
    if asked is None and len(known) == 1:
        return known[0]
    if str(asked) not in known:
        got = "several layers" if asked is None else f"no layer {asked}"
        raise ConfigError(f"{source} has {got}; choose --layer: {', '.join(known)}")
    return str(asked)


def _vector_schema(dim: int, dtype: str, more: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the schema of a stream, and what makes a column of flat numbers."""
    pa = _arrow()
    is_half = dtype in ("float16", "halffloat")
    schema = pa.schema([
        ("text", pa.int64()), ("position", pa.int32()), ("token", pa.string()),
        ("vector", pa.list_(pa.float16() if is_half else pa.float32(), dim)), *more,
    ])  # fmt: skip

    def convert(numbers: Any) -> Any:
        flat = np.ascontiguousarray(numbers, np.float16 if is_half else np.float32)
        return pa.FixedSizeListArray.from_arrays(pa.array(flat), dim)

    return schema, convert


def write_parquet(stream: VectorStream, path: Path) -> None:
    """Write a stream as one .parquet file."""
    _arrow()
    from pyarrow import parquet  # noqa: PLC0415  an extra

    with (
        new_output(path.absolute()) as beside,
        finishing(parquet.ParquetWriter(beside, stream.schema)) as writer,
    ):
        for batch in stream.batches():
            writer.write_batch(batch)


def write_memory_maps(stream: VectorStream, folder: Path) -> None:
    """Write a stream as a folder of arrays for `numpy.load(…, mmap_mode="r")`.

    vectors.npy (N, D), text.npy and position.npy (N,), tokens.txt with one token per line, and of
    an index sentences.txt.
    """
    values = stream.schema.field("vector").type.value_type.to_pandas_dtype()
    columns: dict[str, tuple[Any, tuple[int, ...]]] = {
        "vectors": (values, (stream.n_rows, stream.dim)),
        "text": (np.int64, (stream.n_rows,)),
        "position": (np.int32, (stream.n_rows,)),
    }
    lines = {"token": "tokens.txt", "sentence": "sentences.txt"}
    with new_folder(folder) as beside, ExitStack() as stack:
        files: dict[str, IO[bytes]] = {}
        for name, (dtype, shape) in columns.items():
            files[name] = stack.enter_context((beside / f"{name}.npy").open("wb"))
            header = {
                "descr": np.lib.format.dtype_to_descr(np.dtype(dtype)),
                "fortran_order": False, "shape": shape,
            }  # fmt: skip
            np.lib.format.write_array_header_1_0(files[name], header)
        for batch in stream.batches():
            for name, file in files.items():
                values = batch["vector"].flatten() if name == "vectors" else batch[name]
                array = values.to_numpy(zero_copy_only=False)
                file.write(np.asarray(array, columns[name][0]).tobytes())
            for name, text in lines.items():
                if name in batch.schema.names:
                    with (beside / text).open("a", encoding="utf-8", newline="\n") as out:
                        out.writelines(f"{line}\n" for line in batch[name].to_pylist())


def write_lancedb(stream: VectorStream, path: Path) -> None:
    """Write a stream as a table of LanceDB: FOLDER/NAME.lance is the table NAME of a database.

    `token` is indexed, for filters. Above `MOST_EXACT` rows the vectors are, too (IVF-PQ, cosine);
    below, a search compares all, by the distance that it asks for.
    """
    try:
        import lancedb  # noqa: PLC0415  an extra
        from lancedb.index import BTree, IvfPq  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("a table of LanceDB", "lancedb") from None
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", path.stem):
        raise ConfigError(
            f"{path.name} is no name of a table of LanceDB; expected ASCII letters, digits, _, - "
            "and . before .lance"
        )
    with new_folder(path) as beside:
        try:
            table = lancedb.connect(beside).create_table(path.stem, stream.reader())
            table.create_index("token", config=BTree())
            if stream.n_rows > MOST_EXACT:
                table.create_index("vector", config=IvfPq(distance_type="cosine"))
        except RuntimeError as error:  # such as a full disk
            reason, _, _ = " ".join(str(error).split())[:200].partition(", /")  # its source code
            raise OSError(f"{path} cannot be written: {reason}") from None
        for file in (beside / path.name).iterdir():
            file.rename(beside / file.name)
        (beside / path.name).rmdir()


def export(
    source: str | AnyPath,
    out: str,
    *,
    layer: str | int | None = None,
    dtype: DType | None = None,
) -> VectorStream:
    """Write vectors or an index to `out`, whose name says as what.

    NAME.parquet is a file, FOLDER/NAME.lance a table of LanceDB (float16 unless `dtype` says
    otherwise), and FOLDER/ a folder of NumPy arrays to memory-map.
    """
    path = as_path(out)
    if isinstance(path, RemotePath):
        raise ConfigError(f"{out} is a URL; export to a local disk, then copy")
    check_new(path)
    if path.suffix == ".lance":
        dtype = dtype or "float16"
    elif path.suffix != ".parquet" and not out.endswith("/"):
        raise ConfigError(
            f"{out} does not end in .parquet, in .lance or, for a folder of NumPy arrays, in /"
        )
    stream = open_stream(source, layer=layer, dtype=dtype)
    if path.suffix == ".lance":
        write_lancedb(stream, path)
    elif path.suffix == ".parquet":
        write_parquet(stream, path)
    else:
        write_memory_maps(stream, path)
    return stream


def _arrow() -> Any:
    try:
        import pyarrow  # noqa: PLC0415  an extra
    except ImportError:
        raise MissingExtraError("exporting vectors", "parquet") from None
    return pyarrow
