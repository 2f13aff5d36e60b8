"""Set up `.venv`: pip, a torch that fits, what README uses, or with --dev all extras and tools.

Standard library only, so that a bare python3 can run it. Running it again is cheap: a stamp
remembers what was installed, and nothing happens until pyproject.toml or constraints.txt changes.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from compile_kernels import is_compiled
from compile_kernels import main as compile_kernels_main

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

TORCH = "2.13.0"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"


def main() -> int:
    """Make the environment, or say that it is up to date."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--dev", action="store_true", help="with every extra and the tools")
    dev = parser.parse_args().dev
    if sys.version_info < (3, 11):  # noqa: UP036  whoever runs this file may have an older one
        print(f"elmore needs Python 3.11 or newer, this is {sys.version.split()[0]}")
        return 2

    wanted = _fingerprint()
    done = {name: VENV / f".elmore-{name}" for name in ("core", "dev")}
    if any(_is(stamp, wanted) for stamp in ([done["dev"]] if dev else done.values())):
        return 0 if is_compiled() else compile_kernels_main()
    print("setting up .venv (a minute or two)", flush=True)
    try:
        _make_venv()
        _pip("install", "--upgrade", "pip>=25.1")  # --group needs 25.1
        torch_constraint = _install_torch()
        target = (
            [".[all]", "--group", "dev"] if dev else [".[ko,pictures,senses,serve,static,tasks]"]
        )
        _pip("install", "--constraint", "constraints.txt", "--constraint", torch_constraint,
             "--editable", *target)  # fmt: skip
    except subprocess.CalledProcessError as error:
        print(f"set-up stopped: {' '.join(map(str, error.cmd))} failed; see pip's message above")
        return 2
    if dev:
        _install_programs()
    done["dev" if dev else "core"].write_text(wanted)
    return 0


def _fingerprint() -> str:
    files = (ROOT / "pyproject.toml", ROOT / "constraints.txt", Path(__file__))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files))
    digest.update(sys.version.encode())
    return digest.hexdigest()


def _is(stamp: Path, wanted: str) -> bool:
    return PYTHON.exists() and stamp.exists() and stamp.read_text() == wanted


def _make_venv() -> None:
    """Make .venv, also where Debian's python3 comes without ensurepip."""
    if _runs("-m", "pip", "--version"):
        return
    venv.create(VENV, clear=True, with_pip=False)
    if not _runs("-m", "ensurepip", "--upgrade"):
        subprocess.run([sys.executable, "-m", "pip", "--python", PYTHON, "install", "pip"],
                       check=True)  # fmt: skip


def _install_torch() -> str:
    """Install torch and return the constraint file that keeps pip from replacing it.

    On Linux the registry's newest torch brings gigabytes of CUDA. Without an NVIDIA GPU the local
    version `+cpu` is asked for instead, as pip is configured and then from PyTorch's own index.
    """
    if not _runs("-c", f"import torch; assert torch.__version__.startswith('{TORCH}')"):
        if sys.platform != "linux" or shutil.which("nvidia-smi"):
            _pip("install", f"torch=={TORCH}")
        else:
            cpu_build = f"torch=={TORCH}+cpu"
            try:
                _pip("install", cpu_build)
            except subprocess.CalledProcessError:
                _pip("install", cpu_build, "--extra-index-url", CPU_INDEX)
    frozen = subprocess.run([PYTHON, "-m", "pip", "freeze"], check=True, capture_output=True)
    torch_lines = [x for x in frozen.stdout.decode().splitlines() if x.startswith("torch==")]
    constraint = VENV / "torch-constraint.txt"
    constraint.write_text("\n".join(torch_lines) + "\n")
    return str(constraint)


def _install_programs() -> None:
    """Install Debian's chromium, iproute2, cross-compilers and emulators where they can be.

    Elsewhere the tests of the browser, of two hosts and of other processors are skipped.
    """
    packages = []
    if not Path("/usr/bin/chromium").exists():
        packages += ["chromium", "fonts-noto-cjk"]
    if not shutil.which("ip"):
        packages += ["iproute2"]
    if not shutil.which("aarch64-linux-gnu-gcc"):
        packages += ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross", "qemu-user-static"]
    if not shutil.which("x86_64-w64-mingw32-gcc"):
        packages += ["gcc-mingw-w64-x86-64", "wine64"]
    if not packages or not shutil.which("apt-get") or os.geteuid() != 0:
        return
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        subprocess.run(["apt-get", *command], check=False, capture_output=True)


def _runs(*arguments: str) -> bool:
    """Whether the environment's Python is there and runs this without an error."""
    return (
        PYTHON.exists()
        and not subprocess.run([PYTHON, *arguments], check=False, capture_output=True).returncode
    )


def _pip(*arguments: str) -> None:
    subprocess.run([PYTHON, "-m", "pip", *arguments, "--quiet"], check=True, cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
