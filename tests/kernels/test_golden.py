"""The same bits on every processor: golden.c, run natively, by qemu and by wine.

golden.txt holds what it prints, once for all variants.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from elmore.kernels.library import available_variants

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
from compile_kernels import compile_kernels  # noqa: E402

EXPECTED = (HERE / "golden.txt").read_text()
needs_gcc = pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")


def compiled(folder: Path, compiler: list[str], *flags: str, library: Path | None = None) -> Path:
    """Compile golden.c, with a library of its own or with the kernels in it."""
    program = folder / "golden.exe"
    linked = [str(library), f"-Wl,-rpath,{folder}"] if library else []
    command = [*compiler, "-std=c11", "-O1", "-w", *flags, str(HERE / "golden.c"), *linked]
    subprocess.run([*command, "-o", str(program), "-lm"], check=True)
    return program


def printed(*command: object) -> str:
    done = subprocess.run([str(x) for x in command], capture_output=True, text=True, check=True)
    return done.stdout


@needs_gcc
def test_all_variants_of_this_processor(tmp_path):
    program = compiled(tmp_path, ["gcc"], library=compile_kernels(tmp_path))
    for variant in available_variants():
        assert printed(program, variant) == EXPECTED


@needs_gcc
def test_nothing_is_read_or_written_out_of_bounds(tmp_path, monkeypatch):
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")
    sanitizers = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    library = compile_kernels(tmp_path, flags=sanitizers)
    program = compiled(tmp_path, ["gcc"], *sanitizers, library=library)
    for variant in available_variants():
        assert printed(program, variant) == EXPECTED


@pytest.mark.slow
def test_arm64_by_qemu(tmp_path):
    skip_without("aarch64-linux-gnu-gcc", "qemu-aarch64-static")
    compiler = ["aarch64-linux-gnu-gcc"]
    library = compile_kernels(tmp_path, "aarch64-linux-gnu", compiler=compiler)
    program = compiled(tmp_path, compiler, library=library)
    for variant in ("neon", "generic"):
        run = ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu", program, variant]
        assert printed(*run) == EXPECTED


@pytest.mark.slow
def test_windows_by_wine(tmp_path, monkeypatch):
    wine = "/usr/lib/wine/wine64"
    skip_without("x86_64-w64-mingw32-gcc", wine)
    monkeypatch.setenv("WINEPREFIX", str(tmp_path / "wine"))
    monkeypatch.setenv("WINEDEBUG", "-all")
    compiler = ["x86_64-w64-mingw32-gcc"]
    library = compile_kernels(tmp_path, "x86_64-windows-gnu", compiler=compiler)
    program = compiled(tmp_path, compiler, library=library)
    for variant in available_variants():
        assert printed(wine, program, variant).replace("\r\n", "\n") == EXPECTED


def skip_without(*programs: str) -> None:
    for program in programs:
        if not shutil.which(program):
            pytest.skip(f"needs {program}, which tools/bootstrap.py installs on Debian")
