"""Vectors in, a file out, text by text: .jsonl, .npz, .h5 (as AllenNLP lays it out) or .parquet.

A file is written under another name and renamed at the end, so that it is never half written.
"""

import json
import struct
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import h5py
import numpy as np
import numpy.typing as npt

from elmore.bilm_config import DType
from elmore.embed.results import TokenVectors
from elmore.errors import ConfigError, MissingExtraError
from elmore.folders import new_file
from elmore.formats import NewHdf5

_ZIP64 = 45  # the version of the format that has files of any size


class VectorWriter(ABC):
    """Writes texts in order, numbered from 0."""

    @abstractmethod
    def write(self, number: int, text: TokenVectors) -> None:
        """Write one text."""

    @abstractmethod
    def close(self) -> None:
        """Write the end of the file, and close it."""


class JsonLinesWriter(VectorWriter):
    """One JSON object a line: `text` (its number), `tokens` and `vectors`."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, number: int, text: TokenVectors) -> None:
        """Write one line."""
        tokens = json.dumps(_writable(text.tokens), ensure_ascii=False)
        vectors = _json_numbers(text.vectors)
        line = f'{{"text": {number}, "tokens": {tokens}, "vectors": {vectors}}}\n'
        self._file.write(line.encode("utf-8"))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class NpzWriter(VectorWriter):
    """numpy's archive: for text i the arrays `i`, its vectors, and `i.tokens`."""

    def __init__(self, path: Path) -> None:
        self._archive = zipfile.ZipFile(path, "w")
        self._entries = _Entries(path.parent)
        self._archive.filelist = self._entries  # type: ignore[assignment]
        self._archive.NameToInfo = _NoNames()

    def write(self, number: int, text: TokenVectors) -> None:
        """Write the two arrays of one text."""
        arrays = {
            f"{number}": text.vectors,
            f"{number}.tokens": np.array(_writable(text.tokens), dtype=str),
        }
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")  # no timestamp: the same vectors, the same bytes
            entry.create_version = entry.extract_version = _ZIP64
            with self._archive.open(entry, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)

    def close(self) -> None:
        """Write the archive's directory."""
        try:
            self._archive.close()
        finally:
            self._entries.close()


class _Entries:
    """The directory of an archive while it is written: in a file, as zipfile takes 0.4 kB each."""

    _record = struct.Struct("<QQQB")  # offset, size, CRC-32, length of the name

    def __init__(self, folder: Path) -> None:
        self._file = TemporaryFile(dir=folder)  # noqa: SIM115  closed by close()
        self._n_entries = 0

    def append(self, entry: zipfile.ZipInfo) -> None:
        name = entry.filename.encode()
        numbers = (entry.header_offset, entry.file_size, entry.CRC, len(name))
        self._file.write(self._record.pack(*numbers) + name)
        self._n_entries += 1

    def __len__(self) -> int:
        return self._n_entries

    def __iter__(self) -> Iterator[zipfile.ZipInfo]:
        self._file.seek(0)
        for _ in range(self._n_entries):
            numbers = self._record.unpack(self._file.read(self._record.size))
            entry = zipfile.ZipInfo(self._file.read(numbers[3]).decode())
            entry.create_version = entry.extract_version = _ZIP64
            entry.header_offset, entry.file_size, entry.CRC = numbers[:3]
            entry.compress_size = entry.file_size
            entry.external_attr = 0o600 << 16  # as zipfile has it
            yield entry

    def close(self) -> None:
        self._file.close()


class _NoNames(dict[str, zipfile.ZipInfo]):
    """Where zipfile would remember each name, to warn of a second one."""

    def __setitem__(self, name: str, entry: zipfile.ZipInfo) -> None:
        pass


class Hdf5Writer(VectorWriter):
    """AllenNLP's layout: the number of the text as the key, and `sentence_to_index` as JSON.

    The sentences stay in memory until the end: the layout has them all in one string, which HDF5
    writes at once.
    """

    def __init__(self, path: Path) -> None:
        self._file = NewHdf5(path)
        self._numbers: dict[str, str] = {}

    def write(self, number: int, text: TokenVectors) -> None:
        """Write the vectors of one text."""
        self._file.add(str(number), text.vectors)
        self._numbers[" ".join(_writable(text.tokens))] = str(number)

    def close(self) -> None:
        """Write the numbers of the sentences."""
        try:
            index = np.array([json.dumps(self._numbers)], dtype=h5py.string_dtype())
            self._file.add("sentence_to_index", index)
        finally:
            self._file.close()


class ParquetWriter(VectorWriter):
    """One row a token: `text`, `position`, `token` and `vector`, or `layer_0`, `layer_1`, …"""

    _rows_at_once = 16_384

    def __init__(self, path: Path, n_layers: int, dim: int, dtype: DType) -> None:
        import pyarrow as pa  # noqa: PLC0415  an extra
        import pyarrow.parquet as pq  # noqa: PLC0415

        self._pa, self._dim = pa, dim
        names = ["vector"] if n_layers == 1 else [f"layer_{j}" for j in range(n_layers)]
        number = pa.float32() if dtype == "float32" else pa.float16()
        self._schema = pa.schema(
            [("text", pa.int64()), ("position", pa.int32()), ("token", pa.string())]
            + [(name, pa.list_(number, dim)) for name in names]
        )
        self._parquet = pq.ParquetWriter(path.absolute(), self._schema)
        self._waiting: list[Any] = []
        self._n_waiting = 0

    def write(self, number: int, text: TokenVectors) -> None:
        """Write the rows of one text."""
        n_tokens = len(text.tokens)
        layers = text.vectors if text.vectors.ndim == 3 else text.vectors[None]
        columns: list[Any] = [[number] * n_tokens, list(range(n_tokens)), _writable(text.tokens)]
        for layer in layers:
            flat = self._pa.array(np.ascontiguousarray(layer).reshape(-1))
            columns.append(self._pa.FixedSizeListArray.from_arrays(flat, self._dim))
        if n_tokens:
            self._waiting.append(self._pa.table(columns, schema=self._schema))
            self._n_waiting += n_tokens
        if self._n_waiting >= self._rows_at_once:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._parquet.write_table(self._pa.concat_tables(self._waiting).combine_chunks())
        self._waiting, self._n_waiting = [], 0

    def close(self) -> None:
        """Write the last rows and the footer."""
        try:
            self._flush()
        finally:
            self._parquet.close()


def _json_numbers(values: npt.NDArray[np.floating[Any]]) -> str:
    """Return numbers as JSON, with the digits that give the same bits when they are read."""
    if not np.isfinite(values).all():
        return json.dumps(values.tolist())
    if values.ndim == 1:
        digits = 5 if values.dtype == np.float16 else 9
        return f"[{', '.join([f'%.{digits}g'] * len(values))}]" % tuple(values.tolist())
    return f"[{', '.join(map(_json_numbers, values))}]"


def _writable(tokens: Sequence[str]) -> list[str]:
    """Return tokens that UTF-8 can encode: a question mark for each lone surrogate."""
    return [token.encode("utf-8", "replace").decode("utf-8") for token in tokens]


SUFFIXES = (".jsonl", ".npz", ".h5", ".hdf5", ".parquet")


def check_out(path: Path) -> None:
    """Refuse a folder, and a name whose suffix is no format that can be written."""
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise ConfigError(
            f"there is no folder {path.parent} to write {path.name} into; make it first"
        )
    if path.suffix == ".parquet" and find_spec("pyarrow") is None:
        raise MissingExtraError("a .parquet file", "parquet")
    if path.suffix not in SUFFIXES:
        raise ConfigError(
            f"{path} does not end in one of {', '.join(SUFFIXES)}, which choose the format, or in "
            "/ for a folder of .parquet parts"
        )


@contextmanager
def open_writer(
    path: Path, n_layers: int, dim: int, dtype: DType, folder: Path
) -> Iterator[VectorWriter]:
    """Open the writer for the file's suffix; each text has `n_layers` layers of `dim`.

    The file is written in `folder`, which must belong to the program, and renamed at the end.
    """
    check_out(path)
    with new_file(path, folder) as beside:
        writer: VectorWriter
        if path.suffix == ".jsonl":
            writer = JsonLinesWriter(beside.open("wb"))
        elif path.suffix == ".npz":
            writer = NpzWriter(beside)
        elif path.suffix == ".parquet":
            writer = ParquetWriter(beside, n_layers, dim, dtype)
        else:
            writer = Hdf5Writer(beside)
        with finishing(writer):
            yield writer


@contextmanager
def finishing(writer: Any) -> Iterator[Any]:
    """Close a writer at the end; of a disk that is full, closing has another error than writing."""
    try:
        yield writer
        writer.close()
    except BaseException:
        with suppress(Exception):  # the first error is the one to report
            writer.close()
        raise
