"""The strictness that every format shares: arrays are all there, no others, of the right shape."""

from collections.abc import Mapping
from pathlib import Path

from elmore.errors import FormatError

Shape = tuple[int, ...]


def check_arrays(found: Mapping[str, Shape], expected: Mapping[str, Shape], where: Path) -> None:
    """Refuse arrays that are missing, unexpected or of another shape, naming them."""
    missing = sorted(expected.keys() - found.keys())
    unexpected = sorted(found.keys() - expected.keys())
    if missing or unexpected:
        problems = [f"lacks {_some(missing)}"] * bool(missing)
        problems += [f"has unexpected {_some(unexpected)}"] * bool(unexpected)
        raise FormatError(
            f"{where} {' and '.join(problems)}; check that it belongs to this configuration"
        )
    for name, shape in expected.items():
        if found[name] != shape:
            raise FormatError(
                f"{where}: {name} has shape {found[name]}, expected {shape}; "
                "check that it belongs to this configuration"
            )


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"
