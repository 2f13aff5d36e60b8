"""The notebooks run from top to bottom, and are kept without outputs."""

from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="needs the development tools")
nbclient = pytest.importorskip("nbclient", reason="needs the development tools")
pytest.importorskip("ipykernel", reason="needs the development tools")

NOTEBOOKS = Path(__file__).resolve().parents[1] / "docs/notebooks"
# The last value of a notebook's cell, by what the cell computes.
EXPECTED = {
    "first-steps": {"nearest.tolist()": "[1, 0, 3, 2]"},
    "train-on-your-own-text": {
        "nearest.tolist()": "[1, 0, 3, 2]",
        "sorted(filled.words)": "['barn', 'cave', 'forest', 'tower']",
    },
}


def test_every_notebook_is_tested() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_no_outputs_are_kept(name: str) -> None:
    for cell in nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4).cells:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Jupyter's own
@pytest.mark.parametrize("name", EXPECTED)
def test_it_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, resources={"metadata": {"path": tmp_path}}).execute()
    found = {
        cell.source.splitlines()[-1]: cell.outputs[-1]["data"]["text/plain"]
        for cell in notebook.cells
        if cell.get("outputs") and cell.outputs[-1].output_type == "execute_result"
    }
    assert {line: found[line] for line in EXPECTED[name]} == EXPECTED[name]
