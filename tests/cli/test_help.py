"""`--help` is fast, and shows what it was given."""

import subprocess
import sys

import pytest

from elmore.cli.main import COMMANDS, run

HEAVY = (
    "numpy", "torch", "sklearn", "scipy", "pyarrow", "h5py", "fsspec", "ray", "huggingface_hub",
)  # fmt: skip
PROGRAM = """
import sys
from elmore.cli.main import run
heavy, *verbs = sys.argv[1:]
for verb in verbs:
    assert run([verb, "--help"]) == 0, verb
    found = sys.modules.keys() & set(heavy.split())
    assert not found, (verb, found)
"""


def test_help_imports_nothing_heavy() -> None:
    command = [sys.executable, "-c", PROGRAM, " ".join(HEAVY), *COMMANDS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for verb in COMMANDS:
        assert f"Usage: elmore {verb}" in done.stdout


@pytest.mark.parametrize(
    ("verb", "shown"),
    [
        ("embed", "sentence marks <S> and </S>"),
        ("perplexity", "scored as <UNK>"),
        ("predict", "- is standard input"),
        ("pretrain", "- is standard input"),
    ],
)
def test_nothing_is_taken_for_markup(
    verb: str, shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    assert run([verb, "--help"]) == 0
    assert shown in " ".join(capsys.readouterr().out.split())
