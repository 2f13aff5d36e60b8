"""A finished folder of vectors in, one data set out: its texts in order, or Arrow."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from elmore.checksums import FileRecord, check_file
from elmore.corpus.compression import damaged
from elmore.corpus.parts import MANIFEST, PartsManifest, read_parts
from elmore.embed.results import TokenVectors
from elmore.errors import FormatError, MissingExtraError
from elmore.stores import AnyPath, RemotePath, as_path

_ROWS_AT_ONCE = 16_384


class VectorParts:
    """The vectors of a corpus in a folder of parts, as one data set."""

    def __init__(self, root: AnyPath, manifest: PartsManifest) -> None:
        self.root, self.manifest = root, manifest
        self._verified: set[str] = set()

    @classmethod
    def load(cls, folder: str | AnyPath) -> "VectorParts":
        """Load a folder that `elmore embed` has finished; nothing but its manifest is read."""
        root = as_path(folder)
        manifest = read_parts(root)
        if manifest is None or manifest.kind != "vectors":
            raise FormatError(f"{root} has no {MANIFEST} of vectors; expected a folder of parts")
        if manifest.parts is None:
            raise FormatError(f"{root} is not finished; the command that began it resumes")
        return cls(root, manifest)

    @property
    def n_texts(self) -> int:
        """How many texts there are, also those without a token."""
        return self.manifest.totals["n_texts"]

    @property
    def n_tokens(self) -> int:
        """How many tokens there are: the rows."""
        return self.manifest.totals["n_tokens"]

    def dataset(self) -> Any:
        """Return it as a `pyarrow.dataset.Dataset`, a row for each token, in order.

        Arrow reads the parts, and knows nothing of their checksums: see `batches`.
        """
        return self._open([name for part in self.manifest.parts or () for name in part.files])

    def batches(
        self, columns: Sequence[str] | None = None, batch_size: int = _ROWS_AT_ONCE
    ) -> Iterator[Any]:
        """Give the rows as Arrow's record batches, in order; verify each part before it is read."""
        for part in self.manifest.parts or ():
            for name, record in part.files.items():
                found = self._open_verified(name, record)
                path = self.root / name
                yield from read_batches(found, path, columns=columns, batch_size=batch_size)

    @property
    def schema(self) -> Any:
        """The columns, as a `pyarrow.Schema`: those of the first part."""
        for part in self.manifest.parts or ():
            for name, record in part.files.items():
                return self._open_verified(name, record).schema
        raise FormatError(f"{self.root} has no parts: its text was empty")

    def _open_verified(self, name: str, record: FileRecord) -> Any:
        if name not in self._verified:
            check_file(self.root / name, record)
            self._verified.add(name)
        return self._open([name])

    def _open(self, names: Sequence[str]) -> Any:
        try:
            import pyarrow.dataset as arrow  # noqa: PLC0415  an extra
        except ImportError:
            raise MissingExtraError("reading .parquet", "parquet") from None
        if isinstance(self.root, RemotePath):
            fs, path = self.root.at
            return arrow.dataset([f"{path}/{name}" for name in names], filesystem=fs)
        return arrow.dataset([str((self.root / name).absolute()) for name in names])

    def __iter__(self) -> Iterator[TokenVectors]:
        """Give the texts that have tokens, in order."""
        tokens: list[str] = []
        rows: list[Any] = []
        number = None
        for batch in self.batches():
            columns = [batch[name] for name in batch.schema.names[3:]]
            vectors = np.stack([_matrix(column) for column in columns])  # (layers, rows, D)
            numbers = batch["text"].to_numpy()
            words = batch["token"].to_pylist()
            starts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
            for start, end in pairwise(starts):
                if start < end and numbers[start] != number:
                    if number is not None:
                        yield _text(tokens, rows)
                    number, tokens, rows = numbers[start], [], []
                tokens += words[start:end]
                rows.append(vectors[:, start:end])
        if number is not None:
            yield _text(tokens, rows)


def read_batches(
    dataset: Any, path: AnyPath, *, columns: Sequence[str] | None, batch_size: int
) -> Iterator[Any]:
    """Give the record batches of an Arrow data set, `path`; refuse one that is damaged."""
    import pyarrow  # noqa: PLC0415  there is a data set already

    batches = dataset.to_batches(columns=columns, batch_size=batch_size)
    while True:
        try:
            batch = next(batches)
            batch.validate(full=True)  # such as whether its strings are UTF-8
        except StopIteration:
            return
        except (pyarrow.ArrowException, OSError) as error:
            raise damaged(path, error) from None
        yield batch


def _text(tokens: list[str], rows: list[Any]) -> TokenVectors:
    vectors = np.concatenate(rows, axis=1)
    return TokenVectors(tuple(tokens), vectors[0] if len(vectors) == 1 else vectors, None)


def _matrix(column: Any) -> Any:
    """Return a column of vectors as an array, (rows, D)."""
    return (
        column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), column.type.list_size)
    )
