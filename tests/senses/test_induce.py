"""Senses are found where there are some, as many as there are."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from elmore import Elmo
from elmore.errors import ConfigError, DataError
from elmore.senses.build import build_index
from elmore.senses.change import divergence, sense_changes, word_change, word_changes
from elmore.senses.index import IndexConfig, Occurrence, OccurrenceIndex
from elmore.senses.induce import find_groups, find_senses, other_occurrences, sampled_rows
from elmore.senses.pictures import draw_map
from elmore.senses.probe import probe_layers, tag_vectors
from elmore.senses.wsd import label_senses

RIVER = ["water", "boat", "fish", "deep", "flood"]
MONEY = ["loan", "account", "cash", "credit", "rates"]


@pytest.fixture(scope="module")
def english() -> Elmo:
    """The bundled model: senses need one that knows something."""
    return Elmo.from_pretrained("en", tokenizer="whitespace")


def sentences(words: list[str], n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        tokens = rng.choice(words, size=6).tolist()
        tokens.insert(int(rng.integers(0, 7)), "bank")
        made.append(" ".join(tokens))
    return made


def occurrences(lines: list[str]) -> list[Occurrence]:
    split = [tuple(line.split()) for line in lines]
    return [Occurrence("bank", tokens, tokens.index("bank")) for tokens in split]


@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_as_many_groups_as_there_are(n_groups: int) -> None:
    rng = np.random.default_rng(1)
    sizes = [60 + 20 * k for k in range(n_groups)]
    middles = 6 * rng.normal(size=(n_groups, 30))
    right = np.repeat(np.arange(n_groups), sizes)
    vectors = middles[right] + rng.normal(size=(sum(sizes), 30))
    found = find_groups(vectors)
    assert np.bincount(found.labels).tolist() == sizes[::-1]  # the largest first
    np.testing.assert_array_equal(found.labels, n_groups - 1 - right)
    assert (found.silhouette > 0.3) == (n_groups > 1)
    assert find_groups(vectors, max_groups=1).labels.max() == 0
    assert find_groups(vectors[:9]).labels.max() == 0  # too few to tell
    with pytest.raises(ConfigError, match="max_groups is 0"):
        find_groups(vectors, max_groups=0)


def test_one_cloud_is_rarely_parted() -> None:
    rng = np.random.default_rng(1)
    clouds = (rng.normal(size=(80, 30)) * rng.uniform(0.2, 3, size=30) for _ in range(12))
    assert sum(find_groups(cloud, max_groups=4).labels.max() > 0 for cloud in clouds) <= 2


def test_senses_and_what_tells_them(english: Elmo) -> None:
    found = find_senses(english, occurrences(sentences(RIVER, 40, 1) + sentences(MONEY, 60, 2)))
    assert [sense.name for sense in found] == ["1", "2"]
    assert [sense.share for sense in found] == pytest.approx([0.6, 0.4], abs=0.03)
    assert set(found[0].telling[:5]) == set(MONEY)
    assert set(found[1].telling[:5]) == set(RIVER)
    assert (found[1].rows[:20] < 40).all()  # the most typical first
    with pytest.raises(DataError, match="'bank' occurs once; senses need several"):
        find_senses(english, occurrences(["a bank"]))


def test_a_single_sense_is_told_from_other_words(
    english: Elmo, old_and_new: tuple[OccurrenceIndex, OccurrenceIndex]
) -> None:
    index = old_and_new[1]
    others = other_occurrences(index, "boat")
    assert len(others) == len(index) - len(index.rows("boat"))
    assert all(one.word != "boat" for one in others)
    banks = occurrences([f"the bank of the {word} is the water" for word in RIVER[:4]])
    (alone,) = find_senses(english, banks)
    assert alone.telling[:4] == ["is", "of", "the", "water"]
    elsewhere = [Occurrence("at", ("at", "the", "side", "of", "it", "is"), 0)] * 100
    (told,) = find_senses(english, banks, others=elsewhere)
    assert told.telling[:4] == ["water", "boat", "deep", "fish"]


def test_what_stands_near_any_word_tells_nothing(english: Elmo) -> None:
    lines = sentences([*RIVER, "fruit"], 40, 1) + sentences(MONEY, 60, 2)
    either = occurrences(lines)
    _, shore = find_senses(english, either)
    assert "fruit" in shore.telling
    others = [Occurrence("tree", ("tree", *["fruit"] * 5, word), 0) for word in RIVER + MONEY] * 9
    _, shore = find_senses(english, either, others=others)
    assert "fruit" not in shore.telling
    assert set(shore.telling[:5]) == set(RIVER)


def test_senses_by_labelled_examples(english: Elmo) -> None:
    labelled = [("shore", one) for one in occurrences(sentences(RIVER, 5, 3))]
    labelled += [("house", one) for one in occurrences(sentences(MONEY, 5, 4))]
    lines = sentences(RIVER, 10, 1) + sentences(MONEY, 30, 2)
    shore, house = label_senses(english, occurrences(lines), labelled)
    assert (shore.name, house.name) == ("shore", "house")
    assert len(shore.rows) + len(house.rows) == 40
    assert np.mean(shore.rows < 10) > 0.5
    with pytest.raises(DataError, match="or none is labelled"):
        label_senses(english, occurrences(lines), [])


@pytest.fixture(scope="module")
def old_and_new(
    english: Elmo, tmp_path_factory: pytest.TempPathFactory
) -> tuple[OccurrenceIndex, OccurrenceIndex]:
    """bank moves from the river to the money; the boat stays where it was."""
    folder = tmp_path_factory.mktemp("indexes")
    same = [f"a boat on deep water {k % 7}" for k in range(30)]
    old = same + sentences(RIVER, 45, 1) + sentences(MONEY, 5, 2)
    new = same + sentences(RIVER, 10, 3) + sentences(MONEY, 40, 4)
    config = IndexConfig(layers=(1, 2))
    return tuple(
        build_index(english, lines, folder / name, config, source=[{"name": name}])
        for name, lines in (("old", old), ("new", new))
    )  # type: ignore[return-value]


def test_change(english: Elmo, old_and_new: tuple[OccurrenceIndex, OccurrenceIndex]) -> None:
    old, new = old_and_new
    found = {change.word: change for change in word_changes(old, new, 2)}
    assert found["a"].prototype < 1e-3
    assert found["bank"].prototype > 10 * max(1e-4, found["a"].prototype)
    assert "loan" not in found  # too rare in the old one
    assert list(found.values()) == sorted(found.values(), key=lambda c: -c.prototype)
    one = word_change(old, new, 2, "bank")
    assert one == found["bank"]
    x, y = (np.asarray(i.vectors(2)[i.rows("bank")], np.float64) for i in old_and_new)
    x, y = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (x, y))
    assert one.pairwise == pytest.approx(1 - (x @ y.T).mean(), abs=1e-6)
    jumped, senses = sense_changes(english, old, new, "bank")
    assert [(sense.old, sense.new) for sense in senses] == [(0.9, 0.2), (0.1, 0.8)]
    shares = np.array([[0.9, 0.1], [0.2, 0.8]])
    assert jumped == pytest.approx(divergence(*shares))


def test_divergence() -> None:
    assert divergence(np.array([0.5, 0.5]), np.array([0.5, 0.5])) == 0
    assert divergence(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 1


def test_indexes_of_two_models(
    tiny_model: Path, tmp_path: Path,
    old_and_new: tuple[OccurrenceIndex, OccurrenceIndex],
) -> None:  # fmt: skip
    other = Elmo.from_pretrained(tiny_model, tokenizer="whitespace")
    config = IndexConfig(layers=(2,))
    built = build_index(other, ["a bank"] * 3, tmp_path / "other", config, source=[{"name": "x"}])
    with pytest.raises(ConfigError, match="were built with another model each"):
        word_changes(old_and_new[0], built, 2)


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


def test_a_probe_finds_what_a_layer_says(english: Elmo) -> None:
    """Whether a word is the first of its sentence is no matter of spelling."""
    lines = [line.split() for line in sentences(RIVER, 60, 5)]
    tags = [["FIRST"] + ["REST"] * (len(line) - 1) for line in lines]
    known, asked = (tag_vectors(english, lines[k:m], tags[k:m]) for k, m in ((0, 40), (40, 60)))
    zero, one, two, mean = probe_layers(*known, *asked)
    assert zero == pytest.approx(6 / 7, abs=0.05)
    assert min(one, two, mean) > 0.95
    with pytest.raises(DataError, match="sentence 0 has 1 words and 2 tags"):
        tag_vectors(english, [["a"]], [["X", "Y"]])
    with pytest.raises(DataError, match="a probe needs at least two tags"):
        probe_layers(known[0], ["X"] * len(known[1]), *asked)
