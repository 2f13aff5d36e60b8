"""`elmore pretrain`: text files to a trained model folder."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from elmore.cli import arguments
from elmore.cli.bars import TrainingBar, preparing_bar
from elmore.cli.recipe_flags import NO_FLAGS, RecipeFlags, changes
from elmore.corpus.lines import MAX_LINE_BYTES
from elmore.errors import ConfigError


def pretrain(
    *texts: Annotated[str, Parameter(allow_leading_hyphen=True)],
    out: Annotated[Path, Parameter(alias="-o")],
    recipe: str | None = None,
    start: Annotated[str | None, Parameter(name="--from")] = None,
    new_vocabulary: Annotated[bool, Parameter(negative="")] = False,
    processes: Annotated[int | None, Parameter(converter=arguments.whole_number)] = None,
    max_line_bytes: arguments.MaxLineBytes = MAX_LINE_BYTES,
    flags: Annotated[RecipeFlags, Parameter(name="*")] = NO_FLAGS,  # type: ignore[valid-type]
) -> None:
    """Train a biLM on your own text; the same command again resumes where it stopped.

    Parameters
    ----------
    texts
        Files: .txt (one text per line), .jsonl, .csv, .tsv or .parquet, also compressed, also at
        URLs such as s3://bucket/*.zst; `-` is standard input. Without any, an unfinished run is
        resumed.
    out
        The folder of the run; the trained model is written to its folder "model".
    recipe
        tiny, small-cpu, original, or a TOML file; each of its fields is also a flag. Default: the
        recipe of the run that is resumed; small-cpu for a new one.
    start
        A trained model to start from: a folder, a bundled name or hf://owner/name.
    new_vocabulary
        With --from: build the vocabulary of the softmax from the new text; the rows of words
        that the model has are kept.
    processes
        Processes that prepare the text; default: one for each core.
    """
    from elmore.formats import read_pretrained
    from elmore.pretrain.initial_network import Start, check_start, recipe_of_start
    from elmore.pretrain.recipes import read_recipe
    from elmore.pretrain.run import MODEL, recipe_of_run
    from elmore.pretrain.run import pretrain as run_pretraining
    from elmore.stores import as_paths

    given = changes(flags)
    recipe = recipe or recipe_of_run(out) or "small-cpu"
    begin = None
    if start is None:
        if new_vocabulary:
            raise ConfigError("--new-vocabulary goes with --from")
        chosen = read_recipe(recipe, given)
    else:
        begin = Start(read_pretrained(start), new_vocabulary)
        check_start(begin, start)
        chosen = recipe_of_start(recipe, given, begin)
    is_first = os.environ.get("RANK", "0") == "0"
    with (
        preparing_bar(shown=is_first) as preparing,
        TrainingBar(shown=is_first) as training,
    ):
        found = run_pretraining(
            as_paths(texts),
            out,
            chosen,
            start=begin,
            n_processes=arguments.n_processes(processes),
            max_line_bytes=max_line_bytes,
            on_progress=preparing.tell,
            on_update=training.tell,
        )
    if is_first:
        sys.stdout.write(_summary(found, out / MODEL))


def _summary(run: Any, folder: Path) -> str:
    lines = [f"{folder}: trained for {run.seconds / 60:.1f} minutes\n"]
    if run.held_out is not None:
        score = run.held_out
        lines.append(
            f"held-out perplexity (full softmax): forward {score.forward:.1f}, backward "
            f"{score.backward:.1f}; {100 * score.unknown_rate:.1f} % of the words unknown\n"
        )
    return "".join(lines)
