"""Pictures: maps of occurrences, heat maps in which every letter has a shape."""

import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from elmore import Elmo
from elmore.errors import ConfigError, DataError
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
