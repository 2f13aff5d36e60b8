"""`--help` is fast: it imports nothing heavy."""

import subprocess
import sys

from elmore.cli.main import COMMANDS

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
