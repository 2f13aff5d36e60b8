"""Recipes are read strictly, and the reference explains every field."""

from pathlib import Path

import pytest
from tools.recipes_page import PAGE, page

from elmore.errors import ConfigError, FormatError
from elmore.pretrain.recipes import bundled_recipes, read_recipe, recipe_from, recipe_to


@pytest.mark.parametrize("name", ["tiny", "small-cpu", "original"])
def test_bundled_recipes_are_whole(name: str) -> None:
    assert name in bundled_recipes()
    recipe = read_recipe(name)
    assert recipe_from(recipe_to(recipe), name) == recipe


def test_the_original_recipe_is_the_published_one() -> None:
    recipe = read_recipe("original")
    assert (recipe.lstm.cell_dim, recipe.lstm.projection_dim) == (4096, 512)
    assert recipe.token_encoder.n_filters == 2048
    assert (recipe.training.optimizer, recipe.training.learning_rate) == ("adagrad", 0.2)
    assert (recipe.training.n_samples, recipe.training.dropout) == (8192, 0.1)


def test_fields_can_be_changed() -> None:
    recipe = read_recipe("tiny", {"max_words": 99, "cell_dim": 70, "decay": "none"})
    assert (recipe.corpus.max_words, recipe.lstm.cell_dim) == (99, 70)
    assert recipe.training.decay == "none"
    assert read_recipe("tiny", {"cell_clip": "none"}).lstm.cell_clip is None


def test_a_file_of_the_users(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(bundled_recipes()["tiny"].read_text() + "unknown_field = 1\n")
    with pytest.raises(FormatError, match="unknown_field"):
        read_recipe(str(path))
    path.write_text("[corpus\n")
    with pytest.raises(FormatError, match="not TOML"):
        read_recipe(str(path))
    with pytest.raises(ConfigError, match="small-cpu"):
        read_recipe("no-such-recipe")


def test_the_reference_is_as_the_recipes_are() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()  # or run tools/recipes_page.py
