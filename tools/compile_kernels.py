"""Compile the kernels (src/elmore/kernels) for this machine, or for a target of `zig cc`.

    python tools/compile_kernels.py [TARGET]        # such as aarch64-linux-gnu.2.17

Standard library only: the build hook of the package uses it before anything is installed. The C
compiler is $CC, the machine's, or zig's, which `pip install ziglang` brings.
"""

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[1] / "src" / "elmore" / "kernels"

FLAGS = ["-std=c11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden",
         "-Wall", "-Wextra"]  # fmt: skip
# The instruction sets of each processor, with what selects them in vec.h. In float32 all give the
# same bits.
VARIANTS = {
    "x86_64": {
        "avx512_bf16": ["-DELMORE_AVX512", "-DELMORE_BFLOAT16", "-mavx512f", "-mavx512bf16"],
        "avx512": ["-DELMORE_AVX512", "-mavx512f"],
        "avx2": ["-DELMORE_AVX2", "-mavx2", "-mfma", "-mf16c"],
        "generic": [],
    },
    "aarch64": {"neon": ["-DELMORE_NEON"], "generic": []},
}


def main() -> int:
    """Compile into the source tree."""
    if c_compiler(target := sys.argv[1] if len(sys.argv) > 1 else None) is None:
        print("found no C compiler; install gcc or clang, or: pip install ziglang")
        return 2
    print(compile_kernels(KERNELS, target))
    return 0


def compile_kernels(
    folder: Path,
    target: str | None = None,
    *,
    compiler: list[str] | None = None,
    flags: tuple[str, ...] = (),
) -> Path:
    """Compile the library into a folder, by a compiler and with more flags for it if given."""
    compiler = compiler or c_compiler(target)
    assert compiler is not None
    system, machine = system_of(target)
    library = folder / library_name(system)
    with tempfile.TemporaryDirectory(dir=folder) as work:
        sources: dict[str, tuple[str, list[str]]] = {"library": ("library.c", [])}
        for name, selected in VARIANTS.get(machine, {"generic": []}).items():
            sources[name] = ("variant.c", [f"-DVARIANT={name}", *selected])
        common = [*FLAGS, *flags, *([] if system == "windows" else ["-fPIC"])]
        for name, (source, selected) in sources.items():
            run(*compiler, *common, *selected, "-c", KERNELS / source, "-o", f"{work}/{name}.o")
        objects = [f"{work}/{name}.o" for name in sources]
        math = [] if system == "windows" else ["-lm"]
        run(*compiler, "-shared", *flags, *objects, *math, "-o", f"{work}/{library.name}")
        Path(work, library.name).replace(library)  # whole or not at all
    return library


def system_of(target: str | None) -> tuple[str, str]:
    """Return the system (linux, macos or windows) and the processor of a target."""
    if target is None:
        system, machine = platform.system().lower(), platform.machine().lower()
    else:
        machine, system = target.split("-")[:2]
    system = {"darwin": "macos"}.get(system, system.partition(".")[0])
    return system, {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)


def is_compiled() -> bool:
    """Return whether the source tree has the library, not older than its sources."""
    library = KERNELS / library_name(system_of(None)[0])
    sources = [Path(__file__), *KERNELS.glob("*.[ch]")]
    return library.exists() and library.stat().st_mtime >= max(
        source.stat().st_mtime for source in sources
    )


def library_name(system: str) -> str:
    """Return what the library is called on a system."""
    endings = {"windows": ".dll", "macos": ".dylib"}
    return "elmore.kernels" + endings.get(system, ".so")


def c_compiler(target: str | None = None) -> list[str] | None:
    """Return the command of a C compiler; for a target it is zig's."""
    if target is None:
        for command in (os.environ.get("CC", ""), "cc", "gcc", "clang"):
            if command and shutil.which(command.split()[0]):
                return command.split()
    if importlib.util.find_spec("ziglang") is None:
        return None
    # Without a target zig takes all instructions of this processor, which others may not have.
    chosen = ["-target", target] if target else ["-mcpu=baseline"]
    return [sys.executable, "-m", "ziglang", "cc", *chosen]


def run(*command: object) -> None:
    """Run a command."""
    subprocess.run([str(part) for part in command], check=True)


if __name__ == "__main__":
    sys.exit(main())
