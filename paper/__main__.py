"""Run the measurements of the paper that the data at hand allows, and put their tables into a page.

    python -m paper --data PATH --out build/paper --page docs/results.md
    python -m paper --data PATH --only gains-answer layers-answer

Each measurement is a command of its own (python -m paper.NAME --help). Its table is written to
--out as JSON; in the page it stands between <!-- paper:NAME --> and <!-- /paper:NAME -->, if these
are there. What is in --out already is not measured again, so a run that was stopped resumes. The
paper's Table 4 needs an index and is not among them: python -m paper.neighbours.
"""

import re
import subprocess
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from dataclasses import dataclass
from pathlib import Path

from elmore.folders import read_json
from paper.report import Results, say_errors

GLOVE = "@static/glove.6B.50d.top40k.txt.xz"
GLOVE_100 = "@static/glove.6B.100d.top80k.txt.xz"
CHUNKS = ("--task", "tag", "--train", "@tasks/conll2000/train.txt", "--dev",
          "@tasks/conll2000/dev.txt", "--format", "conll", "--static", GLOVE,
          "--max-train", "2000", "--max-dev", "500", "--n-epochs", "8",
          "--n-seeds", "1")  # fmt: skip
NAMES = ("--task", "tag", "--train", "@tasks/wikiann-en/train", "--dev", "@tasks/wikiann-en/dev",
         "--format", "wikiann", "--static", GLOVE, "--max-train", "5000", "--max-dev", "2000",
         "--n-epochs", "12")  # fmt: skip
QUESTIONS = ("--task", "classify", "--train", "@tasks/trec/TREC.train.all", "--format", "trec",
             "--static", GLOVE)  # fmt: skip
ANSWERS = ("--task", "answer", "--train", "@tasks/squad/train.json.xz", "--dev",
           "@tasks/squad/dev.json.xz", "--static", GLOVE_100, "--max-train", "2500",
           "--max-dev", "500", "--n-epochs", "7", "--settings", "batch_size=16",
           "max_tokens=200", "--out", "%answers")  # fmt: skip
COREFERENCE = ("--task", "coref", "--train", "@tasks/litbank-coref/train.conll.xz", "--dev",
               "@tasks/litbank-coref/dev.conll.xz", "--static", GLOVE_100, "--n-epochs", "16",
               "--settings", "max_sentences=20", "spans_per_token=0.25", "max_antecedents=100",
               "--out", "%coreference")  # fmt: skip
ONE_SEED, THREE_SEEDS = ("--n-seeds", "1"), ("--n-seeds", "3")
SENTIMENT = ("--task", "classify", "--train", "@tasks/sst/stsa.fine.train", "--dev",
             "@tasks/sst/stsa.fine.dev", "--format", "lines", "--static", GLOVE,
             "--max-train", "4000", "--n-epochs", "8")  # fmt: skip
REVIEWS = ("--task", "classify", "--train", "@tasks/nsmc-like/train.tsv.xz", "--text-field",
           "document", "--model", "ko", "--max-train", "5000", "--max-dev", "2000",
           "--n-epochs", "6")  # fmt: skip


@dataclass(frozen=True)
class Measurement:
    """One command; an argument that begins with @ is a path in the data, one with % in --out."""

    name: str
    module: str
    arguments: tuple[str, ...]

    def needs(self, data: Path) -> list[Path]:
        """Return the paths of the data that it reads."""
        return [data / argument[1:] for argument in self.arguments if argument.startswith("@")]

    def command(self, data: Path, out: Path) -> list[str]:
        """Return the command line."""
        folders = {"@": data, "%": out}
        given = [
            str(folders[argument[0]] / argument[1:]) if argument[0] in folders else argument
            for argument in self.arguments
        ]
        table = ["--json", str(out / f"{self.name}.json")]
        return [sys.executable, "-m", f"paper.{self.module}", *given, *table]


MEASUREMENTS = (
    Measurement("senses-en", "coarse_senses", ("--data", "@tasks/coarsewsd20")),
    Measurement("wic-en", "word_in_context", ("--data", "@tasks/wic-en")),
    Measurement("wic-ko", "word_in_context", ("--model", "ko", "--data", "@tasks/kobest-wic")),
    Measurement("pos-en", "pos_probe", ("--data", "@tasks/ud-english-ewt")),
    Measurement("pos-ko", "pos_probe", ("--model", "ko", "--data", "@tasks/ud-korean-gsd")),
    Measurement(
        "all-words", "all_words", ("--data", "@tasks/wsd-eval", "--semcor", "@tasks/semcor")
    ),
    Measurement("induction", "sense_induction", ("--data", "@tasks/coarsewsd20")),
    Measurement("fill-en", "fill", ("--data", "@corpora/enwiki.txt.xz")),
    Measurement("fill-ko", "fill", ("--model", "ko", "--data", "@corpora/kowiki.txt.xz")),
    Measurement("layers", "layer_weights", (*CHUNKS, "--out", "%chunks")),
    Measurement("places", "places", (*CHUNKS, "--out", "%chunks")),
    Measurement("gains-answer", "gains", ANSWERS),
    Measurement("layers-answer", "layer_weights", (*ANSWERS, *ONE_SEED)),
    Measurement("places-answer", "places", (*ANSWERS, *ONE_SEED)),
    Measurement("mixes-answer", "mix_weights", ("%answers", "--out", "%mixes-answer.png")),
    Measurement("gains-coref", "gains", COREFERENCE),
    Measurement("layers-coref", "layer_weights", (*COREFERENCE, *ONE_SEED)),
    Measurement("places-coref", "places", (*COREFERENCE, *ONE_SEED)),
    Measurement("mixes-coref", "mix_weights", ("%coreference", "--out", "%mixes-coref.png")),
    Measurement("tuning-sst", "fine_tuning", (*SENTIMENT, "--out", "%tuning-sst")),
    Measurement(
        "tuning-trec", "fine_tuning", (*QUESTIONS, "--n-epochs", "10", "--out", "%tuning-trec")
    ),
    Measurement("tuning-chunks", "fine_tuning", (*CHUNKS, *THREE_SEEDS, "--out", "%tuning-chunks")),
    Measurement("tuning-reviews", "fine_tuning", (*REVIEWS, "--out", "%tuning-reviews")),
    Measurement("mixes", "mix_weights", ("%chunks", "--out", "%mixes.png")),
    Measurement("efficiency-tag", "sample_efficiency", (*NAMES, "--out", "%efficiency-tag")),
    Measurement("spacy-ner", "spacy_ner", ("--data", "@tasks/wikiann-en")),
    Measurement("sentence-vectors", "sentence_vectors", ("--data", "@tasks/trec")),
    Measurement(
        "efficiency-classify", "sample_efficiency", (*QUESTIONS, "--out", "%efficiency-classify")
    ),
)


def markdown(results: Results) -> str:
    """Return a table for a page."""
    lines = [f"| {results.title} | {' | '.join(results.columns)} |"]
    lines.append("|---" * (len(results.columns) + 1) + "|")
    for name, row in results.rows.items():
        cells = (f"{number * results.scale:.{results.digits}f}" for number in row)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", results.note] if results.note else lines)


def insert(page: str, name: str, table: str) -> str:
    """Put a table between its two marks; without them the page stays as it is."""
    marks = f"<!-- paper:{name} -->", f"<!-- /paper:{name} -->"
    pattern = re.escape(marks[0]) + ".*?" + re.escape(marks[1])
    return re.sub(pattern, lambda _: f"{marks[0]}\n{table}\n{marks[1]}", page, flags=re.DOTALL)


def main() -> int:
    """Measure what can be measured; return 2 if something failed."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of all data")
    parser.add_argument("--out", type=Path, default=Path("build/paper"))
    parser.add_argument("--page", type=Path, help="the page to put the tables into")
    names = [one.name for one in MEASUREMENTS]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME",
                        help=f"some of {', '.join(names)}")  # fmt: skip
    given = parser.parse_args()
    failed = []
    with say_errors():
        given.out.mkdir(parents=True, exist_ok=True)
        for one in (one for one in MEASUREMENTS if one.name in given.only):
            path = given.out / f"{one.name}.json"
            missing = [str(needed) for needed in one.needs(given.data) if not needed.exists()]
            if missing:
                print(f"{one.name}: left out, there is no {', '.join(missing)}")
                continue
            if not path.exists():
                print(f"{one.name}:", flush=True)
                subprocess.run(one.command(given.data, given.out), check=False)
            if not path.exists():
                failed.append(one.name)
            elif given.page is not None:
                content = read_json(path)
                del content["model"]
                page = given.page.read_text("utf-8")  # others may have changed it
                given.page.write_text(insert(page, one.name, markdown(Results(**content))), "utf-8")
    if failed:
        print(f"paper: {', '.join(failed)} failed; see above", file=sys.stderr)
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
