"""The measurements of paper/ on senses, with data small enough to know the answer."""

import lzma
from pathlib import Path

import numpy as np
import pytest

from elmore import Elmo, StaticVectors
from elmore.errors import DataError
from elmore.senses.build import build_index
from elmore.senses.index_file import IndexConfig
from elmore.senses.wsd import SenseSentence, SenseWord
from paper.all_words import all_words, read_evaluation, read_semcor, word_of
from paper.neighbours import TABLE, table_4
from paper.sense_induction import sense_induction

ROW = "br-a01\t{}\t{}\tNN\t{}\t{}"


@pytest.fixture
def semcor(tmp_path: Path) -> Path:
    """bank by the river is its second sense, bank with money its first."""
    rows = ["#doc\tsent\ttoken\tpos\tlemma\tsense_key"]
    for number in range(4):
        before, key = (("river", "2:"), ("money", "1:"))[number % 2]
        rows += [ROW.format(number, before, before, ""), ROW.format(number, "bank", "bank",
                 f"bank%1:17:0{key}:"), ""]  # fmt: skip
    rows += [ROW.format(9, "took_place", "take_place", "take_place%2:30:00::"), ""]
    folder = tmp_path / "semcor"
    folder.mkdir()
    senses = ["bank%1:17:01:: 1 1 9", "bank%1:17:02:: 2 2 5", "boat%1:06:00:: 3 1 1"]
    (folder / "semcor3.0.tsv.xz").write_bytes(lzma.compress("\n".join(rows).encode()))
    (folder / "wordnet-index.sense.xz").write_bytes(lzma.compress("\n".join(senses).encode()))
    return folder


@pytest.fixture
def evaluation(tmp_path: Path) -> Path:
    words = [("river", "bank%1:17:02::"), ("money", "bank%1:17:01::"), ("river", "boat%1:06:00::")]
    xml, gold = ["<corpus><text>"], []
    for number, (before, key) in enumerate(words):
        lemma = key.partition("%")[0]
        xml.append(
            f'<sentence><wf lemma="x" pos="NOUN">{before}</wf><instance id="t{number}" '
            f'lemma="{lemma}" pos="NOUN">{lemma}</instance></sentence>'
        )
        gold.append(f"t{number} {key} other%1:00:00::")
    folder = tmp_path / "eval" / "small"
    folder.mkdir(parents=True)
    (folder / "small.data.xml").write_text("\n".join([*xml, "</text></corpus>"]))
    (folder / "small.gold.key.txt").write_text("\n".join(gold) + "\n")
    return tmp_path / "eval"


def test_all_words(tiny_elmo: Elmo, semcor: Path, evaluation: Path) -> None:
    found = all_words(tiny_elmo, evaluation, semcor)
    names = ["first sense", "layer 0", "layer 1", "layer 2", "context", "expected", "joined"]
    assert found.columns == names
    first, _, one, two, *states = found.rows["small"]
    assert states == [1.0] * 3
    assert first == pytest.approx(2 / 3)  # money, and the boat, which SemCor does not have
    assert one == two == 1.0
    (evaluation / "small/small.data.xml").write_text("<corpus>")
    with pytest.raises(DataError, match="is not XML"):
        all_words(tiny_elmo, evaluation, semcor)


def test_what_is_read(semcor: Path, evaluation: Path) -> None:
    *_, last = read_semcor(semcor / "semcor3.0.tsv.xz")
    word = SenseWord(0, 2, "take_place%2", ("take_place%2:30:00::",))
    assert last == SenseSentence(("took", "place"), (word,))
    assert read_evaluation(evaluation / "small")[0] == SenseSentence(
        ("river", "bank"), (SenseWord(1, 2, "bank%1", ("bank%1:17:02::", "other%1:00:00::")),)
    )
    assert word_of("long%5:00:00:tall:00") == "long%3"  # a satellite is an adjective too


def test_induction(tmp_path: Path) -> None:
    """Two senses in words of their own are found, as the adjusted Rand index says."""
    words = {0: ["water", "boat", "fish", "flood"], 1: ["loan", "cash", "credit", "account"]}
    rng = np.random.default_rng(1)
    senses = [k % 2 for k in range(60)]
    lines = []
    for sense in senses:
        near = rng.choice(words[sense], size=5).tolist()
        lines.append("2\t" + " ".join([*near[:2], "bank", *near[2:]]))
    folder = tmp_path / "coarse" / "bank"
    folder.mkdir(parents=True)
    (folder / "train.data.txt").write_text("\n".join(lines) + "\n")
    (folder / "train.gold.txt").write_text("\n".join(map(str, senses)) + "\n")
    elmo = Elmo.from_pretrained("en", tokenizer="whitespace")
    found = sense_induction(elmo, tmp_path / "coarse")
    n_senses, n_groups, v, ari, *given = found.rows["bank"]
    assert n_senses == n_groups == 2
    assert given == [v, ari, v, ari]  # two groups are the right number
    assert min(v, ari) > 0.8
    assert found.rows["mean"] == found.rows["bank"]
    with pytest.raises(DataError, match="no folder of a word"):
        sense_induction(elmo, folder)


def test_table_4(tiny_elmo: Elmo, tmp_path: Path) -> None:
    lines = ["a play on the ground .", "they saw a play in the theatre .", "no such word"]
    index = build_index(
        tiny_elmo, lines, tmp_path / "i", IndexConfig(layers=(2,)), source=[{"name": "x"}]
    )
    static = StaticVectors(["play", "game"], np.ones((2, 3), np.float32))
    found = table_4(tiny_elmo, index, static, 1)
    assert found[0] == "static: game 1.00"
    assert sum(line.startswith("  here, ") for line in found) == len(TABLE)
