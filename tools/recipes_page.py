"""Writes docs/reference/recipes.md: every field of a recipe, what it means and what recipes say.

python tools/recipes_page.py
"""

import dataclasses
from pathlib import Path
from typing import Any

from docstring_parser import parse_from_object

from elmore.pretrain.recipes import NOT_IN_RECIPES, TABLES, read_recipe

PAGE = Path(__file__).resolve().parents[1] / "docs/reference/recipes.md"
RECIPES = ("tiny", "small-cpu", "original")

BEGINNING = """# Recipes

A recipe is a TOML file with five tables. `--recipe` takes `tiny`, `small-cpu`, `original` or a
file. Each field is also a flag of `elmore pretrain` and `elmore doctor`: `max_words` is
`--max-words`. Omitted fields have their defaults; unknown fields are an error. `"none"` disables a
limit. On the command line filters are written as `--filters 1:32,2:32,3:64`, and `--frozen` and
`--static-fills` may be repeated.

A run resumes only with the recipe that it was started with, except for `n_epochs`, `decay_steps`,
`patience`, `evaluate_every`, `max_held_out_tokens` and `checkpoint_every`.
"""
TITLES = {
    "corpus": "How raw text becomes sentences of word ids.",
    "token_encoder": "The char CNN: characters, convolutions, highway layers, projection.",
    "lstm": "The LSTM stack of each direction.",
    "static": "Static word vectors that the network starts from.",
    "training": "How the network is trained.",
}


def page() -> str:
    """Return the page as it should be."""
    return "\n".join([BEGINNING, *(_table(name, cls) for name, cls in TABLES.items())])


def _table(name: str, cls: type) -> str:
    assert dataclasses.is_dataclass(cls)
    docs = {doc.arg_name: doc.description or "" for doc in parse_from_object(cls).params}
    tables = [getattr(read_recipe(recipe), name) for recipe in RECIPES]
    rows = [["field", "default", *RECIPES, "meaning"]]
    for field in dataclasses.fields(cls):
        if field.name in NOT_IN_RECIPES:
            continue
        values = [_shown(getattr(table, field.name)) for table in tables]
        meaning = " ".join(docs[field.name].split())
        rows.append([f"`{field.name}`", _shown(field.default), *values, meaning])
    head, *body = (f"| {' | '.join(row)} |\n" for row in rows)
    return f"## [{name}]\n\n{TITLES[name]}\n\n{head}{'|---' * len(rows[0])}|\n{''.join(body)}"


def _shown(value: Any) -> str:
    if value is dataclasses.MISSING:
        return ""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        words = (item if isinstance(item, str) else ":".join(map(str, item)) for item in value)
        return " ".join(words)
    return f"{value:_}" if isinstance(value, int) and value >= 10_000 else str(value)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
