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

import msgspec

from elmore.bilm_config import CharCnnConfig, LstmConfig
from elmore.corpus.config import CorpusConfig
from elmore.corpus.files import name_of
from elmore.corpus.manifest import CorpusFile
from elmore.errors import ConfigError, FormatError
from elmore.folders import as_tuples
from elmore.metadata import convert_metadata, read_limited, read_metadata
from elmore.pretrain.config import Recipe, StaticConfig, TrainingConfig

TABLES: dict[str, type] = {
    "corpus": CorpusConfig,
    "token_encoder": CharCnnConfig,
    "lstm": LstmConfig,
    "static": StaticConfig,
    "training": TrainingConfig,
}
NOT_IN_RECIPES = ("alphabet_size",)
"""Fields of a model that training starts from, which no recipe can choose."""
_MAX_BYTES = 2**20
_FIX = "correct it"

Table = dict[str, Any]


class RecipeFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The tables of a recipe, each with the fields that it has."""

    corpus: Table = {}
    token_encoder: Table = {}
    lstm: Table = {}
    static: Table = {}
    training: Table = {}


class StaticRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What run.json says of static vectors."""

    name: str
    """The file, without its folder, or skipgram."""
    files: dict[str, CorpusFile] | None = None
    """Sizes and hashes of the file or of those in the folder."""


class RunFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """run.json."""

    recipe: dict[str, Table]
    start: str | None
    """The hash of the model that the run started from."""
    static: StaticRecord | None = None
    """The static vectors that it started from."""
    corpus: CorpusFile | None = None
    """The manifest of the corpus whose words have static vectors."""
    checksum: str | None = None


def read_run(path: Path) -> RunFile:
    """Read the run.json of a training run."""
    return read_metadata(path, RunFile, fix="restore it, or begin again in another --out")


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
    content = read_run(path).recipe if path.suffix == ".json" else _read_toml(path)
    recipe = recipe_from(content, str(path))
    for table, cls in TABLES.items():
        given = {
            name: _value(name, value)
            for name, value in (changes or {}).items()
            if name in _fields(cls)
        }
        changed = dataclasses.replace(getattr(recipe, table), **given)
        recipe = dataclasses.replace(recipe, **{table: changed})
    if recipe.token_encoder.char_encoding == "alphabet" and path.suffix != ".json":
        raise ConfigError(
            f"{path}: char_encoding is 'alphabet', which only models of ELMoForManyLangs have; "
            "choose another, or start from such a model (--from)"
        )
    return recipe


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_limited(path, _MAX_BYTES).decode("utf-8"))
    except RecursionError:
        raise FormatError(f"{path} is not TOML (it is nested too deeply); {_FIX}") from None
    except ValueError as error:  # tomllib's are, and numbers of thousands of digits
        raise FormatError(f"{path} is not TOML ({error}); {_FIX}") from None


def recipe_from(content: Mapping[str, Any], where: str) -> Recipe:
    """Make a recipe of the tables that `where` holds."""
    is_toml = not where.endswith(".json")
    tables = convert_metadata(content, RecipeFile, where, fix=_FIX, is_toml=is_toml)
    return Recipe(**{name: _part(name, getattr(tables, name), where, is_toml) for name in TABLES})


def recipe_to(recipe: Recipe) -> dict[str, dict[str, Any]]:
    """Return the tables of a recipe, as they are saved; a file is its name, without folders."""
    tables = dataclasses.asdict(recipe)
    if recipe.static.static is not None:
        tables["static"]["static"] = static_name(recipe.static.static)
    return tables


def static_name(path: str) -> str:
    """Return what run.json calls static vectors: a file's name, without folders."""
    given = Path(path)
    return name_of(given if given.name.strip(".") else given.resolve())  # such as ..


def _part(table: str, content: Table, where: str, is_toml: bool) -> Any:
    defaults = {
        field.name: field.default
        for field in dataclasses.fields(TABLES[table])
        if field.default is not dataclasses.MISSING
    }
    given = {name: _value(name, value) for name, value in content.items()}
    return convert_metadata(
        defaults | given, TABLES[table], where, at=table, fix=_FIX, is_toml=is_toml
    )


def _value(name: str, value: Any) -> Any:
    if value == "none" and name != "decay":  # where the word is a value itself
        return None
    return as_tuples(value)


def _fields(cls: type) -> set[str]:
    assert dataclasses.is_dataclass(cls)
    return {field.name for field in dataclasses.fields(cls)}
