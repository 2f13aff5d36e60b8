"""Arrays in, bytes out: JSON numbers, base64, npz or Arrow, as the request asks.

Numbers are most of an answer: msgspec writes them ten times as fast as Python's json, and base64
is six times as fast again and a quarter as long (docs/explain/decisions.md).
They are encoded row by row, so that other threads get their turn.
"""

import asyncio
import binascii
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from msgspec.json import encode as to_json
from starlette.responses import Response

from elmore.errors import MissingExtraError
from elmore.serve.refusals import Refused

Floats = npt.NDArray[np.float32]
MediaType = Literal["application/json", "application/x-npz", "application/vnd.apache.arrow.stream"]
JSON: MediaType = "application/json"
NPZ: MediaType = "application/x-npz"
ARROW: MediaType = "application/vnd.apache.arrow.stream"

_MAX_TOKEN_BYTES = 2**26  # of the tokens of an .npz
_MAX_IN_LOOP = 2**15  # numbers that are encoded at once in the event loop: a few milliseconds


@dataclass(frozen=True)
class TextResult:
    """The tokens of one text with an array."""

    tokens: Sequence[str]
    spans: Sequence[tuple[int, int]] | None
    vectors: Floats
    """(T, D), (L + 1, T, D), or of a pooled text (D,), (L + 1, D)."""


def accepted(header: str | None) -> MediaType:
    """Return the media type that an Accept header prefers among those that /embed has."""
    wanted: list[tuple[float, str]] = []
    for part in (header or "*/*").split(","):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        written = next((one[2:] for one in parameters if one.startswith("q=")), "1")
        try:
            wanted.append((float(written), name))
        except ValueError:
            raise Refused(406, f"the quality {written!r} in Accept is no number") from None
    for quality, name in sorted(wanted, key=lambda one: -one[0]):
        if quality <= 0:
            continue
        if name in ("*/*", "application/*", JSON):
            return JSON
        if name == NPZ:
            return NPZ
        if name == ARROW:
            if find_spec("pyarrow") is None:
                raise Refused(406, str(MissingExtraError("Arrow", "parquet")))
            return ARROW
    raise Refused(406, f"got Accept: {header}; expected {JSON}, {NPZ} or {ARROW}")


async def json_response(content: Any) -> Response:
    """Return a small answer."""
    return Response(to_json(content), media_type=JSON)


async def encoded(n_numbers: int, encode: Callable[[], bytes], media_type: str = JSON) -> Response:
    """Return what `encode` makes, in a thread if it is long."""
    content = encode() if n_numbers <= _MAX_IN_LOOP else await asyncio.to_thread(encode)
    return Response(content, media_type=media_type)


def json_object(**fields: bytes) -> bytes:
    """Return a JSON object of values that are encoded already."""
    return b"{%s}" % b",".join(b'"%s":%s' % (name.encode(), fields[name]) for name in fields)


def json_list(items: Sequence[bytes]) -> bytes:
    """Return a JSON list of values that are encoded already."""
    return b"[%s]" % b",".join(items)


def json_vectors(vectors: Floats, encoding: str) -> bytes:
    """Return an array as nested lists, or as base64 of little-endian float32."""
    if encoding == "base64":
        numbers = np.ascontiguousarray(vectors, "<f4").data
        return b'"%s"' % binascii.b2a_base64(numbers, newline=False)
    if vectors.ndim > 1:
        return json_list([json_vectors(row, encoding) for row in vectors])
    return to_json(vectors.tolist())


def json_text(result: TextResult, encoding: str) -> bytes:
    """Return one text of an answer of /embed."""
    return json_object(
        tokens=to_json(result.tokens),
        spans=to_json(result.spans),
        shape=to_json(result.vectors.shape),
        vectors=json_vectors(result.vectors, encoding),
    )


def npz(results: Sequence[TextResult]) -> bytes:
    """Return an .npz: for text i the arrays `i`, `i.tokens` and, of raw texts, `i.spans`."""
    n_bytes = sum(4 * len(one.tokens) * max(map(len, one.tokens), default=0) for one in results)
    if n_bytes > _MAX_TOKEN_BYTES:  # each of a text takes as much as its longest
        raise Refused(422, f"a token is too long for {NPZ}; expected words, or ask for {JSON}")
    arrays: dict[str, npt.NDArray[Any]] = {}
    for number, one in enumerate(results):
        arrays[str(number)] = one.vectors
        arrays[f"{number}.tokens"] = np.array(one.tokens, dtype=np.str_)
        if one.spans is not None:
            arrays[f"{number}.spans"] = np.array(one.spans, dtype=np.int64).reshape(-1, 2)
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def arrow(results: Sequence[TextResult], *, pooled: bool) -> bytes:
    """Return an Arrow stream, a row a token: text, position, token, start, end, vector.

    All layers are the columns layer_0, layer_1, … A pooled text is one row, which has all tokens.
    """
    import pyarrow as pa  # noqa: PLC0415  an extra

    rows: dict[str, list[Any]] = {"text": []}
    rows |= {"tokens": []} if pooled else {"position": [], "token": [], "start": [], "end": []}
    flat: list[Floats] = []
    for number, one in enumerate(results):
        if pooled:
            rows["text"].append(number)
            rows["tokens"].append(list(one.tokens))
            flat.append(one.vectors[..., None, :])
            continue
        n_tokens = len(one.tokens)
        rows["text"] += [number] * n_tokens
        rows["position"] += range(n_tokens)
        rows["token"] += one.tokens
        for side, name in enumerate(("start", "end")):
            rows[name] += [None] * n_tokens if one.spans is None else [s[side] for s in one.spans]
        flat.append(one.vectors)
    vectors = np.concatenate(flat, axis=-2)
    kinds = {"text": pa.int64(), "position": pa.int64(), "token": pa.string(), "start": pa.int64(),
             "end": pa.int64(), "tokens": pa.list_(pa.string())}  # fmt: skip
    columns = {name: pa.array(values, kinds[name]) for name, values in rows.items()}
    layers = {"vector": vectors} if vectors.ndim == 2 else {
        f"layer_{depth}": layer for depth, layer in enumerate(vectors)
    }  # fmt: skip
    for name, layer in layers.items():
        numbers = pa.array(np.ascontiguousarray(layer).reshape(-1))
        columns[name] = pa.FixedSizeListArray.from_arrays(numbers, layer.shape[-1])
    table = pa.table(columns)
    buffer = io.BytesIO()
    with pa.ipc.new_stream(buffer, table.schema) as stream:
        stream.write_table(table)
    return buffer.getvalue()
