"""The instructions of a pickle in, what they describe out: names and tensors. Nothing is unpickled.

Only the instructions are known that torch.save writes for a dictionary of tensors. Functions are
names: nothing is imported or called, and whatever else is named is refused.
"""

import pickletools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import IO, Any

_KINDS = ("Float", "Double", "Half", "BFloat16", "Bool", "Byte", "Char", "Short", "Int", "Long")
_STORAGES = frozenset(f"torch.{kind}Storage" for kind in _KINDS)
_CALLS = (
    "collections.OrderedDict", "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_parameter",
)  # fmt: skip
_MARK = object()
_MAX_DIMENSIONS = 8


@dataclass(frozen=True)
class _Name:
    """What a pickle would import."""

    name: str


@dataclass(frozen=True)
class StoredNumbers:
    """Numbers of the file."""

    kind: str
    key: str
    n_numbers: int


@dataclass(frozen=True)
class StoredTensor:
    """A view of a storage."""

    storage: StoredNumbers
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class CodeError(Exception):
    """A pickle names something to import."""


def describe(file: IO[bytes]) -> Any:
    """Return what a pickle describes; the file is left behind it."""
    return _Interpreter().run(file)


class _Interpreter:
    """Follows the instructions of a pickle: plain values, and tensors without their numbers."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memo: dict[Any, Any] = {}

    def run(self, file: IO[bytes]) -> Any:
        for opcode, argument, _ in pickletools.genops(file):
            if opcode.name == "STOP":
                return self._pop(1)[0]
            if opcode.name not in _INSTRUCTIONS:
                raise ValueError(f"its instruction {opcode.name} is not for weights")
            _INSTRUCTIONS[opcode.name](self, argument)
        raise EOFError

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def tuple_of(self, n: int) -> None:
        self.push(tuple(self._pop(n)))

    def tuple_from_mark(self) -> None:
        self.push(tuple(self._pop_mark()))

    def append(self, items: list[Any]) -> None:
        self._last(list).extend(items)

    def fill(self, items: list[Any]) -> None:
        self._last(dict).update(_with_names(zip(items[::2], items[1::2], strict=True)))

    def remember(self, key: Any) -> None:
        self._memo[key] = self._stack[-1]

    def recall(self, key: Any) -> None:
        self.push(self._memo[key])

    def name(self, argument: str) -> None:
        name = argument.replace(" ", ".", 1)
        if name not in (*_CALLS, *_STORAGES):
            raise CodeError(name)
        self.push(_Name(name))

    def storage(self) -> None:
        ((kind, name, key, _, n_numbers, *_),) = self._pop(1)
        if (
            kind != "storage"
            or name.name not in _STORAGES
            or type(key) is not str
            or type(n_numbers) is not int
        ):
            raise ValueError("it refers to something else than numbers")
        self.push(StoredNumbers(name.name.removeprefix("torch."), key, n_numbers))

    def call(self) -> None:
        function, arguments = self._pop(2)
        self.push(_called(function.name, arguments))

    def set_attributes(self) -> None:
        self._pop(1)  # the _metadata of a state dict
        self._last(dict)

    def _pop(self, n: int) -> list[Any]:
        if n > len(self._stack):
            raise ValueError("it takes more values than it has")
        found = self._stack[len(self._stack) - n :]
        del self._stack[len(self._stack) - n :]
        return found

    def _pop_mark(self) -> list[Any]:
        found = []
        while (value := self._pop(1)[0]) is not _MARK:
            found.append(value)
        return found[::-1]

    def _last(self, kind: type) -> Any:
        if not self._stack or type(self._stack[-1]) is not kind:
            raise ValueError(f"it fills no {kind.__name__}")
        return self._stack[-1]


_INSTRUCTIONS: dict[str, Callable[[_Interpreter, Any], None]] = {
    "PROTO": lambda run, _: None,
    "NONE": lambda run, _: run.push(None),
    "NEWTRUE": lambda run, _: run.push(True),
    "NEWFALSE": lambda run, _: run.push(False),
    "EMPTY_TUPLE": lambda run, _: run.push(()),
    "EMPTY_LIST": lambda run, _: run.push([]),
    "EMPTY_DICT": lambda run, _: run.push({}),
    "MARK": lambda run, _: run.push(_MARK),
    **dict.fromkeys(
        ("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE"), _Interpreter.push
    ),
    **dict.fromkeys(("BINSTRING", "SHORT_BINSTRING"), _Interpreter.push),  # of Python 2
    "TUPLE1": lambda run, _: run.tuple_of(1),
    "TUPLE2": lambda run, _: run.tuple_of(2),
    "TUPLE3": lambda run, _: run.tuple_of(3),
    "TUPLE": lambda run, _: run.tuple_from_mark(),
    "APPEND": lambda run, _: run.append(run._pop(1)),
    "APPENDS": lambda run, _: run.append(run._pop_mark()),
    "SETITEM": lambda run, _: run.fill(run._pop(2)),
    "SETITEMS": lambda run, _: run.fill(run._pop_mark()),
    "BINPUT": _Interpreter.remember,
    "LONG_BINPUT": _Interpreter.remember,
    "BINGET": _Interpreter.recall,
    "LONG_BINGET": _Interpreter.recall,
    "GLOBAL": _Interpreter.name,
    "BINPERSID": lambda run, _: run.storage(),
    "REDUCE": lambda run, _: run.call(),
    "BUILD": lambda run, _: run.set_attributes(),
}


def _called(name: str, arguments: Any) -> Any:
    """Return what a call of one of _CALLS would."""
    match name, arguments:
        case "collections.OrderedDict", ():
            return {}
        case "collections.OrderedDict", (list(pairs),):
            return _with_names(pairs)
        case "torch._utils._rebuild_parameter", (StoredTensor() as tensor, *_):
            return tensor
        case "torch._utils._rebuild_tensor_v2", (
            StoredNumbers() as storage,
            offset,
            shape,
            strides,
            *_,
        ):
            values = (offset, *shape, *strides)
            if len(shape) > _MAX_DIMENSIONS or len(shape) != len(strides):
                raise ValueError(f"a tensor has {len(shape)} dimensions")
            if any(type(value) is not int or not 0 <= value < 2**63 for value in values):
                raise ValueError("a tensor has a shape that cannot be")
            return StoredTensor(storage, offset, tuple(shape), tuple(strides))
    raise ValueError(f"{name} makes no tensor")


def _with_names(pairs: Iterable[Any]) -> dict[str, Any]:
    """Return pairs as a dictionary; the hash of other keys may take forever."""
    found = {}
    for key, value in pairs:
        if type(key) is not str:
            raise ValueError(f"a {type(key).__name__} stands where a name should")
        found[key] = value
    return found
