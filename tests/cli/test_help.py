"""`--help` is fast: it imports nothing heavy."""

import subprocess
import sys

from elmore.cli.main import COMMANDS

HEAVY = ("torch", "sklearn", "scipy", "pyarrow", "h5py", "fsspec", "ray", "huggingface_hub")
HAVE_SETTINGS_OF_TASKS = ("train", "compare")  # the fields of scikit-learn's estimators
PROGRAM = """
import sys
from elmore.cli.main import run
heavy, *verbs = sys.argv[1:]
for verb in verbs:
    assert run([verb, "--help"]) == 0, verb
    assert not sys.modules.keys() & set(heavy.split()), verb
"""


def _show_help(heavy: tuple[str, ...], *verbs: str) -> None:
    command = [sys.executable, "-c", PROGRAM, " ".join(heavy), *verbs]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_help_imports_nothing_heavy() -> None:
    _show_help(HEAVY, *(verb for verb in COMMANDS if verb not in HAVE_SETTINGS_OF_TASKS))


def test_help_of_pretrain_needs_no_numpy() -> None:
    _show_help((*HEAVY, "numpy"), "pretrain", "doctor")
