"""Pictures: maps of occurrences, heat maps in which every letter has a shape."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from elmore import Elmo
from elmore.errors import ConfigError, DataError
from elmore.senses import pictures
from elmore.senses.describe import Sense
from elmore.senses.index import OccurrenceIndex
from elmore.senses.induce import (
    find_senses,
    sampled_rows,
)
from elmore.senses.occurrences import occurrences_of
from elmore.senses.pictures import check_picture, draw_heat_maps, draw_map


@pytest.mark.parametrize("projection", ["pca", "tsne"])
def test_a_map(
    projection: str, english: Elmo, tmp_path: Path,
    old_and_new: tuple[OccurrenceIndex, OccurrenceIndex],
) -> None:  # fmt: skip
    index = old_and_new[0]
    rows = sampled_rows(index, "bank", most=30)
    assert len(rows) == 30
    copies = [index.occurrence(int(row)).tokens for row in sampled_rows(index, "boat")]
    assert len(copies) == len(set(copies))
    found = find_senses(english, [index.occurrence(int(row)) for row in rows])
    by_layer = {layer: index.vectors(layer)[rows] for layer in index.layers}
    path = tmp_path / "pictures" / "map.png"
    draw_map(by_layer, found, "은행 $", path, projection=projection)  # type: ignore[arg-type]
    assert path.stat().st_size > 10_000
    with pytest.raises(DataError, match="occurs 1 times; a map needs at least 3"):
        draw_map(by_layer, [replace(found[0], rows=rows[:1])], "bank", path)


@pytest.mark.parametrize("kind", ["long words", "긴 낱말"])
@pytest.mark.parametrize("n_layers", [1, 3])
def test_a_legend_is_within_its_picture(
    n_layers: int, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="pictures need elmore[pictures]")
    drawn = []
    monkeypatch.setattr(pictures, "_save", lambda figure, path: drawn.append(figure))
    words = [f"{kind.replace(' ', '')}{k}" * 2 for k in range(5)]
    senses = [Sense(str(n), np.arange(n, 12, 2), 0.5, words, words) for n in range(2)]
    by_layer = dict(enumerate(np.random.default_rng(1).normal(size=(n_layers, 12, 4))))
    draw_map(by_layer, senses, "bank", tmp_path / "map.png")  # type: ignore[arg-type]
    (figure,) = drawn
    figure.canvas.draw()
    inside, (legend,) = figure.bbox, figure.legends
    box = legend.get_window_extent()
    assert inside.x0 <= box.x0 < box.x1 <= inside.x1
    assert inside.y0 <= box.y0 < box.y1 <= inside.y1


@pytest.mark.parametrize("name", ["map.txt", "map", "map.pgf"])
def test_no_picture(name: str) -> None:
    pytest.importorskip("matplotlib", reason="pictures need elmore[pictures]")
    with pytest.raises(ConfigError, match=f"{name} is no picture; expected a name that ends in"):
        check_picture(Path(name))


@pytest.mark.parametrize("word", ["bank", "사과"])
def test_a_picture_in_which_every_letter_has_a_shape(
    tiny_elmo: Elmo, tmp_path: Path, word: str
) -> None:
    pytest.importorskip("matplotlib", reason="pictures need elmore[pictures]")
    found = occurrences_of(tiny_elmo, word, [f"{word} 를 먹 었 다 $5", f"큰 {word} $_6"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib warns of a glyph that no font has
        draw_heat_maps(found, tmp_path / "new" / "map.png")
    assert (tmp_path / "new" / "map.png").read_bytes().startswith(b"\x89PNG")
