"""`elmore compare`: variants, seeds, resuming."""

import json
from pathlib import Path

from tests.cli.conftest import SMALL_TASK as SMALL

from .conftest import Run


def test_compare(elmore: Run, tiny_model: Path, texts: Path, static: Path, tmp_path: Path) -> None:
    dev = tmp_path / "dev.tsv"
    dev.write_text("".join(texts.read_text().splitlines(keepends=True)[:9]))
    arguments = [
        "compare", "classify", "--train", texts, "--dev", dev, "--out", tmp_path / "out",
        "--elmo", tiny_model, "--static", static, "--variants", "static,elmo,static+elmo,both",
        "--n-seeds", "2", *SMALL,
    ]  # fmt: skip
    done = elmore(*arguments)
    assert done.code == 0
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["variant"] for row in rows] == ["static", "elmo", "static+elmo", "both"]
    assert all(len(row["scores"]) == 2 for row in rows)
    assert rows[0]["error_reduction"] is None
    assert done.err.count("seed") == 8
    again = elmore(*arguments)
    assert (again.out, again.err) == (done.out, "")  # nothing is trained again
    runs = json.loads((tmp_path / "out/results.json").read_text())["runs"]
    assert len(runs) == 8
    other = elmore(*arguments, "--dropout", "0.1")
    assert other.code == 2
    assert "holds another comparison (settings differs)" in other.err


def test_compare_on_held_out_examples(
    elmore: Run, tiny_model: Path, texts: Path, tmp_path: Path
) -> None:
    done = elmore(
        "compare", "classify", "--train", texts, "--out", tmp_path / "out", "--elmo", tiny_model,
        "--variants", "elmo", "--n-seeds", "1", "--dev-share", "0.2", "--max-train", "12", *SMALL,
    )  # fmt: skip
    assert done.code == 0
    content = json.loads((tmp_path / "out/results.json").read_text())
    assert (content["n_train"], content["n_dev"]) == (12, 4)
