"""The core needs no torch: its commands and the server run where there is none."""

import json
import os
import re
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCKED = """
import sys
class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name="torch")
sys.meta_path.insert(0, NoTorch())
"""
RUN = BLOCKED + "from elmore.cli.main import main; sys.argv[0] = 'elmore'; main()"
TEXT = "The river bank was green .\nThe bank lent money .\nWe sat on the bank .\n" * 5


def elmore(*arguments: object, folder: Path, expected: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-c", RUN, *map(str, arguments)],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == expected, done.stderr
    return done.stdout if expected == 0 else done.stderr


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "tags.conll").write_text("the D\nbank N\n\nthe D\nriver N\n")
    return tmp_path / "text.txt"


@pytest.mark.parametrize(
    "commands",
    [
        [["embed", "the bank"]],
        [["embed", "text.txt", "--out", "vectors.npz"]],
        [["embed", "text.txt", "--out", "parts/", "--processes", "2"], ["verify", "parts"]],
        [["index", "text.txt", "--out", "index"], ["senses", "bank", "--in", "index"],
         ["neighbours", "We sat on the bank .", "--word", "bank", "--in", "index"]],
        [["fill", "We sat on the river ___ ."]],
        [["info", "en"]],
        [["calibrate", "en", "text.txt", "--out", "calibrated"], ["verify", "calibrated"]],
        [["probe", "--train", "tags.conll", "--dev", "tags.conll"]],
        [["convert", "en", "--out", "copy"], ["verify", "copy"]],
    ],
    ids=lambda commands: " ".join(commands[0][:2]) if isinstance(commands, list) else None,
)  # fmt: skip
def test_commands(commands: Sequence[Sequence[str]], text: Path) -> None:
    for arguments in commands:
        elmore(*arguments, folder=text.parent)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["embed", "the bank", "--device", "cuda"], "the device cuda"),
        (["train", "classify", "--train", "text.txt", "--out", "task"], "elmore train"),
        (["pretrain", "text.txt", "--out", "run"], "elmore pretrain"),
    ],
)
def test_what_needs_it_says_so(arguments: list[str], what: str, text: Path) -> None:
    message = elmore(*arguments, folder=text.parent, expected=2)
    assert "needs an extra: pip install 'elmore[" in message
    assert what in message
    assert "Traceback" not in message


SERVER = (
    BLOCKED
    + """
from fastapi.testclient import TestClient
from elmore.serve.app import create_app
from elmore.serve.limits import Limits
from elmore.serve.metrics import Metrics
from elmore.serve.registry import load_registry

limits, metrics = Limits(), Metrics()
registry = load_registry(["en"], [], [], limits=limits, metrics=metrics)
app = create_app(registry, limits, metrics, allowed_hosts=["testserver"])
with TestClient(app) as client:
    for path, body in [
        ("/embed", {"texts": ["the bank"]}),
        ("/scores", {"texts": ["the bank"]}),
        ("/fill", {"texts": ["the ___"]}),
    ]:
        answer = client.post(path, json=body)
        assert answer.status_code == 200, answer.text
"""
)


def test_the_server() -> None:
    pytest.importorskip("fastapi")
    done = subprocess.run([sys.executable, "-c", SERVER], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("from elmore import ElmoLayer", "elmore.ElmoLayer needs an extra: .*elmore[torch]"),
        ("from elmore.tasks import Tagger", "elmore.tasks.Tagger needs an extra: .*elmore[tasks]"),
    ],
)
def test_names_that_need_it(code: str, message: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED + code], capture_output=True, text=True, check=False
    )
    last = done.stderr.rstrip().rpartition("\n")[2]
    assert re.search(message.replace("[", r"\["), last), done.stderr


def test_a_task_that_is_served_needs_it(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    message = elmore("serve", "--task", tmp_path, "--port", "0", folder=tmp_path, expected=2)
    assert message == "elmore: serving a task needs an extra: pip install 'elmore[tasks]'\n"


def test_python(tmp_path: Path) -> None:
    code = BLOCKED + (
        "import json\nfrom elmore import Elmo\nelmo = Elmo.from_pretrained('en')\n"
        "print(json.dumps([elmo.encode(['the bank']).shape, len(elmo.scores(['the bank'])),"
        " elmo.similarity(['a'], ['b']).shape]))\n"
        "import pickle; pickle.loads(pickle.dumps(elmo))\n"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [[1, 256], 1, [1, 1]]


@pytest.mark.slow
def test_an_installation_of_the_core_alone(tmp_path: Path) -> None:
    """A wheel and its dependencies in an environment of their own: small, and it works."""
    environment = {name: x for name, x in os.environ.items() if name != "PYTHONPATH"}

    def run(*command: object) -> str:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    run(*build, "--outdir", tmp_path / "dist", ROOT)
    (wheel,) = (tmp_path / "dist").iterdir()
    assert wheel.stat().st_size < 100e6
    assert "-py3-none-" in wheel.name
    venv.create(tmp_path / "alone", with_pip=True)
    python = tmp_path / "alone/bin/python"
    try:
        run(python, "-m", "pip", "install", "--quiet", wheel)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"pip cannot install the dependencies: {error.stderr[-300:]}")
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools")
    size = sum(path.stat().st_size for path in (tmp_path / "alone").rglob("*") if path.is_file())
    assert size < 250e6
    assert "torch" not in {path.name for path in (tmp_path / "alone").rglob("torch")}
    assert json.loads(run(tmp_path / "alone/bin/elmore", "embed", "the bank"))["tokens"]
