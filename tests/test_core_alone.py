"""With the core alone, without any extra: every module is imported, every command has its help."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from elmore.cli.main import COMMANDS
from tests.pretrain.small_runs import small_flags, write_text

ROOT = Path(__file__).resolve().parents[1]

# What the extras bring; found by find_spec and by import alike.
_BLOCKER = """
import sys
EXTRAS = {"sklearn", "faiss", "gensim", "matplotlib", "koreanize_matplotlib", "pyarrow",
          "zstandard", "mecab", "tensorboard", "pandas", "fastapi", "uvicorn", "starlette",
          "pydantic", "prometheus_client", "spacy", "thinc", "onnx", "onnxruntime", "ray",
          "lancedb", "s3fs", "uvloop", "httptools"}
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Blocker())
import importlib.util
real = importlib.util.find_spec
def find_spec(name, package=None):
    return None if name.partition(".")[0] in EXTRAS else real(name, package)
importlib.util.find_spec = find_spec
"""


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", _BLOCKER + code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def elmore(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run("from elmore.cli.main import main; main()", *arguments)


@pytest.mark.slow
def test_every_module_can_be_imported() -> None:
    code = """
from importlib import import_module
from pkgutil import walk_packages
import elmore
names = [
    m.name
    for m in walk_packages(elmore.__path__, "elmore.")
    if m.name not in ("elmore.__main__", "elmore.integrations.spacy")
    and not m.name.startswith("elmore.serve.")  # extras themselves
]
for name in names:
    import_module(name)
print(len(names), *sorted(EXTRAS & sys.modules.keys()))
"""
    done = run(code)
    assert done.stderr == ""
    assert int(done.stdout) > 100  # and no extra behind it


@pytest.mark.slow
def test_every_command_has_its_help() -> None:
    code = """
from elmore.cli.main import run
for verb in sys.argv[1:]:
    assert run([verb, "--help"]) == 0, verb
"""
    verbs = list(COMMANDS)
    done = run(code, *verbs)
    assert done.stderr == ""
    for verb in verbs:
        assert f"Usage: elmore {verb}" in done.stdout
    assert "Korean sentences are rebuilt from the morphemes" in " ".join(done.stdout.split())


def test_training_and_perplexity_do_without_torch(tmp_path: Path) -> None:
    text, out = write_text(tmp_path / "text.txt"), tmp_path / "run"
    code = """
EXTRAS.add("torch")
from elmore.cli.main import main
try:
    main()
finally:
    assert "torch" not in sys.modules
"""
    done = run(code, "pretrain", text, "--out", out, *small_flags(n_epochs=0.5, held_out=0.1))
    assert done.returncode == 0, done.stderr
    assert (out / "model/config.json").exists()
    assert not (out / "tensorboard").exists()
    done = run(code, "perplexity", out / "model", text)
    assert done.returncode == 0, done.stderr


def test_a_mistyped_command_is_one_line() -> None:
    done = elmore("embd", "x")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "embed" in done.stderr


def test_a_task_names_the_line_to_install(tmp_path: Path) -> None:
    examples = tmp_path / "texts.tsv"
    examples.write_text("text\tlabel\na\tb\n")
    done = elmore("train", "classify", "--train", examples, "--out", tmp_path / "task")
    assert done.returncode == 2
    assert done.stderr == (
        "elmore: elmore.tasks.Classifier needs an extra: pip install 'elmore[tasks]'\n"
    )


def test_a_probe_names_it_before_it_reads_anything(tmp_path: Path) -> None:
    done = elmore("probe", "--train", tmp_path / "none", "--dev", tmp_path / "none")
    assert done.returncode == 2
    assert done.stderr == "elmore: a probe needs an extra: pip install 'elmore[senses]'\n"


def test_a_server_names_it_before_it_loads_anything() -> None:
    done = elmore("serve", "--model", "none")
    assert done.returncode == 2
    assert done.stderr == "elmore: elmore serve needs an extra: pip install 'elmore[serve]'\n"


def test_spacys_component_names_the_line_to_install() -> None:
    done = run("import elmore.integrations.spacy")
    assert done.returncode == 1
    assert done.stderr.endswith(
        "elmore.integrations.spacy needs an extra: pip install 'elmore[spacy]'\n"
    )


def test_a_vectorizer_names_the_line_to_install() -> None:
    done = run("import elmore; elmore.ElmoVectorizer('en')")
    assert done.returncode == 1
    assert done.stderr.endswith(
        "elmore.ElmoVectorizer needs an extra: pip install 'elmore[sklearn]'\n"
    )


@pytest.mark.slow
def test_the_tests_of_integrations_are_skipped_with_their_reason() -> None:
    code = """
import pytest
sys.exit(pytest.main(["-q", "-rs", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""
    files = sorted((ROOT / "tests/integrations").glob("test_*.py"))
    done = run(code, *files)
    skipped = dict(re.findall(r"^SKIPPED \[1\] (\S+?):\d+: (.+)$", done.stdout, flags=re.M))
    assert {Path(file).name: reason for file, reason in skipped.items()} == {
        "test_onnx.py": "needs the extra onnx",
        "test_onnx_javascript.py": "needs the extra onnx",
        "test_sklearn.py": "needs the extra sklearn",
        "test_spacy.py": "needs the extra spacy",
        "test_vector_stores.py": "needs the extra parquet",
    }
    assert len(files) == len(skipped)
