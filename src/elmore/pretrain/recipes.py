"""A recipe's name, its TOML file or the run.json of a run in, a whole configuration out.

The tables are [corpus], [token_encoder], [lstm], [static] and [training]; a field that is left out
has its default, an unknown one is an error. "none" switches a limit off.
"""

import dataclasses
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from elmore.corpus.config import CorpusConfig
from elmore.errors import ConfigError, FormatError
from elmore.folders import as_tuples, read_json
from elmore.model import CharCnnConfig, LstmConfig
from elmore.pretrain.config import Recipe, StaticConfig, TrainingConfig

TABLES: dict[str, type] = {
    "corpus": CorpusConfig,
    "token_encoder": CharCnnConfig,
    "lstm": LstmConfig,
    "static": StaticConfig,
    "training": TrainingConfig,
}


def bundled_recipes() -> dict[str, Path]:
    """Return the recipes that come with the package, by name."""
    home = Path(str(files("elmore"))) / "recipes"
    return {path.stem: path for path in sorted(home.glob("*.toml"))}


def read_recipe(name_or_path: str, changes: Mapping[str, Any] | None = None) -> Recipe:
    """Read a recipe, with some fields changed by name."""
    bundled = bundled_recipes()
    path = bundled.get(name_or_path, Path(name_or_path))
    if not path.is_file():
        raise ConfigError(
            f"there is no recipe {name_or_path!r}; expected one of {', '.join(bundled)}, "
            "or a TOML file"
        )
    if path.suffix == ".json":
        return recipe_from(_changed(read_json(path).get("recipe", {}), changes), str(path))
    try:
        content = tomllib.loads(path.read_bytes().decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FormatError(f"{path} is not TOML ({error}); fix it") from None
    return recipe_from(_changed(content, changes), str(path))


def _changed(content: dict[str, Any], changes: Mapping[str, Any] | None) -> dict[str, Any]:
    for name, value in (changes or {}).items():
        table = next(table for table, cls in TABLES.items() if name in _fields(cls))
        content.setdefault(table, {})[name] = value
    return content


def recipe_from(content: Mapping[str, Any], where: str) -> Recipe:
    """Make a recipe of the tables that `where` holds."""
    unknown = content.keys() - TABLES.keys()
    if unknown:
        raise FormatError(f"{where} has the unknown {', '.join(sorted(unknown))}")
    parts = {name: _part(name, content.get(name, {}), where) for name in TABLES}
    return Recipe(**parts)


def recipe_to(recipe: Recipe) -> dict[str, dict[str, Any]]:
    """Return the tables of a recipe, as they are saved; a file is its name, without folders."""
    tables = dataclasses.asdict(recipe)
    if recipe.static.static is not None:
        tables["static"]["static"] = Path(recipe.static.static).name
    return tables


def _part(table: str, content: Any, where: str) -> Any:
    cls = TABLES[table]
    if not isinstance(content, dict):
        raise FormatError(f"{where}: expected a table, got {content!r}")
    unknown = content.keys() - _fields(cls)
    if unknown:
        raise FormatError(
            f"{where} has the unknown {', '.join(sorted(unknown))}; expected some of "
            f"{', '.join(sorted(_fields(cls)))}"
        )
    missing = {name for name in _fields(cls, required=True) if name not in content}
    if missing:
        raise FormatError(f"{where} lacks {', '.join(sorted(missing))} in [{table}]")
    values = {
        name: None if value == "none" else as_tuples(value) for name, value in content.items()
    }
    if values.get("decay", "") is None:
        values["decay"] = "none"  # here the word is a value itself
    try:
        return cls(**values)
    except TypeError as error:
        raise FormatError(f"{where}: {error}") from None


def _fields(cls: type, *, required: bool = False) -> set[str]:
    """Return the names of all fields, or of those that have no default."""
    assert dataclasses.is_dataclass(cls)
    return {
        field.name
        for field in dataclasses.fields(cls)
        if not required or field.default is dataclasses.MISSING
    }
