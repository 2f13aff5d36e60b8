"""Put what the examples of the docs print now into their pages, after a bundled model has changed.

    python -m tests.update_docs docs/quickstart.md docs/howto/*.md

Without pages: all that have examples. Read the diff: what an example printed may also have been the
point that its text makes. An example that fails is left as it is, and so are those after it that
need its result; they are listed at the end.
"""

import doctest
import os
import sys
import tempfile
from pathlib import Path

from tests.test_docs import WITH_EXAMPLES, write_models


class Recorder(doctest.DocTestRunner):
    """Runs examples and keeps what each printed that differs from its page."""

    def __init__(self) -> None:
        super().__init__(verbose=False)
        self.printed: dict[int, str] = {}
        self.failed: list[str] = []

    def report_failure(
        self, out: object, test: doctest.DocTest, example: doctest.Example, got: str
    ) -> None:
        self.printed[example.lineno] = got

    def report_unexpected_exception(
        self, out: object, test: doctest.DocTest, example: doctest.Example, exc_info: object
    ) -> None:
        self.failed.append(f"{test.filename}, line {example.lineno + 1}")


def updated(page: Path, recorder: Recorder) -> str:
    """Return a page with what its examples print."""
    text = page.read_text(encoding="utf-8")
    names = {"__name__": "__main__"}
    test = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
    recorder.printed.clear()
    recorder.run(test, clear_globs=True)
    lines = text.splitlines(keepends=True)
    for example in reversed(test.examples):
        if example.lineno in recorder.printed:
            first = example.lineno + example.source.count("\n")
            got = recorder.printed[example.lineno].splitlines(keepends=True)
            lines[first : first + example.want.count("\n")] = [
                " " * example.indent + (line if line.strip() else "<BLANKLINE>\n") for line in got
            ]
    return "".join(lines)


def main() -> int:
    """Update the given pages; return 1 if an example failed."""
    pages = [Path(name).resolve() for name in sys.argv[1:]] or WITH_EXAMPLES
    recorder = Recorder()
    with tempfile.TemporaryDirectory() as folder:
        write_models(Path(folder))
        os.chdir(folder)
        for page in pages:
            page.write_text(updated(page, recorder), encoding="utf-8")
    sys.stdout.writelines(f"{example}\n" for example in recorder.failed)
    return 1 if recorder.failed else 0


if __name__ == "__main__":
    sys.exit(main())
