"""Senses are found where there are some, as many as there are."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from elmore import Elmo
from elmore.errors import ConfigError, DataError
from elmore.formats import Pretrained
from elmore.model import BiLM, BiLMConfig, CharWordConfig, LstmConfig
from elmore.senses.build import build_index
from elmore.senses.change import divergence, sense_changes, word_change, word_changes
from elmore.senses.index import IndexConfig, Occurrence, OccurrenceIndex
from elmore.senses.induce import (
    Views,
    context_states,
    find_groups,
    find_senses,
    other_occurrences,
    sampled_rows,
    views_of,
)
from elmore.senses.pictures import draw_map
from elmore.senses.probe import probe_layers, tag_vectors
from elmore.senses.topics import topic_vectors
from elmore.senses.wsd import label_senses
from elmore.text import Vocab

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


def views(labels: np.ndarray, rng: np.random.Generator, *, apart: float) -> Views:
    """Groups of points around means of their own, in either view."""
    n_groups = int(labels.max()) + 1
    made = []
    for _ in range(2):
        middles = apart * rng.normal(size=(n_groups, 30))
        made.append((middles[labels] + rng.normal(size=(len(labels), 30))).astype(np.float32))
    return Views(*made)


@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_as_many_groups_as_there_are(n_groups: int) -> None:
    rng = np.random.default_rng(1)
    sizes = [60 + 20 * k for k in range(n_groups)]
    right = np.repeat(np.arange(n_groups), sizes)
    made = views(right, rng, apart=6)
    found = find_groups(made)
    assert np.bincount(found.labels).tolist() == sizes[::-1]  # the largest first
    np.testing.assert_array_equal(found.labels, n_groups - 1 - right)
    assert found.agreement == (1 if n_groups > 1 else 0)
    assert find_groups(made, max_groups=1).labels.max() == 0
    few = Views(made.expected[:9], made.topics[:9])
    assert find_groups(few).labels.max() == 0  # too few to tell
    with pytest.raises(ConfigError, match="max_groups is 0"):
        find_groups(made, max_groups=0)


def test_views_that_do_not_agree_show_one_sense() -> None:
    """Groups in one view alone, and no groups at all."""
    rng = np.random.default_rng(1)
    for apart in (6, 0):
        made = views(np.arange(120) % 2, rng, apart=apart)
        shuffled = Views(made.expected, rng.permutation(made.topics))
        assert find_groups(shuffled, max_groups=4).labels.max() == 0


def test_copies_of_one_occurrence() -> None:
    same = np.ones((20, 5), np.float32)
    assert find_groups(Views(same, same)).labels.tolist() == [0] * 20


def test_the_views_of_an_occurrence(english: Elmo) -> None:
    """The word itself is in neither; the topic is that of the rarer words around."""
    lines = ["the bank of the river", "the shore of the river", "of the the bank river", "bank"]
    made = [
        Occurrence(word, tuple(line.split()), line.split().index(word))
        for word, line in zip(["bank", "shore", "bank", "bank"], lines, strict=True)
    ]
    found = views_of(english, made, context_states(english, made))
    np.testing.assert_allclose(found.expected[0], found.expected[1], atol=5e-6)
    np.testing.assert_allclose(found.topics[0], found.topics[1], atol=5e-6)
    np.testing.assert_allclose(found.topics[0], found.topics[2], atol=5e-6)  # in any order
    assert abs(found.expected[0] - found.expected[2]).max() > 0.01
    np.testing.assert_allclose(np.linalg.norm(found.topics, axis=1), [1, 1, 1, 0], atol=1e-5)
    rivers = topic_vectors(english, [Occurrence("x", ("x", "river"), 0)])
    assert float(rivers[0] @ found.topics[0]) > 0.9


def test_the_topic_by_a_word_table(english: Elmo) -> None:
    """The rows of the table without their mean, less for a frequent word."""
    assert english.model.vocab is not None
    vocab = Vocab(["<S>", "</S>", "<UNK>", "the", "river", *(f"w{k}" for k in range(2000))])
    char_cnn = english.config.char_cnn
    assert char_cnn is not None
    config = BiLMConfig(
        token_encoder=CharWordConfig(char_cnn, len(vocab)),
        lstm=LstmConfig(n_layers=1, cell_dim=8, projection_dim=4),
    )
    bilm = BiLM(config)
    table = torch.randn(len(vocab), 4, generator=torch.Generator().manual_seed(1))
    bilm.token_encoder.words.weight.data = table
    elmo = Elmo(Pretrained(bilm, "whitespace", vocab))
    (found,) = topic_vectors(elmo, [Occurrence("x", ("x", "River", "the", "nowhere"), 0)])
    the, river = (table - table.mean(dim=0))[[3, 4]].numpy()
    weights = 1e-4 / (1e-4 + vocab.zipf()[[3, 4]])
    wanted = weights[0] * the + weights[1] * river
    np.testing.assert_allclose(found, wanted / np.linalg.norm(wanted), atol=1e-5)


def test_a_model_without_a_softmax(tiny_elmo: Elmo) -> None:
    """Senses are found by spelling alone, and there are no substitutes."""
    found = find_senses(tiny_elmo, occurrences(sentences(RIVER, 30, 1) + sentences(MONEY, 30, 2)))
    assert sum(len(sense.rows) for sense in found) == 60
    assert [sense.substitutes for sense in found] == [[]] * len(found)
    assert all(sense.keywords for sense in found)


def test_senses_and_their_keywords(english: Elmo) -> None:
    found = find_senses(english, occurrences(sentences(RIVER, 40, 1) + sentences(MONEY, 60, 2)))
    assert [sense.name for sense in found] == ["1", "2"]
    assert [sense.share for sense in found] == pytest.approx([0.6, 0.4], abs=0.03)
    assert set(found[0].keywords[:5]) == set(MONEY)
    assert set(found[1].keywords[:5]) == set(RIVER)
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
    assert alone.keywords[:4] == ["water", "boat", "deep", "fish"]  # "is", "of", "the" are none
    elsewhere = [Occurrence("at", ("at", "the", "side", "of", "it", "is"), 0)] * 100
    (told,) = find_senses(english, banks, others=elsewhere)
    assert told.keywords[:4] == ["water", "boat", "deep", "fish"]


def test_what_stands_near_any_word_tells_nothing(english: Elmo) -> None:
    lines = sentences([*RIVER, "fruit"], 40, 1) + sentences(MONEY, 60, 2)
    either = occurrences(lines)
    _, shore = find_senses(english, either)
    assert "fruit" in shore.keywords
    others = [Occurrence("tree", ("tree", *["fruit"] * 5, word), 0) for word in RIVER + MONEY] * 9
    _, shore = find_senses(english, either, others=others)
    assert "fruit" not in shore.keywords
    assert set(shore.keywords[:5]) == set(RIVER)


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
    same = [f"a boat on deep water {k % 7} ;" for k in range(30)]
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
    assert ";" not in found
    assert len(old.rows(";")) == 30
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
