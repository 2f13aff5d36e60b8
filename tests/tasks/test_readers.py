"""Each published format is read; what is wrong in a file is said with its line."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from elmore.errors import ConfigError, DataError
from elmore.tasks.readers import Clause, Examples, read_labelled, read_pairs, read_tagged
from tests.conftest import SHARED

TASKS = SHARED / "data/tasks"


def write(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def test_texts_in_every_format(tmp_path: Path) -> None:
    expected = Examples(['사과, "맛" 좋다', "bad film"], ["1", "0"])
    label_of = dict(zip(expected.X, expected.y, strict=True))
    tsv = write(tmp_path / "a.tsv", 'id\ttext\tlabel\n7\t사과, "맛" 좋다\t1\n8\tbad film\t0\n')
    assert read_labelled(tsv) == expected
    comma = write(tmp_path / "a.csv", 'label,text\n1,"사과, ""맛"" 좋다"\n\n0,bad film\n')
    assert read_labelled(comma) == expected
    records = [{"text": text, "label": int(label)} for text, label in label_of.items()]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    assert read_labelled(write(tmp_path / "a.jsonl", lines)) == expected
    plain = write(tmp_path / "a.txt", '1 사과, "맛" 좋다\n\n0 bad film \n')
    assert read_labelled(plain, format="lines") == expected
    table = pyarrow.table({"text": expected.X, "label": [1, 0]})
    parquet.write_table(table, tmp_path / "a.parquet")
    assert read_labelled(tmp_path / "a.parquet") == expected
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(tsv.read_bytes()))
    assert read_labelled(tmp_path / "a.tsv.gz") == expected
    other = write(tmp_path / "b.tsv", "document\tstars\ngood\t5\n")
    assert read_labelled(other, text_field="document", label_field="stars") == Examples(
        ["good"], ["5"]
    )
    trec = write(tmp_path / "trec", "DESC:manner How ?\nNUM:date When ?\n")
    assert read_labelled(trec, format="trec") == Examples(["How ?", "When ?"], ["DESC", "NUM"])
    several = write(tmp_path / "lines.csv", 'label,text\n1,"two\nlines"\n')
    assert read_labelled(several).X == ["two\nlines"]


def test_pairs(tmp_path: Path) -> None:
    expected = Examples([("A dog .", "An animal .")], ["entailment"])
    plain = write(
        tmp_path / "a.tsv", "sentence1\tsentence2\tlabel\nA dog .\tAn animal .\tentailment\n"
    )
    assert read_pairs(plain) == expected
    snli = [
        {"sentence1": "A dog .", "sentence2": "An animal .", "gold_label": "entailment", "x": 1},
        {"sentence1": "A dog .", "sentence2": "A cat .", "gold_label": "-"},
    ]
    path = write(tmp_path / "a.jsonl", "".join(json.dumps(record) + "\n" for record in snli))
    assert read_pairs(path, format="snli") == expected
    sick = write(
        tmp_path / "SICK.txt",
        "pair_ID\tsentence_A\tsentence_B\tentailment_judgment\n"
        "1\tA dog .\tAn animal .\tentailment\n",
    )
    assert read_pairs(sick, format="sick") == expected


def test_tagged_sentences(tmp_path: Path) -> None:
    expected = Examples([["He", "ran"], ["Go"]], [["B", "O"], ["O"]])
    columns = write(tmp_path / "a.conll", "-DOCSTART- -X- O\n\nHe PRP B\nran VBD O\n\n\nGo VB O\n")
    assert read_tagged(columns) == expected
    assert read_tagged(columns, tag_column=1).y == [["PRP", "VBD"], ["VB"]]
    wikiann = write(tmp_path / "b", "en:He\tB\nen:ran\tO\n\nen:Go\tO\n")
    assert read_tagged(wikiann, format="wikiann") == expected
    tabs = write(tmp_path / "tabs", "New York\tB\nis\tO\n")
    assert read_tagged(tabs, format="conll").X == [["New York", "is"]]
    rows = [("1-2", "don't", "_"), ("1", "do", "AUX"), ("2", "n't", "PART"), ("2.1", "x", "VERB")]
    lines = ["# text = don't", *("\t".join([n, w, "_", t, *"______"]) for n, w, t in rows), ""]
    conllu = write(tmp_path / "a.conllu", "\n".join(lines))
    assert read_tagged(conllu) == Examples([["do", "n't"]], [["AUX", "PART"]])


def test_clauses(tmp_path: Path) -> None:
    """Each predicate of a sentence gives a clause, whose roles are in brackets or in BIO."""
    tokens = ["The", "dog", "ate", "and", "ran"]
    brackets = "The - (A0* (A0*\ndog - *) *)\nate eat (V*) *\nand - * *\nran run * (V*)\n\nOh - \n"
    expected = Examples(
        [Clause(tokens, 2), Clause(tokens, 4)], [["B-A0", "I-A0", "O", "O", "O"]] * 2
    )
    assert read_tagged(write(tmp_path / "a", brackets), format="srl") == expected
    bio = "The - B-A0 B-A0\ndog - I-A0 I-A0\nate eat B-V O\nand - O O\nran run O B-V\n"
    assert read_tagged(write(tmp_path / "b", bio), format="srl") == expected
    wrong = write(tmp_path / "c", "ate eat (V*)\nit - *\nran run *\n")
    with pytest.raises(DataError, match=r"from line 1 on, has 'ate eat \(V\*\)'; for 2 predicates"):
        read_tagged(wrong, format="srl")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tsv", "text\tlabel\ngood\n", "line 2 has 1 columns; expected 2: text, label"),
        (
            "a.tsv",
            "text\tmark\ngood\t1\n",
            "line 2 has no field 'label'; name one of 'text', 'mark'",
        ),
        ("a.tsv", "text\tlabel\n \t1\n", "line 2 has nothing in field 'text'"),
        ("a.tsv", "text\tlabel\n", "has no examples; expected at least one"),
        ("a.tsv", "", "has no examples"),
        ("a.csv", 'text,label\n"good,1\n', "is not CSV"),
        ("a.csv", "text,label,text\na,1,b\n", "line 1 names the column 'text' twice; rename"),
        ("a.tsv", "label\ttext\tlabel\n1\ta\t0\n", "line 1 names the column 'label' twice"),
        ("a.jsonl", "{\n", "line 1 is not JSON"),
        ("a.jsonl", "[1]\n", "line 1 holds a JSON list"),
        ("a.jsonl", '{"text": null, "label": 1}\n', "has None in field 'text'; expected a string"),
    ],
)
def test_bad_texts(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_labelled(write(tmp_path / name, content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("He PRP O\nran VBD\n", "line 2, has 2 columns; expected 3, as line 1 has"),
        ("He\n", "line 1, has one column; expected a token and its tag"),
        ("\n\n", "has no examples"),
    ],
)
def test_bad_columns(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_tagged(write(tmp_path / "a.conll", content))


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="has 2 columns; expected the token in column 0 and the tag in column 5"
    ):
        read_tagged(write(tmp_path / "a.conll", "He O\n"), tag_column=5)


@pytest.mark.parametrize(
    ("line", "shown"), [("2", "'2'"), ("yes\tgood film", r"'yes\\tgood film'")]
)
def test_lines_without_a_label_and_a_text(tmp_path: Path, line: str, shown: str) -> None:
    path = write(tmp_path / "a.txt", f"1 good\n{line}\n")
    with pytest.raises(DataError, match=f"line 2 has {shown}; expected a label, a space and a"):
        read_labelled(path, format="lines")


@pytest.mark.parametrize("name", ["a.txt", "a", "a.xls", "a.txt.gz", "gz"])
@pytest.mark.parametrize(
    ("read", "known"),
    [
        (read_labelled, r"tsv, csv, jsonl, parquet, lines \(label, space, text\), trec"),
        (read_pairs, "tsv, csv, jsonl, parquet, snli, sick"),
        (read_tagged, r"conll \(columns\), conllu, wikiann, srl"),
    ],
)
def test_formats_are_not_guessed(tmp_path: Path, read: Any, known: str, name: str) -> None:
    path = write(tmp_path / name, "label\ttext\n")
    with pytest.raises(DataError, match=rf"does not say by its name which.*: {known}$"):
        read(path)


@pytest.mark.parametrize(
    ("read", "name"),
    [(read_labelled, "a.conll"), (read_tagged, "a.tsv"), (read_pairs, "a.conllu")],
)
def test_files_of_another_task(tmp_path: Path, read: Any, name: str) -> None:
    with pytest.raises(DataError, match="does not say by its name which format it has"):
        read(write(tmp_path / name, "text\tlabel\nHe\tO\n"))


def test_a_json_list_is_no_records(tmp_path: Path) -> None:
    path = write(tmp_path / "list.json", '[{"text": "good", "label": 1}]\n')
    with pytest.raises(DataError, match="line 1 holds a JSON list; expected an object a line"):
        read_labelled(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for read in (read_labelled, read_tagged, read_pairs):
        with pytest.raises(DataError, match="does not exist; expected a file of examples"):
            read(tmp_path / "none")
        with pytest.raises(DataError, match="is a folder"):
            read(tmp_path)


@pytest.mark.skipif(not TASKS.exists(), reason="the task data are not here (shared/data)")
def test_published_data() -> None:
    sst = read_labelled(TASKS / "sst/stsa.fine.dev", format="lines")
    assert (len(sst), sorted(set(sst.y))) == (1101, list("01234"))
    trec = read_labelled(TASKS / "trec/TREC.train.raw", format="trec")
    assert (len(trec), len(set(trec.y))) == (5452, 6)
    chunks = read_tagged(TASKS / "conll2000/dev.txt", format="conll")
    assert len(chunks) == 1844
    assert {"B-NP", "I-NP", "O"} < {tag for tags in chunks.y for tag in tags}
    names = read_tagged(TASKS / "wikiann-en/dev", format="wikiann")
    assert len(names) == 10_000
    assert names.X[0][:2] == ["Sioux", "Falls"]
    korean = read_labelled(TASKS / "nsmc-like/train.tsv.xz", text_field="document")
    assert len(korean) > 149_000
    assert len(read_pairs(TASKS / "sick/SICK_trial.txt", format="sick")) == 500
    assert 9_800 < len(read_pairs(TASKS / "snli/snli_1.0_dev.jsonl.gz", format="snli")) < 10_000
    assert len(read_tagged(TASKS / "ud-korean-gsd/ko-gsd-ud-dev.conllu")) == 950


def test_a_long_line_is_not_quoted_whole(tmp_path: Path) -> None:
    lines = write(tmp_path / "a.txt", "x" * 100_000)
    records = write(tmp_path / "a.jsonl", json.dumps({"text": ["x" * 99] * 9999, "label": "a"}))
    for path, form in ((lines, "lines"), (records, "jsonl")):
        with pytest.raises(DataError, match=r"a\.\w+, line 1 has .*; expected") as refused:
            read_labelled(path, format=form)  # type: ignore[arg-type]
        assert len(str(refused.value)) < 1000
