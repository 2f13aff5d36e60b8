"""Build the documentation site: python tools/site.py FOLDER; the pages are in FOLDER/site.

Zensical builds from one folder, and the pages link to others outside docs/ (the README, the model
cards). So all of them are copied to FOLDER/pages, where they are in the same places relative to
each other, and their links hold as they are. Warnings are errors.
"""

import shutil
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "mkdocs.yml"
OUTSIDE = ("*.md", "LICENSE", "CITATION.cff", "src/elmore/models/*/README.md")


def stage(folder: Path) -> None:
    """Copy the pages, the configuration, and a link to the source whose docstrings are read."""
    for name in ("pages", "site", ".cache"):
        shutil.rmtree(folder / name, ignore_errors=True)
    pages = folder / "pages"
    shutil.copytree(ROOT / "docs", pages / "docs")
    for path in (path for pattern in OUTSIDE for path in ROOT.glob(pattern)):
        copy = pages / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)
    shutil.copy(CONFIG, folder)
    if not (folder / "src").is_symlink():
        (folder / "src").symlink_to(ROOT / "src", target_is_directory=True)


def main() -> int:
    """Build; return 2 if there was a warning."""
    parser = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where to build")
    folder = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()) and not (folder / "pages").is_dir():
        print(f"{folder} holds other files; name a new folder", file=sys.stderr)
        return 2
    stage(folder)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    index = folder / "site/index.html"
    if done.returncode or not index.exists():
        print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
        print("the site was not built; see above", file=sys.stderr)
        return 2
    print(index)
    return 0


if __name__ == "__main__":
    sys.exit(main())
