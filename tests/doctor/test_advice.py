"""Advice is given where there is something to improve, and not elsewhere."""

from pathlib import Path

import pytest

from tests.doctor.test_diagnosis import look


def advice(path: Path, **changes: object) -> str:
    return "\n".join(look(path, **changes).advice)


def test_advice_on_the_batch(text: Path) -> None:
    found = look(text, batch_size=600)
    assert (found.n_windows, found.n_updates, found.time) == (0, 0, None)
    assert "training cannot begin. Take --batch-size" in found.advice[0]
    assert "an epoch has only" in advice(text, batch_size=64)
    assert "an update takes 999 of them" in advice(text, accumulate=999)
    assert "--batch-size" not in advice(text)


def test_advice_on_words(text: Path) -> None:
    assert "as it has 7 words: --max-words" in advice(text, max_words=10)
    assert "lower --min-count" in advice(text, min_count=40)
    assert "unknown" not in advice(text)


def test_advice_on_lines(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("".join(f"line {k % 60}, and so on, number {k % 60}.\n" for k in range(120)))
    found = look(path)
    assert found.text.repeated_lines == 0.5
    assert found.text.is_repeated_exact
    said = "\n".join(found.advice)
    assert "50 % of the lines are duplicates: keep the first of each, in order" in said
    assert "--tokenizer english" in said
    assert "--split-sentences" not in said
    path.write_text("".join(f"{k} " + "here is a word , " * 20 + "\n" for k in range(9)))
    said = advice(path, tokenizer="english")
    assert "--split-sentences" in said
    assert "tokenized already: --tokenizer whitespace" in said
    assert "are duplicates" not in said
    path.write_text("".join(f"나는 학교에 {k} 번 갔다, 그리고 왔다\n" for k in range(60)))
    for tokenizer in ("english", "whitespace"):
        assert "% of the words are Korean: --tokenizer korean" in advice(path, tokenizer=tokenizer)
    assert "--tokenizer" not in advice(path, tokenizer="korean-eojeol")
    path.write_text("".join(f"我 去 了 {k} 次\n" for k in range(60)))
    assert "are one Chinese or Japanese character" in advice(path, tokenizer="english")


def test_advice_on_the_network(text: Path) -> None:
    assert "take --recipe" not in advice(text)
    assert "few for 1,024 cells" in advice(text, cell_dim=1024)
    assert "--n-epochs 5" in advice(text, n_epochs=1.0)
    assert "--patience 5 stops early" in advice(text, n_epochs=50.0)
    assert "softmax is sampled: each batch scores 10 of" in advice(text)
    assert "softmax is full" in advice(text, n_samples=2000)


def test_advice_on_memory(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elmore.doctor.diagnosis.machine_memory", lambda: 2**28)
    found = look(text, cell_dim=1024)
    assert found.time is None
    assert "needs more memory than this machine" in found.advice[0]
    assert "--recipe small-cpu" in found.advice[0]
