"""`elmore probe`: the accuracy of each layer."""

from pathlib import Path

from .conftest import Run


def test_probe(elmore: Run, tiny_model: Path, tmp_path: Path) -> None:
    tagged = tmp_path / "tagged.conll"
    tagged.write_text("the D\nbank N\nfell V\n\na D\nboat N\n\n" * 5)
    (found,) = elmore("probe", "--train", tagged, "--dev", tagged, "-m", tiny_model).records
    assert list(found["accuracy"]) == ["layer 0", "layer 1", "layer 2", "mean of layers"]
    assert found["accuracy"]["layer 2"] == 1.0
