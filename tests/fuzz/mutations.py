"""A whole file and a random generator in, a damaged file out: by bytes, or by fields of JSON."""

import json
import random
from copy import deepcopy
from typing import Any

NUMBERS = [
    0, 1, -1, 2, 3.0, -0.5, 127, 255, 256, 65_535, 2**24, 2**31 - 1, 2**31, 2**32, 2**53, 2**63 - 1,
    2**63, 2**64, 10**30, 10**300, 1e-320, 1e38, 1e39, 1e308,
]  # fmt: skip
VALUES = [
    None, True, False, "", "x", "0", "..", "../x", "/etc/passwd", "\0", "가" * 50, "x" * 10_000, [],
    {}, [[]], [1], [[1, 2]], {"x": 1}, [0] * 2000, [[[[[[1]]]]]], *NUMBERS,
]  # fmt: skip
SPLICES = [
    b"\xff", b"\0" * 8, b"\xed\xa0\x80", b"\\ud800", b"NaN", b"Infinity", b"-", b"1e999",
    b"1" * 5000, b"[" * 500, b"{" * 500, b'"', b"\n", b"\r", b",", b"\xef\xbb\xbf", b"'", b"\t",
]  # fmt: skip


def mutate(content: bytes, rng: random.Random, *, is_json: bool) -> bytes:
    """Return the content, damaged once or a few times."""
    if is_json and rng.random() < 0.6:
        return _mutate_fields(content, rng)
    damaged = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        rng.choice(_BYTES)(damaged, rng)
    return bytes(damaged)


def _place(content: bytearray, rng: random.Random) -> int:
    # Headers and tables are at either end; the middle is mostly numbers.
    near = min(len(content), rng.choice([64, 1024, 2**40]))
    place = rng.randrange(near) if near else 0
    return place if rng.random() < 0.7 else max(0, len(content) - 1 - place)


def _flip(content: bytearray, rng: random.Random) -> None:
    if content:
        content[_place(content, rng)] ^= 1 << rng.randrange(8)


def _overwrite(content: bytearray, rng: random.Random) -> None:
    place = _place(content, rng)
    size = rng.choice([1, 2, 4, 8])
    value = rng.choice([0, 1, 2**7, 2**8 - 1, 2**15, 2**31, 2**63, 2**64 - 1, rng.getrandbits(64)])
    content[place : place + size] = (value % 256**size).to_bytes(size, "little")


def _insert(content: bytearray, rng: random.Random) -> None:
    place = _place(content, rng)
    content[place:place] = rng.choice(SPLICES) if rng.random() < 0.7 else rng.randbytes(16)


def _delete(content: bytearray, rng: random.Random) -> None:
    place = _place(content, rng)
    del content[place : place + rng.choice([1, 2, 8, 100])]


def _repeat(content: bytearray, rng: random.Random) -> None:
    place = _place(content, rng)
    content[place:place] = content[place : place + rng.choice([1, 8, 100])]


def _cut(content: bytearray, rng: random.Random) -> None:
    del content[_place(content, rng) :]


_BYTES = [_flip, _flip, _overwrite, _overwrite, _insert, _delete, _repeat, _cut]


def _mutate_fields(content: bytes, rng: random.Random) -> bytes:
    top = json.loads(content)
    for _ in range(rng.choice([1, 1, 2])):
        places = list(_places(top))
        holder, key = rng.choice(places)
        action = rng.random()
        if action < 0.15:
            del holder[key]
        elif action < 0.25 and isinstance(holder, dict):
            holder[rng.choice(["", "x", "../x", str(key).upper()])] = holder[key]
        elif action < 0.35:
            holder[key] = deepcopy(rng.choice(places)[0])
        else:
            holder[key] = deepcopy(rng.choice(VALUES))
        if not top:
            break
    return json.dumps(top).encode()


def _places(value: Any) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in list(items):
        yield value, key
        if isinstance(item, dict | list):
            yield from _places(item)
