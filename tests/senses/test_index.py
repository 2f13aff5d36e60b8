"""An index holds each occurrence once, as `Elmo` gives it, however often its build was killed."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmore import Elmo
from elmore.embed import calibrate
from elmore.errors import ConfigError, DataError, FormatError
from elmore.senses import build as building
from elmore.senses.build import build_index
from elmore.senses.index import OccurrenceIndex
from elmore.senses.index_file import IndexConfig
from elmore.senses.neighbours import neighbours
from elmore.text import Token

LINES = [f"the bank {k} of the river" if k % 3 else f"은행 {k} 의 돈" for k in range(40)]
ALL = IndexConfig(layers=(0, 2))


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "_LINES_AT_ONCE", 7)
    monkeypatch.setattr(building, "_TOKENS_AT_ONCE", 20)


def build(
    elmo: Elmo, folder: Path, config: IndexConfig = ALL, lines: list[str] = LINES
) -> OccurrenceIndex:
    return build_index(elmo, lines, folder, config, source=[{"name": "text"}])


def test_every_occurrence_is_there(tiny_elmo: Elmo, tmp_path: Path) -> None:
    found = build(tiny_elmo, tmp_path / "index")
    assert len(found) == sum(len(line.split()) for line in LINES)
    row = 0
    for line, read in zip(LINES, tiny_elmo.encode_tokens(LINES, layers="all"), strict=True):
        for place, word in enumerate(line.split()):
            occurrence = found.occurrence(row)
            assert (occurrence.word, occurrence.place) == (word, place)
            assert occurrence.tokens == tuple(line.split())
            for layer in (0, 2):
                vector = read.vectors[layer, place].astype(np.float16)
                np.testing.assert_allclose(found.vectors(layer)[row], vector, atol=1e-3)
            row += 1
    assert found.rows("은행").tolist() == [
        row for row in range(len(found)) if found.occurrence(row).word == "은행"
    ]
    with pytest.raises(DataError, match="'boat' does not occur"):
        found.rows("boat")
    with pytest.raises(ConfigError, match="has no layer 1; it has 0, 2"):
        found.vectors(1)


def test_the_states_that_predict_a_word(tiny_elmo: Elmo, tmp_path: Path) -> None:
    layers: Any = (2, "context", "expected")
    found = build(tiny_elmo, tmp_path / "index", IndexConfig(layers))
    assert found.layers == layers
    read = tiny_elmo.encode_tokens(LINES, layers=layers)
    for layer, dim in zip(layers, (12, 12, 6), strict=True):
        wanted = np.concatenate([text.vectors[layer] for text in read])
        assert found.vectors(layer).shape == (len(found), dim)
        np.testing.assert_allclose(found.vectors(layer), wanted, atol=1e-3)
    near = neighbours(tiny_elmo, found, "the bank 99 of the river", "bank", n=3)
    assert [one.layer for one in near] == [2, "context", "expected"]
    assert all(len(one.neighbours) == 3 for one in near)


def test_some_words_and_not_too_many(tiny_elmo: Elmo, tmp_path: Path) -> None:
    config = IndexConfig(layers=(1,), words=("bank", "은행"), max_per_word=5)
    found = build(tiny_elmo, tmp_path / "index", config)
    assert sorted(found.words) == ["bank", "은행"]
    assert [len(found.rows(word)) for word in ("bank", "은행")] == [5, 5]
    assert found.occurrence(int(found.rows("bank")[-1])).tokens[2] == "7"  # the first five


def test_a_text_is_read_no_further_than_it_has_to_be(
    tiny_elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elmore.senses.build._LINES_AT_ONCE", 2)
    config = IndexConfig(layers=(1,), words=("bank", "boat"), max_per_word=3)
    lines = iter(["a bank", "a bank", "a boat", "a bank", "a bank boat boat", *["a bank"] * 9])
    found = build_index(tiny_elmo, lines, tmp_path / "index", config, source=[{"name": "x"}])
    assert [len(found.rows(word)) for word in ("bank", "boat")] == [3, 3]
    assert len(list(lines)) == 8


@pytest.mark.parametrize("n_lines", [0, 3, 7, 20, 39])
def test_a_killed_build_goes_on_to_the_same_files(
    tiny_elmo: Elmo, tmp_path: Path, n_lines: int
) -> None:
    def cut() -> Iterator[str]:
        yield from LINES[:n_lines]
        raise KeyboardInterrupt

    config = IndexConfig(layers=(1, 2), max_per_word=9)
    whole = build(tiny_elmo, tmp_path / "whole", config)
    with pytest.raises(KeyboardInterrupt):
        build_index(tiny_elmo, cut(), tmp_path / "cut", config, source=[{"name": "text"}])
    if (tmp_path / "cut/index.json").exists():
        with pytest.raises(FormatError, match="is not finished"):
            OccurrenceIndex.load(tmp_path / "cut")
        for path in (tmp_path / "cut").glob("*.f16"):
            with path.open("ab") as file:
                file.write(b"what a kill left")
    build(tiny_elmo, tmp_path / "cut", config)
    for path in whole.folder.iterdir():
        assert (tmp_path / "cut" / path.name).read_bytes() == path.read_bytes(), path.name


def test_lone_surrogates_after_a_kill(tiny_elmo: Elmo, tmp_path: Path) -> None:
    lines = ["\ud800x of the river", "\udfffx of the bank"] * 10

    def cut() -> Iterator[str]:
        yield from lines[:9]
        raise KeyboardInterrupt

    whole = build(tiny_elmo, tmp_path / "whole", lines=lines)
    assert len(whole.rows("?x")) == 20
    with pytest.raises(KeyboardInterrupt):
        build_index(tiny_elmo, cut(), tmp_path / "cut", ALL, source=[{"name": "text"}])
    build(tiny_elmo, tmp_path / "cut", lines=lines)
    for path in whole.folder.iterdir():
        assert (tmp_path / "cut" / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.mark.parametrize("between", [" ", "\n"])
def test_tokens_of_several_words(tiny_model: Path, tmp_path: Path, between: str) -> None:
    class Phrases:
        name = "phrases"

        def __call__(self, text: str) -> list[Token]:
            return [Token(f"New{between}York", 0, 8), Token("bank", 9, 13)]

    elmo = Elmo.from_pretrained(tiny_model, tokenizer=Phrases())
    with pytest.raises(DataError, match="needs tokens without spaces and line breaks"):
        build(elmo, tmp_path / "index")


def test_a_second_build_is_refused_while_the_first_runs(tiny_elmo: Elmo, tmp_path: Path) -> None:
    def lines() -> Iterator[str]:
        for line in LINES:
            with pytest.raises(ConfigError, match="another program is writing to"):
                build(tiny_elmo, tmp_path / "index")
            yield line

    build_index(tiny_elmo, lines(), tmp_path / "index", ALL, source=[{"name": "text"}])
    alone = build(tiny_elmo, tmp_path / "alone")
    files = sorted(path.name for path in alone.folder.iterdir())
    assert sorted(path.name for path in (tmp_path / "index").iterdir()) == files
    for name in files:
        assert (tmp_path / "index" / name).read_bytes() == (alone.folder / name).read_bytes()


def test_a_folder_that_is_no_index_stays_as_it_is(tiny_elmo: Elmo, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("mine\n")
    with pytest.raises(ConfigError, match="is not empty and holds no index; choose another name"):
        build(tiny_elmo, tmp_path)
    assert (tmp_path / "words.txt").read_text() == "mine\n"


def test_nothing_is_kept(tiny_elmo: Elmo, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no occurrence: no word that was asked for is in"):
        build(tiny_elmo, tmp_path / "index", IndexConfig(layers=(1,), words=("Bank",)))


def test_numbers_that_float16_cannot_hold(
    tiny_elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = tiny_elmo.encode_tokens

    def huge(*given: Any, **options: Any) -> Any:
        return [
            replace(found, vectors={k: 1e6 * v for k, v in found.vectors.items()})
            for found in read(*given, **options)
        ]

    monkeypatch.setattr(tiny_elmo, "encode_tokens", huge)
    with pytest.raises(DataError, match="layer 0 has values above 65,504"):
        build(tiny_elmo, tmp_path / "index")


def test_an_index_of_something_else(tiny_elmo: Elmo, tiny_model: Path, tmp_path: Path) -> None:
    found = build(tiny_elmo, tmp_path / "index")
    with pytest.raises(ConfigError, match="was begun with another config"):
        build(tiny_elmo, tmp_path / "index", IndexConfig(layers=(1,)))
    with pytest.raises(ConfigError, match="was built from other text than other is now"):
        build_index(tiny_elmo, LINES, tmp_path / "index", ALL, source=[{"name": "other"}])
    other = Elmo.from_pretrained(tiny_model)
    other.bilm.token_encoder.char_cnn.embedding.weight.data += 1
    other = other.with_bilm(other.bilm)
    with pytest.raises(FormatError, match="was built with another model"):
        OccurrenceIndex.load(tmp_path / "index").check_model(other)
    (found.folder / "words.txt").write_text("no\n")
    with pytest.raises(FormatError, match="is damaged"):
        OccurrenceIndex.load(tmp_path / "index")
    with pytest.raises(FormatError, match="expected an index"):
        OccurrenceIndex.load(tmp_path)


def test_what_cannot_be(tiny_elmo: Elmo, tmp_path: Path) -> None:
    for options, message in (
        ({"layers": ()}, "there is no layer to keep"),
        ({"layers": (1,), "words": ()}, "the list of words is empty"),
        ({"layers": (1,), "max_per_word": 0}, "max_per_word is 0"),
    ):
        with pytest.raises(ConfigError, match=message):
            IndexConfig(**options)
    with pytest.raises(ConfigError, match="there is no layer 7; the model has 0 to 2"):
        build(tiny_elmo, tmp_path / "index", IndexConfig(layers=(7,)))
    assert not (tmp_path / "index").exists()


def test_standardized_where_the_model_is_calibrated(tiny_elmo: Elmo, tmp_path: Path) -> None:
    """An index stands with the calibration that it was built with; without one it is raw."""
    calibration = calibrate(tiny_elmo, [line.split() for line in LINES])
    elmo = Elmo(replace(tiny_elmo.model, calibration=calibration), tokenizer="whitespace")
    config = IndexConfig(("expected",))
    raw, found = build(tiny_elmo, tmp_path / "raw", config), build(elmo, tmp_path / "new", config)
    assert (raw.is_standardized, found.is_standardized) == (False, True)
    wanted = calibration.standardize(raw.vectors("expected"), "expected")
    np.testing.assert_allclose(found.vectors("expected"), wanted, atol=0.02)
    for index in (raw, found):  # the query as the index has it: its own sentence is left out
        (layer,) = neighbours(elmo, index, "the bank 2 of the river", "bank", n=1)
        assert layer.neighbours[0].cosine == pytest.approx(1, abs=0.05)
    with pytest.raises(FormatError, match="another calibration of the model"):
        neighbours(tiny_elmo, found, "the bank", "bank")
    with pytest.raises(ConfigError, match="was begun with another calibration"):
        build(tiny_elmo, tmp_path / "new", config)
