"""`elmore doctor`: what a text holds and what training on it will cost."""

import math
import shutil
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from elmore.cli import arguments
from elmore.cli.bars import preparing_bar
from elmore.cli.recipe_flags import NO_FLAGS, RecipeFlags, changes
from elmore.cli.terminal import is_terminal, print_json
from elmore.corpus.lines import MAX_LINE_BYTES
from elmore.errors import ConfigError


def doctor(
    *texts: Annotated[Path, Parameter(allow_leading_hyphen=True)],
    recipe: str = "small-cpu",
    processes: Annotated[int | None, Parameter(converter=arguments.whole_number)] = None,
    max_line_bytes: arguments.MaxLineBytes = MAX_LINE_BYTES,
    measure_s: float = 15.0,
    flags: Annotated[RecipeFlags, Parameter(name="*")] = NO_FLAGS,  # type: ignore[valid-type]
) -> None:
    """Check text before training on it: its statistics, the cost of training, advice.

    A report on a terminal, JSON in a pipe. All of the text is read and counted, and a few updates
    are run to measure the speed of this machine. Nothing is left on the disk.

    Parameters
    ----------
    texts
        Files: .txt (one text per line), .jsonl, .csv, .tsv or .parquet, also compressed; `-` is
        standard input.
    recipe
        tiny, small-cpu, original, or a TOML file; each of its fields is also a flag.
    processes
        Processes that tokenize the text; default: one for each core.
    measure_s
        Seconds to measure the speed of training; more give a better estimate.
    """
    from elmore.doctor.diagnosis import examine
    from elmore.doctor.report import report_facts, report_lines
    from elmore.pretrain.recipes import read_recipe

    if not 0 <= measure_s < math.inf:
        raise ConfigError(f"measure_s is {measure_s}; expected 0 or more")
    chosen = read_recipe(recipe, changes(flags))
    with preparing_bar(shown=True) as preparing:
        found = examine(
            texts,
            chosen,
            n_processes=arguments.n_processes(processes),
            max_line_bytes=max_line_bytes,
            on_progress=preparing.tell,
            measure_s=measure_s,
        )
    if is_terminal():
        width = shutil.get_terminal_size().columns
        sys.stdout.writelines(f"{line}\n" for line in report_lines(found, min(width, 100)))
    else:
        print_json(report_facts(found))
