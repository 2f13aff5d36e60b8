"""`elmore neighbours`: JSON and a web page."""

from pathlib import Path

import numpy as np

from elmore import StaticVectors

from .conftest import Refused, Run


def test_neighbours(elmore: Run, refused: Refused, index: Path, tmp_path: Path) -> None:
    vectors = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    StaticVectors(["bank", "boat", "loan"], vectors).write_text(tmp_path / "vectors.txt")
    page = tmp_path / "page.html"
    (found,) = elmore(
        "neighbours", "a deep bank & water", "--word", "bank", "--in", index, "-n", "3",
        "--static", tmp_path / "vectors.txt", "--html", page,
    ).records  # fmt: skip
    assert [layer["layer"] for layer in found["layers"]] == [0, 1, 2]
    assert all(len(layer["neighbours"]) == 3 for layer in found["layers"])
    assert found["layers"][0]["neighbours"][0]["word"] == "bank"
    assert {near["word"] for near in found["static"]} == {"boat", "loan"}
    assert found["standardized"] is False
    assert "<mark>bank</mark>" in page.read_text()
    assert "bank &amp; water" in page.read_text()
    assert "is no token of" in refused("neighbours", "a", "--word", "bank", "--in", index)
    assert "has no index.json" in refused("neighbours", "a", "--word", "a", "--in", tmp_path)
