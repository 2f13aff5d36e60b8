"""Run every measurement of the paper that the data at hand allows, and put its table into a page.

    python -m paper --data PATH --out build/paper --page docs/results.md

Each measurement is a command of its own (python -m paper.NAME --help). Its table is written to
--out as JSON; in the page it stands between <!-- paper:NAME --> and <!-- /paper:NAME -->, if these
are there. What is in --out already is not measured again, so a run that was stopped goes on.
"""

import re
import subprocess
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from dataclasses import dataclass
from pathlib import Path

from elmore.folders import read_json
from paper.report import Results, say_errors

GLOVE = "static/glove.6B.50d.top40k.txt.xz"
CHUNKS = ("--task", "tag", "--train", "@tasks/conll2000/train.txt", "--dev",
          "@tasks/conll2000/dev.txt", "--static", f"@{GLOVE}", "--max-train", "2000",
          "--max-dev", "500", "--n-epochs", "8", "--n-seeds", "1")  # fmt: skip


@dataclass(frozen=True)
class Measurement:
    """One command; arguments that begin with @ are paths in the data."""

    name: str
    module: str
    arguments: tuple[str, ...]

    def needs(self, data: Path) -> list[Path]:
        """Return the paths that it reads."""
        return [data / argument[1:] for argument in self.arguments if argument.startswith("@")]

    def command(self, data: Path, out: Path) -> list[str]:
        """Return the command line."""
        given = [
            str(data / argument[1:]) if argument.startswith("@") else argument
            for argument in self.arguments
        ]
        if self.module in ("layer_weights", "places", "sample_efficiency"):
            given += ["--out", str(out / self.name)]
        return [
            sys.executable, "-m", f"paper.{self.module}", *given,
            "--json", str(out / f"{self.name}.json"),
        ]  # fmt: skip


MEASUREMENTS = (
    Measurement("senses-en", "coarse_senses", ("--data", "@tasks/coarsewsd20")),
    Measurement("wic-en", "word_in_context", ("--data", "@tasks/wic-en")),
    Measurement("wic-ko", "word_in_context", ("--model", "ko", "--data", "@tasks/kobest-wic")),
    Measurement("pos-en", "pos_probe", ("--data", "@tasks/ud-english-ewt")),
    Measurement("pos-ko", "pos_probe", ("--model", "ko", "--data", "@tasks/ud-korean-gsd")),
    Measurement(
        "all-words", "all_words", ("--data", "@tasks/wsd-eval", "--semcor", "@tasks/semcor")
    ),
    Measurement(
        "induction", "sense_induction", ("--data", "@tasks/coarsewsd20", "--static", f"@{GLOVE}")
    ),
    Measurement("layers", "layer_weights", CHUNKS),
    Measurement("places", "places", CHUNKS),
    Measurement("efficiency", "sample_efficiency", CHUNKS),
)


def markdown(results: Results) -> str:
    """Return a table for a page."""
    lines = [f"| {results.title} | {' | '.join(results.columns)} |"]
    lines.append("|---" * (len(results.columns) + 1) + "|")
    for name, row in results.rows.items():
        cells = (f"{number * results.scale:.{results.digits}f}" for number in row)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def insert(page: str, name: str, table: str) -> str:
    """Put a table between its two marks; without them the page stays as it is."""
    marks = f"<!-- paper:{name} -->", f"<!-- /paper:{name} -->"
    pattern = re.escape(marks[0]) + ".*?" + re.escape(marks[1])
    return re.sub(pattern, lambda _: f"{marks[0]}\n{table}\n{marks[1]}", page, flags=re.DOTALL)


def main() -> None:
    """Measure what can be measured."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of all data")
    parser.add_argument("--out", type=Path, default=Path("build/paper"))
    parser.add_argument("--page", type=Path, help="the page to put the tables into")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    with say_errors():
        for one in MEASUREMENTS:
            missing = [str(path) for path in one.needs(given.data) if not path.exists()]
            if missing:
                print(f"{one.name}: left out, there is no {', '.join(missing)}")
                continue
            path = given.out / f"{one.name}.json"
            if not path.exists():
                print(f"{one.name}:", flush=True)
                subprocess.run(one.command(given.data, given.out), check=True)
            content = read_json(path)
            del content["model"]
            if given.page is not None:
                page = given.page.read_text("utf-8")
                given.page.write_text(insert(page, one.name, markdown(Results(**content))), "utf-8")


if __name__ == "__main__":
    main()
