"""`elmore embed` gives what `Elmo.encode_tokens` gives, wherever the texts come from."""

import io
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmore import Elmo
from elmore.embed import TokenVectors

from .conftest import Refused, Run

TEXTS = ["The cat didn't sit.", "", "한국어 문장 😀 .", 'A "quoted" U.S. bank']


@pytest.fixture(scope="module")
def elmo(tiny_model: Path) -> Elmo:
    return Elmo.from_pretrained(tiny_model)


def check(
    records: list[dict[str, Any]], expected: list[TokenVectors], tolerance: float = 1e-6
) -> None:
    assert [record["text"] for record in records] == list(range(len(expected)))
    assert [record["tokens"] for record in records] == [list(text.tokens) for text in expected]
    for record, text in zip(records, expected, strict=True):
        vectors = np.reshape(record["vectors"], text.vectors.shape)
        np.testing.assert_allclose(vectors, text.vectors, atol=tolerance)


def give_stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def test_arguments(elmore: Run, tiny_model: Path, elmo: Elmo) -> None:
    check(elmore("embed", *TEXTS, "-m", tiny_model).records, elmo.encode_tokens(TEXTS))


def test_a_file_has_a_text_a_line(
    elmore: Run, tiny_model: Path, elmo: Elmo, tmp_path: Path
) -> None:
    file = tmp_path / "corpus.txt"
    file.write_bytes("\r\n".join(TEXTS).encode("utf-8-sig"))
    check(elmore("embed", file, "-m", tiny_model).records, elmo.encode_tokens(TEXTS))


def test_standard_input(
    elmore: Run, tiny_model: Path, elmo: Elmo, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_stdin(monkeypatch, ("\n".join(TEXTS) + "\n").encode())
    check(elmore("embed", "-m", tiny_model).records, elmo.encode_tokens(TEXTS))


def test_nothing_on_standard_input(
    elmore: Run, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_stdin(monkeypatch, b"")
    assert elmore("embed", "-m", tiny_model).records == []


def test_a_mixture_of_files_and_texts(
    elmore: Run, tiny_model: Path, elmo: Elmo, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("one\n\ntwo words\n")
    (tmp_path / "b").write_text("last")
    records = elmore(
        "embed", tmp_path / "a.txt", "a text", tmp_path / "b", "-m", tiny_model
    ).records
    check(records, elmo.encode_tokens(["one", "", "two words", "a text", "last"]))


def test_numbers_run_on_through_a_long_file(
    elmore: Run, tiny_model: Path, elmo: Elmo, tmp_path: Path
) -> None:
    texts = [f"word {i}" for i in range(600)]
    (tmp_path / "long.txt").write_text("\n".join(texts))
    records = elmore("embed", tmp_path / "long.txt", "-m", tiny_model).records
    assert [record["text"] for record in records] == list(range(600))
    assert [record["tokens"] for record in records] == [text.split() for text in texts]
    expected = np.stack([text.vectors for text in elmo.encode_tokens(texts)])
    np.testing.assert_array_equal(np.float32([r["vectors"] for r in records]), expected)


@pytest.mark.parametrize("n_words", [60, 500, 2000])
def test_a_text_may_be_longer_than_a_file_name(elmore: Run, tiny_model: Path, n_words: int) -> None:
    (record,) = elmore("embed", "words " * n_words, "-m", tiny_model).records
    assert record["tokens"] == ["words"] * n_words


@pytest.mark.parametrize(
    ("flags", "options"),
    [
        (["--layers", "all"], {"layers": "all"}),
        (["--layers", "top"], {"layers": "top"}),
        (["--layers", "expected"], {"layers": "expected"}),
        (["--layers", "context"], {"layers": "context"}),
        (["--layers", "0"], {"layers": 0}),
        (["--layers", "1"], {"layers": 1}),
        (["--dtype", "float16"], {"dtype": "float16"}),
        (["--keep-sentence-marks"], {"keep_sentence_marks": True}),
        (["--batch-tokens", "7"], {}),
    ],
)
def test_flags_are_options(
    elmore: Run, tiny_model: Path, flags: list[str], options: dict[str, Any]
) -> None:
    size = {"max_batch_tokens": 7} if "--batch-tokens" in flags else {}
    expected = Elmo.from_pretrained(tiny_model, **size).encode_tokens(TEXTS, **options)
    tolerance = 1e-3 if "float16" in flags else 1e-6
    check(elmore("embed", *TEXTS, "-m", tiny_model, *flags).records, expected, tolerance)


def test_tokenizer(elmore: Run, tiny_model: Path, elmo: Elmo) -> None:
    words = [text.split() for text in TEXTS]
    assert [list(text.tokens) for text in elmo.encode_tokens(TEXTS)] != words
    records = elmore("embed", *TEXTS, "-m", tiny_model, "--tokenizer", "whitespace").records
    check(records, elmo.encode_tokens(words))


@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        ("en", "Dr. Smith sat.  Did he? Yes!", ["Dr. Smith sat.", "Did he?", "Yes!"]),
        ("ko", "안녕하세요. 저는 학생입니다.", ["안녕하세요.", "저는 학생입니다."]),
    ],
)
def test_split_sentences(
    *, elmore: Run, tiny_model: Path, elmo: Elmo, language: str, text: str, sentences: list[str]
) -> None:
    flags = ["-m", tiny_model, "--split-sentences", language]
    records = elmore("embed", text, "", "And more", *flags).records
    check(records, elmo.encode_tokens([*sentences, "And more"]))


def test_a_terminal_gets_a_table(
    elmore: Run, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    terminal, end = os.openpty()
    with open(end, "w", encoding="utf-8") as stdout, monkeypatch.context() as patch:  # noqa: PTH123
        patch.setattr(sys, "stdout", stdout)
        result = elmore(
            "embed", "a [bold]bank[/bold]", "-m", tiny_model, "--tokenizer", "whitespace"
        )
    shown = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert (result.code, result.err) == (0, "")
    assert "first 6 of 12 dimensions" in shown
    assert [line.split()[0] for line in shown.splitlines()[2:]] == ["a", "[bold]bank[/bold]"]


@pytest.mark.parametrize("pooling", ["mean", "max", "first-last"])
def test_pooling_gives_one_vector_per_text(
    elmore: Run, tiny_model: Path, elmo: Elmo, pooling: Any
) -> None:
    records = elmore(
        "embed", *TEXTS, "-m", tiny_model, "--pooling", pooling, "--layers", "all"
    ).records
    expected = elmo.encode(TEXTS, pooling=pooling, layers="all")  # (texts, L + 1, D)
    found = np.array([record["vectors"] for record in records])
    np.testing.assert_array_equal(np.float32(found[:, :, 0]), expected)
    words = [" ".join(text.tokens) for text in elmo.encode_tokens(TEXTS)]
    assert [record["tokens"] for record in records] == [[text] for text in words]


def test_pooling_in_a_file(elmore: Run, tiny_model: Path, elmo: Elmo, tmp_path: Path) -> None:
    done = elmore("embed", *TEXTS, "-m", tiny_model, "--pooling", "mean", "-o", tmp_path / "a.npz")
    assert done.code == 0
    with np.load(tmp_path / "a.npz") as file:
        found = np.concatenate([file[str(i)] for i in range(len(TEXTS))])
    np.testing.assert_array_equal(np.float32(found), elmo.encode(TEXTS))


def test_device(elmore: Run, refused: Refused, tiny_model: Path) -> None:
    assert elmore("embed", "a", "-m", tiny_model, "--device", "cpu").records
    said = refused("embed", "a", "-m", tiny_model, "--device", "nowhere")
    assert "the model cannot be put on nowhere" in said


@pytest.mark.parametrize("language", ["klingon", "", "EN", "e"])
def test_a_language_that_is_none(refused: Refused, tiny_model: Path, language: str) -> None:
    said = refused("embed", "a", "-m", tiny_model, "--split-sentences", language)
    assert f"split_sentences is {language!r}; expected a language code" in said
