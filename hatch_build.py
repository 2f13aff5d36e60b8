"""The build hook of the package: it compiles the kernels, so that every install has them.

Wheels are for one platform and any Python. ELMORE_TARGET, a target of `zig cc`, builds one for
another platform (`make wheels`). Without a C compiler the hook asks for `ziglang`, which is one.
"""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

sys.path.insert(0, str(Path(__file__).resolve().parent / "tools"))
from compile_kernels import KERNELS, c_compiler, compile_kernels

_ZIG = "ziglang>=0.13"


class KernelsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles the kernels for the wheel or, for an editable install, in the source tree."""

    def dependencies(self) -> list[str]:
        """Ask for a compiler where there is none."""
        target = os.environ.get("ELMORE_TARGET")
        return [_ZIG] if target or c_compiler() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile."""
        target = os.environ.get("ELMORE_TARGET")
        build_data["pure_python"] = False
        platform = wheel_platform(target) if target else next(sys_tags()).platform
        build_data["tag"] = f"py3-none-{platform}"
        if version == "editable":
            compile_kernels(KERNELS)
            return
        self._folder = TemporaryDirectory()
        library = compile_kernels(Path(self._folder.name), target)
        build_data["force_include"][str(library)] = f"elmore/kernels/{library.name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was compiled for the wheel."""
        if version != "editable":
            self._folder.cleanup()


def wheel_platform(target: str) -> str:
    """Return what a wheel for a target says of itself, such as manylinux_2_17_x86_64."""
    machine, system, *abi = target.split("-")
    if system == "windows":
        return "win_amd64"
    if system.startswith("macos."):  # aarch64-macos.11.0
        version = system.removeprefix("macos.").replace(".", "_")
        return f"macosx_{version}_{'arm64' if machine == 'aarch64' else machine}"
    return f"manylinux_{abi[0].removeprefix('gnu.').replace('.', '_')}_{machine}"
