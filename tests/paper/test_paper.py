"""The measurements of paper/ on data small enough to know the answer."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from elmore import Elmo
from elmore.errors import DataError
from elmore.senses.probe import probe
from paper.__main__ import MEASUREMENTS, Measurement, insert, markdown
from paper.coarse_senses import coarse_senses, nearest_sense
from paper.fill import WEIGHTS, fill, held_out
from paper.pos_probe import pos_probe, read_treebank, unknown_words
from paper.report import Results
from paper.word_in_context import best_threshold, read_pairs, word_in_context
from paper.words import Sentence, span_vectors
from tests.model.test_context import scoring_model

ROOT = Path(__file__).resolve().parents[2]


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture
def senses(tmp_path: Path) -> Path:
    """One word whose sense is told by the word before it."""
    for split, n in (("train", 12), ("test", 6)):
        rows = [("river", 1), ("money", 0)] * (n // 2)
        folder = tmp_path / "coarse" / "bank"
        write(folder / f"{split}.data.txt", *(f"1\t{before} bank" for before, _ in rows))
        write(folder / f"{split}.gold.txt", *(str(sense) for _, sense in rows))
    return tmp_path / "coarse"


def test_the_nearest_example_has_the_sense(tiny_elmo: Elmo, senses: Path) -> None:
    found = coarse_senses(tiny_elmo, senses)
    assert found.columns == [
        "most frequent", "layer 0", "layer 1", "layer 2", "mean of layers", "context", "expected",
        "joined",
    ]  # fmt: skip
    assert "raw vectors" in found.note
    assert found.rows["bank"] == found.rows["mean"]
    assert found.rows["bank"][0] == 0.5
    assert list(found.rows["bank"][2:]) == [1.0] * 6  # layer 0 cannot tell


def test_nearest_is_by_angle() -> None:
    training = np.array([[10, 0], [0, 1]], np.float32)
    test = np.array([[1, 2], [0.1, 0]], np.float32)
    assert nearest_sense(training, np.array(["a", "b"]), test).tolist() == ["b", "a"]


def test_senses_that_do_not_fit_their_sentences(tiny_elmo: Elmo, senses: Path) -> None:
    write(senses / "bank/test.gold.txt", "1")
    with pytest.raises(DataError, match="6 test sentences and 1 senses"):
        coarse_senses(tiny_elmo, senses)


@pytest.mark.parametrize(
    ("values", "same", "right"),
    [
        ([0.1, 0.2, 0.8, 0.9], [False, False, True, True], 4),
        ([0.1, 0.2, 0.8, 0.9], [True, True, True, True], 4),
        ([0.1, 0.2, 0.8, 0.9], [False, False, False, False], 4),
        ([0.9, 0.1, 0.8, 0.2], [True, False, False, True], 3),
        ([0.5, 0.5, 0.5, 0.9], [False, True, True, True], 3),
        ([1.0, 1.0, 1.0, 1.0], [False, True, False, False], 3),
    ],
)
def test_no_threshold_does_better(values: list[float], same: list[bool], right: int) -> None:
    cosines, answers = np.array(values), np.array(same)
    threshold = best_threshold(cosines, answers)
    assert ((cosines > threshold) == answers).sum() == right
    others = [((cosines > other) == answers).sum() for other in np.linspace(-0.05, 1.05, 111)]
    assert right == max(others)


HEADER = "\t".join(["ID"] * 9)


def kobest_row(first: str, second: str, answer: str) -> str:
    return "\t".join(["1", "사과", first, "1", "", second, "2", "", answer])


def test_korean_pairs(tiny_elmo: Elmo, tmp_path: Path) -> None:
    rows = [
        kobest_row("나는 [사과] 를 먹었다", "큰 [사과] 나무", "True"),
        kobest_row("[사과] 를 했다", "나는 [사과] 를 먹었다", " FALSE"),
    ]
    for split in ("train", "dev"):
        write(tmp_path / f"{split}.tsv", HEADER, *rows)
    pairs = read_pairs(tmp_path, "dev")
    assert pairs.same.tolist() == [True, False]
    assert pairs.first[0] == Sentence("나는 사과 를 먹었다", [(3, 5)])
    found = word_in_context(tiny_elmo, tmp_path)
    assert found.rows["dev"][0] == 0.5
    assert found.rows["dev"] == found.rows["train"]
    write(tmp_path / "dev.tsv", HEADER, kobest_row("큰 사과", "[사과]", "True"))
    assert read_pairs(tmp_path, "dev").first[0] == Sentence("큰 사과", [(2, 4)])  # as in one row
    write(tmp_path / "dev.tsv", HEADER, kobest_row("배", "[사과]", "True"))
    with pytest.raises(DataError, match=r"expected .* in \[brackets\]"):
        read_pairs(tmp_path, "dev")


def test_english_pairs(tmp_path: Path) -> None:
    write(tmp_path / "dev/dev.data.txt", "board\tN\t2-1\tRoom and board .\tHe boards it .")
    write(tmp_path / "dev/dev.gold.txt", "F")
    pairs = read_pairs(tmp_path, "dev")
    assert pairs.first == [Sentence("Room and board .", [(9, 14)])]
    assert pairs.second == [Sentence("He boards it .", [(3, 9)])]
    assert pairs.same.tolist() == [False]
    write(tmp_path / "dev/dev.gold.txt", "F", "T")
    with pytest.raises(DataError, match=r"1 pairs, .* 2 answers"):
        read_pairs(tmp_path, "dev")
    write(tmp_path / "dev/dev.gold.txt", "false")
    with pytest.raises(DataError, match="'false'; expected T or F"):
        read_pairs(tmp_path, "dev")


def test_a_word_is_the_mean_of_its_tokens(tiny_elmo: Elmo) -> None:
    found = span_vectors(tiny_elmo, [Sentence("a bc d", [(0, 4), (5, 6)])])
    (read,) = tiny_elmo.encode_tokens(["a bc d"], layers="all")
    layers = np.stack([found[f"layer {n}"] for n in range(3)])
    np.testing.assert_array_equal(layers[:, 0], read.vectors[:, :2].mean(axis=1))
    np.testing.assert_array_equal(layers[:, 1], read.vectors[:, 2])
    np.testing.assert_array_equal(found["mean of layers"], layers.mean(axis=0))
    with pytest.raises(DataError, match="no token is at ' ' in 'a b'"):
        span_vectors(tiny_elmo, [Sentence("a b", [(1, 2)])])


def row(number: str, word: str, tag: str, notes: str = "_") -> str:
    return "\t".join([number, word, "_", tag, *"_____", notes])


def test_unknown_words_have_a_token_outside_the_vocabulary() -> None:
    sentence = Sentence("the zxqv-bank, no", [(0, 3), (4, 13), (13, 14), (15, 17)])
    assert unknown_words(Elmo.from_pretrained("en"), sentence) == [False, True, False, False]


TREEBANK = [
    "# text = He didn't run, fast",
    row("1", "He", "PRON"),
    row("2-3", "didn't", "_"),
    row("2", "did", "AUX"),
    row("3", "n't", "PART"),
    row("4", "run", "VERB", "SpaceAfter=No"),
    row("5", ",", "PUNCT"),
    row("5.1", "left", "VERB"),
    row("6", "fast", "ADV"),
    "",
]


def test_a_treebank_gives_words_with_their_places(tiny_elmo: Elmo, tmp_path: Path) -> None:
    for split in ("train", "dev"):
        write(tmp_path / f"xx-ud-{split}.conllu", *TREEBANK, *TREEBANK)
    first, second = read_treebank(tmp_path, "dev")
    assert first == second
    assert first.text == "He didn't run, fast "
    assert [first.text[a:b] for a, b in first.spans] == ["He", "did", "n't", "run", ",", "fast"]
    assert first.tags == ["PRON", "AUX", "PART", "VERB", "PUNCT", "ADV"]
    # It has seen them all in training, but to this model "didn't" and "run," are one token each.
    assert pos_probe(tiny_elmo, tmp_path).rows == {"dev": [pytest.approx(4 / 6)] * 4}
    with pytest.raises(DataError, match=r"0 files \*-test.conllu"):
        read_treebank(tmp_path, "test")
    write(tmp_path / "xx-ud-dev.conllu", "1\tHe")
    with pytest.raises(DataError, match="expected 10 columns"):
        read_treebank(tmp_path, "dev")
    (tmp_path / "xx-ud-dev.conllu").rename(tmp_path / "xx-ud-dev.conllu.xz")
    with pytest.raises(DataError, match="cannot be read"):
        read_treebank(tmp_path, "dev")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("river bank", "line 1, has 1 columns; expected 2"),
        ("2\triver bank", "line 1, names word '2'; expected one from 0 to 1"),
        ("x\triver bank", "line 1, names word 'x'"),
    ],
)
def test_rows_that_are_not_as_they_should_be(
    tiny_elmo: Elmo, senses: Path, line: str, message: str
) -> None:
    write(senses / "bank/train.data.txt", line)
    with pytest.raises(DataError, match=message):
        coarse_senses(tiny_elmo, senses)


def test_a_probe_learns_what_is_linear() -> None:
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(400, 5)).astype(np.float32)
    tags = ["N" if v[0] > v[1] else "V" for v in vectors]
    assert (probe(vectors[:300], tags[:300], vectors[300:]) == tags[300:]).mean() > 0.95


def test_a_table_is_aligned() -> None:
    rows = {"x": [0.5, 1], "yy": [0, 0.25]}
    shown = str(Results("share, %", ["one", "a long one"], rows, 100, note="The paper: 60."))
    assert shown.splitlines() == [
        "share, %",
        "        one  a long one",
        "x      50.0       100.0",
        "yy      0.0        25.0",
        "The paper: 60.",
    ]


@pytest.mark.slow
def test_as_a_command(tiny_model: Path, senses: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "paper.coarse_senses", "--model", str(tiny_model)]
    json_out = ["--json", str(tmp_path / "out.json")]
    done = subprocess.run(
        [*command, "--data", str(senses), *json_out], cwd=ROOT, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[0] == f"model {tiny_model}, data {senses}"
    assert "mean of layers" in done.stdout
    assert json.loads((tmp_path / "out.json").read_text())["rows"]["bank"][0] == 0.5
    wrong = subprocess.run(
        [*command, "--data", str(tmp_path / "none")], cwd=ROOT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert wrong.returncode == 2
    assert len(wrong.stderr.splitlines()) == 1


def test_tables_of_a_page() -> None:
    table = markdown(Results("share, %", ["a", "b"], {"x": [0.5, 0.25]}, scale=100))
    assert table == "| share, % | a | b |\n|---|---|---|\n| x | 50.0 | 25.0 |"
    noted = markdown(Results("share, %", ["a"], {"x": [0.5]}, note="The paper: 60."))
    assert noted.endswith("| x | 0.5 |\n\nThe paper: 60.")
    page = "before\n<!-- paper:x -->\nold\n<!-- /paper:x -->\nafter\n"
    there = insert(page, "x", table)
    assert there == f"before\n<!-- paper:x -->\n{table}\n<!-- /paper:x -->\nafter\n"
    assert insert(there, "x", table) == there
    assert insert(page, "y", table) == page


@pytest.mark.parametrize(
    "one", {one.module: one for one in MEASUREMENTS}.values(), ids=lambda one: one.module
)
def test_every_measurement_is_a_command_that_takes_its_arguments(one: Measurement) -> None:
    command = one.command(Path("data"), Path("out"))
    found = subprocess.run(
        [*command, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for argument in command[3:]:
        assert not argument.startswith("--") or argument in found.stdout


def test_what_stands_around_a_word_knows_nothing_of_it(tiny_elmo: Elmo) -> None:
    places = [(0, 3), (4, 8)]
    bank, bench = (
        span_vectors(tiny_elmo, [Sentence(text, places)])["context"]
        for text in ("the bank there", "the bess there")
    )
    np.testing.assert_array_equal(bank[1], bench[1])  # its second span is bank, then bess
    (read,) = tiny_elmo.encode_tokens(["the bank there"], layers="top", keep_sentence_marks=True)
    np.testing.assert_array_equal(bank[1, :6], read.vectors[1, :6])
    np.testing.assert_array_equal(bank[1, 6:], read.vectors[3, 6:])


def test_guessing_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paper.fill.N_SENTENCES", 3)
    elmo = Elmo(scoring_model())
    write(tmp_path / "text.txt", *["the river bank of a river ."] * 6)
    found = fill(elmo, tmp_path / "text.txt")
    assert list(found.rows)[:3] == ["left", "right", "both"]
    assert len(found.rows) == 3 + len(WEIGHTS) + 2
    for first, five, ten, perplexity in found.rows.values():
        assert first <= five <= ten == 100  # there are only six words to guess
        assert perplexity > 1
    assert held_out(elmo, tmp_path / "text.txt")[0][0][-1] == "."
    monkeypatch.setattr("paper.fill.N_SENTENCES", 4)
    with pytest.raises(DataError, match="has 6 sentences; expected 8"):
        fill(elmo, tmp_path / "text.txt")
