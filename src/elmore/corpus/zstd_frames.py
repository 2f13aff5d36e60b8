"""A .zst file in, where its frames begin and how much text each holds out, without decompressing.

Files of many frames are written by pzstd, by t2sz, or by concatenating .zst files; `zstd` itself
writes one. The sizes of a frame's blocks are in their headers (RFC 8878), so that a walk from
header to header finds its end.
"""

import struct
from typing import IO, Any, NamedTuple

from elmore.corpus.compression import import_zstandard

_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_HEADER_BYTES = 18  # the longest header of a frame
_RLE = 1


class Frame(NamedTuple):
    """A frame, or one that holds no text (a seek table)."""

    start: int
    end: int
    n_bytes: int
    """Of its decompressed text."""


def find_frames(file: IO[bytes], size: int) -> list[Frame] | None:
    """Return the frames of a file; None if one does not say its size, or if it is damaged."""
    zstandard = import_zstandard()
    frames: list[Frame] = []
    position = 0
    while position < size:
        file.seek(position)
        frame = _read_frame(file, position, zstandard)
        if frame is None or frame.end > size:
            return None
        frames.append(frame)
        position = frame.end
    return frames


def _read_frame(file: IO[bytes], start: int, zstandard: Any) -> Frame | None:
    head = file.read(_HEADER_BYTES)
    if len(head) < 8:
        return None
    magic, skipped = struct.unpack("<II", head[:8])
    if magic in _SKIPPABLE:
        return Frame(start, start + 8 + skipped, 0)
    try:
        said = zstandard.get_frame_parameters(head)
        position = start + zstandard.frame_header_size(head)
    except zstandard.ZstdError:
        return None
    if said.content_size in (zstandard.CONTENTSIZE_UNKNOWN, zstandard.CONTENTSIZE_ERROR):
        return None
    is_last = False
    while not is_last:
        file.seek(position)
        header = file.read(3)
        if len(header) < 3:
            return None
        value = int.from_bytes(header, "little")
        is_last, kind, n_bytes = bool(value & 1), (value >> 1) & 3, value >> 3
        position += 3 + (1 if kind == _RLE else n_bytes)
    return Frame(start, position + 4 * said.has_checksum, said.content_size)
