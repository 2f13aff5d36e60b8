"""Which compiler makes the kernels; it takes only instructions that every processor has."""

import importlib.util
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from compile_kernels import FLAGS, KERNELS, c_compiler

ZIG = [sys.executable, "-m", "ziglang", "cc"]


@pytest.fixture
def only_zig(monkeypatch):
    """A machine without a C compiler, with the package ziglang."""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())


def test_cc_chooses_the_compiler(monkeypatch):
    monkeypatch.setenv("CC", "ccache gcc-15")
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    assert c_compiler() == ["ccache", "gcc-15"]


@pytest.mark.usefixtures("only_zig")
def test_zig_is_told_that_other_processors_run_it_too():
    assert c_compiler() == [*ZIG, "-mcpu=baseline"]
    assert c_compiler("aarch64-macos.11.0") == [*ZIG, "-target", "aarch64-macos.11.0"]


def test_nothing_compiles_where_there_is_no_compiler(monkeypatch, only_zig):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert c_compiler() is None


@pytest.mark.skipif(platform.machine() != "x86_64", reason="looks for AVX")
def test_plain_c_is_compiled_without_avx(tmp_path):
    if not (compiler := c_compiler()) or not shutil.which("objdump"):
        pytest.skip("needs a C compiler and objdump")
    plain = [*FLAGS, "-DVARIANT=generic", "-c", KERNELS / "variant.c", "-o", tmp_path / "plain.o"]
    subprocess.run([*compiler, *map(str, plain)], check=True)
    code = subprocess.run(
        ["objdump", "-d", tmp_path / "plain.o"], capture_output=True, text=True, check=True
    ).stdout
    assert "xmm" in code
    assert "ymm" not in code
    assert "zmm" not in code
