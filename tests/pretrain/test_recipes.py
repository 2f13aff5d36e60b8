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


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[[lstm]]\nn_layers = 1\n", "lstm is .*; expected a table; correct it"),
        ("lstm = 3\n", "lstm is 3; expected a table"),
        (
            "[other]\n",
            r"the unknown field other \(expected one of corpus, token_encoder, lstm, static, tr",
        ),
        ("[lstm]\nn_layers = 1\n", "lacks lstm.cell_dim|lacks token_encoder.char_dim"),
        (f"x = {'[' * 5000}", "is not TOML"),
        (f"x = {'9' * 5000}", "is not TOML"),
        ("[training]\nbatch_size = 1e99\n", "training.batch_size is 1e.99; expected a whole"),
        (f"[training]\nbatch_size = {10**30}\n", "batch_size is 10+; expected at most"),
        (f"[training]\nlearning_rate = {10**400}\n", "learning_rate is 10+"),
        ("[training]\nn_epochs = inf\n", "n_epochs is inf; expected a number above 0"),
        ('[training]\nn_epochs = "5"\n', "training.n_epochs is '5'; expected a number"),
        ("[training]\nfrozen = 2020-01-01\n", "training.frozen is .*; expected a list"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    shape = bundled_recipes()["tiny"].read_text().partition("[training]")[0]
    path.write_text(shape + content if content.startswith("[training]") else content)
    with pytest.raises(FormatError, match=message) as found:
        read_recipe(str(path))
    assert str(path) in str(found.value)
    assert "\n" not in str(found.value)
    assert len(str(found.value)) < 1000


def test_the_reference_is_as_the_recipes_are() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()  # or run tools/recipes_page.py
