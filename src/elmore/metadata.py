"""Metadata files in, checked objects out: the one strict reader of JSON. Below everything.

A file is described once, by a `msgspec.Struct` or a frozen dataclass whose fields are those of the
file. Limits are part of a field's type (`Annotated[int, Meta(ge=1)]`) or of `__post_init__`, which
raises a ConfigError. To read a file:

    class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
        format: Literal["elmore-corpus-1"]
        n_shards: Annotated[int, Meta(ge=1, le=1_000_000)]
        files: dict[str, FileRecord] | None = None

    manifest = read_metadata(folder / "manifest.json", Manifest)

and to write it: `write_json(path, manifest)` (folders.py). A Struct with a field
`checksum: str = ""` is written with a checksum of its other fields, which is verified: for files
that nobody edits by hand. `checksum: str | None = None` is the same for files that earlier versions
wrote without one: it may be missing where none of the data files has one. Choices made:

- `format`, if it is a Literal, is looked at first, so that an unknown version is named as such.
- A Struct's fields without a default are required, and `forbid_unknown_fields` is for its author to
  say. A dataclass has defaults for its users; in a file all its fields are required, none may be
  unknown. A field is of its very type: 3 is a float, but 3.0, "3" and true are
  no int.
- A file has at most MAX_BYTES and MAX_DEPTH levels. No name may be in an object twice. NaN,
  infinity, half surrogates and what is not UTF-8 are not JSON.

Whatever is wrong is a FormatError of one sentence: file, field, what was got, what is expected, and
`fix`, what to do.
"""

import dataclasses
import difflib
import functools
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, cast

import msgspec
import xxhash
from msgspec import inspect

from elmore.errors import ElmoreError, FormatError, shown
from elmore.stores import AnyPath

T = TypeVar("T")

MAX_BYTES = 64 * 2**20
MAX_DEPTH = 64
_BYTES_AT_ONCE = 2**20
FIX = "correct it, or download it again"

_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")
_MAX_NAME = 100  # characters of a field's name that errors show
_UNSEEN = object()  # the value that msgspec does not point at


def read_metadata(
    path: AnyPath, description: type[T], *, max_bytes: int = MAX_BYTES, fix: str = FIX
) -> T:
    """Read a JSON file that is as its description says."""
    value = parse_json(read_limited(path, max_bytes), path)
    found = convert_metadata(value, description, path, fix=fix)
    if has_checksum(found):
        said, is_required = value.get("checksum"), cast("Any", found).checksum is not None
        if said is None and (is_required or _has_checksums_of_files(value)):
            raise FormatError(f"{path} is damaged: its checksum is missing; {fix}")
        if said is not None and said != checksum_of(value):
            raise FormatError(f"{path} is damaged: its checksum does not match its fields; {fix}")
    return found


def _has_checksums_of_files(value: Mapping[str, Any]) -> bool:
    """Return whether checksums of data files are among the fields; then one of the fields is, too.

    Earlier versions wrote neither.
    """
    files = value.get("files")
    return isinstance(files, dict) and any("xxh3" in record for record in files.values())


def has_checksum(content: object) -> bool:
    """Return whether a description has a checksum of its own fields."""
    return isinstance(content, msgspec.Struct) and "checksum" in content.__struct_fields__


def checksum_of(fields: Mapping[str, Any]) -> str:
    """Return the checksum of all fields but `checksum` (XXH3, 128 bits)."""
    others = {name: value for name, value in fields.items() if name != "checksum"}
    text = json.dumps(others, sort_keys=True, separators=(",", ":"))
    return xxhash.xxh3_128_hexdigest(text.encode())


def read_limited(path: AnyPath, max_bytes: int) -> bytes:
    """Read a whole file, or a pipe, that is not larger than it can be."""
    content = bytearray()
    with path.open("rb") as file:  # read() takes memory for all that it is asked for
        while len(content) <= max_bytes and (some := file.read(_BYTES_AT_ONCE)):
            content += some
    if len(content) > max_bytes:
        raise FormatError(
            f"{path} is larger than {max_bytes:,} bytes, which is too large for what it should be; "
            "check that it is the right file"
        )
    return bytes(content)


def parse_json(content: bytes, where: object) -> Any:
    """Return the JSON value of a file's bytes; `where` is what errors call it."""
    try:
        text = content.decode("utf-8")
        value = msgspec.json.decode(content)
        json.loads(text, object_pairs_hook=_distinct)  # msgspec takes the last of two
    except UnicodeDecodeError as error:
        raise FormatError(f"{where} is not JSON (byte {error.start} is not UTF-8); {FIX}") from None
    except RecursionError:
        raise _too_deep(where) from None
    except ValueError as error:  # msgspec's are, too
        reason = str(error).removeprefix("JSON is malformed: ").partition(" - at ")[0]
        raise FormatError(f"{where} is not JSON ({reason}); {FIX}") from None
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [child for item in level for child in _children(item)]
    if level:
        raise _too_deep(where)
    return value


def convert_metadata(
    value: Any,
    description: type[T],
    where: object,
    *,
    at: str = "",
    fix: str = FIX,
    is_toml: bool = False,
) -> T:
    """Return what JSON or TOML holds as its description says.

    `where` is what errors call the file, `at` the field of it that `value` is, if it is not all.
    TOML is written by people: errors list the fields that there are, and call an object a table.
    """
    node = _type_info(description)  # type: ignore[arg-type]  # a class is hashable
    _check_version(value, node, where)
    try:
        found = msgspec.convert(value, description)
    except msgspec.ValidationError as error:
        sentence = _sentence(str(error), value, node, at, is_toml)
        raise FormatError(f"{where}{sentence}; {fix}") from None
    except ElmoreError as error:  # of a __post_init__
        raise FormatError(f"{where}: {error}") from None
    except RecursionError:
        raise _too_deep(where) from None
    for problem in _dataclass_problems(value, found, at, is_toml):
        raise FormatError(f"{where} {problem}; {fix}")
    return found


@functools.cache
def _type_info(description: Any) -> Any:
    return inspect.type_info(description)  # takes longer than all the rest of reading a file


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{shown(twice)} is there twice")
    return found


def _children(value: Any) -> Iterator[Any]:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return (item for item in items if isinstance(item, dict | list))


def _too_deep(where: object) -> FormatError:
    return FormatError(f"{where} is nested more than {MAX_DEPTH} levels deep; {FIX}")


def _check_version(value: Any, node: Any, where: object) -> None:
    for field in getattr(node, "fields", ()):
        if field.name == "format" and isinstance(field.type, inspect.LiteralType):
            found = value.get("format") if isinstance(value, Mapping) else None
            if isinstance(value, Mapping) and found not in field.type.values:
                raise FormatError(
                    f"{where}: format is {_shown(found)}; this version reads "
                    f"{' and '.join(map(repr, field.type.values))}"
                )


def _dataclass_problems(raw: Any, found: Any, name: str, is_toml: bool) -> Iterator[str]:
    """Give the fields that are missing or unknown, which msgspec lets a dataclass have."""
    if dataclasses.is_dataclass(found):
        fields = dataclasses.fields(found)
        names = [field.name for field in fields if field.name in raw]
        if missing := [field.name for field in fields if field.name not in raw]:
            yield f"lacks {', '.join(_full_name(name, one) for one in missing[:4])}"
        if unknown := [one for one in raw if one not in names]:
            known = [field.name for field in fields]
            yield _unknown_field(_full_name(name, unknown[0]), unknown[0], known, is_toml)
    elif isinstance(found, msgspec.Struct):
        names = [one for one in found.__struct_fields__ if one in raw]
    elif isinstance(found, dict) and found is not raw:
        for one in raw:
            yield from _dataclass_problems(raw[one], found.get(one), _full_name(name, one), is_toml)
        return
    else:
        return
    for one in names:
        full = _full_name(name, one)
        yield from _dataclass_problems(raw[one], getattr(found, one), full, is_toml)


def _full_name(above: str, field: str) -> str:
    full = f"{above}.{field if field.isprintable() else repr(field)}".lstrip(".")
    return full if len(full) <= _MAX_NAME else f"{full[:_MAX_NAME]}…"


def _unknown_field(full: str, field: str, known: list[str], is_toml: bool) -> str:
    near = difflib.get_close_matches(field[:_MAX_NAME], known, n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    if is_toml and not near:
        hint = f" (expected one of {', '.join(known)})"
    return f"has the unknown field {full}{hint}"


def _sentence(message: str, value: Any, node: Any, name: str, is_toml: bool) -> str:
    """Return msgspec's message about a field in `name` as what follows the file's name."""
    problem, _, at = message.partition(" - at `")
    for field, index in _STEP.findall(at.rpartition("$")[2].rstrip("`")):
        node = _inside(node, field or index)
        if index == "...":
            key, value = _culprit(value, node)
            name = _full_name(name, key)
        else:
            name = _full_name(name, field) if field else f"{name}[{index}]"
            value = _item(value, field or int(index))
    if match := re.match(r"Object missing required field `(.*)`", problem):
        return f" lacks {_full_name(name, match[1])}"
    if match := re.match(r"Object contains unknown field `(.*)`", problem, re.DOTALL):
        known = [field.encode_name for field in _fields(node)]
        return f" {_unknown_field(_full_name(name, match[1]), match[1], known, is_toml)}"
    got = "of a wrong kind" if value is _UNSEEN else _shown(value)
    expected = _expected(node)
    if is_toml:
        expected = expected.replace("an object", "a table")
    said = f": {name} is {got}" if name else f" holds {got}"
    return f"{said}; expected {expected}"


def _fields(node: Any) -> Iterator[Any]:
    """Give the fields of an object, also if it is one of several types that there may be."""
    for one in node.types if isinstance(node, inspect.UnionType) else (node,):
        yield from getattr(one, "fields", ())


def _inside(node: Any, step: str) -> Any:
    """Return the type of what is in a field, an element or an entry."""
    for one in node.types if isinstance(node, inspect.UnionType) else (node,):
        if isinstance(one, inspect.StructType | inspect.DataclassType):
            for field in one.fields:
                if field.encode_name == step:
                    return field.type
        elif isinstance(one, inspect.TupleType) and step.isdigit():
            return one.item_types[int(step)]
        elif isinstance(one, inspect.DictType) and step == "...":
            return one.value_type
        elif hasattr(one, "item_type") and (step.isdigit() or step == "..."):
            return one.item_type
    return inspect.AnyType()


def _culprit(entries: Any, node: Any) -> tuple[str, Any]:
    """Return the entry that msgspec does not name: the first that is not of its type."""
    if isinstance(entries, Mapping) and hasattr(node, "cls"):
        for key, entry in entries.items():
            try:
                msgspec.convert(entry, node.cls)
            except (msgspec.ValidationError, ElmoreError):
                return str(key), entry
    return "*", _UNSEEN


def _item(value: Any, step: str | int) -> Any:
    try:
        return _UNSEEN if value is _UNSEEN else value[step]
    except (LookupError, TypeError):
        return _UNSEEN


def _shown(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return shown(value)


_KINDS: dict[Any, str] = {
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.StrType: "a string",
    inspect.BoolType: "true or false",
    inspect.NoneType: "null",
    inspect.DictType: "an object",
    inspect.StructType: "an object",
    inspect.DataclassType: "an object",
}


def _expected(node: Any) -> str:
    """Return a type in words."""
    if isinstance(node, inspect.UnionType):
        kinds = [_expected(one) for one in node.types]
        if "a number" in kinds:
            kinds = [kind for kind in kinds if kind != "a whole number"]
        return " or ".join(kinds)
    if isinstance(node, inspect.LiteralType):
        return f"one of {', '.join(map(str, node.values))}"
    if isinstance(node, inspect.TupleType):
        return f"a list of {len(node.item_types)}: {', '.join(map(_expected, node.item_types))}"
    if hasattr(node, "item_type"):
        kind = f"a list, of {_expected(node.item_type)} each"
    else:
        kind = _KINDS.get(type(node), "another value")
    limits = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    limits |= {"min_length": "of length at least", "max_length": "of length at most"}
    said = [f"{word} {getattr(node, key)}" for key, word in limits.items() if _has(node, key)]
    if _has(node, "pattern"):
        said.append(f"such as {node.pattern}")
    return ", ".join([kind, *said])


def _has(node: Any, key: str) -> bool:
    return getattr(node, key, None) is not None
