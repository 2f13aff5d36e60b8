"""`elmore compare`: the same task with static vectors, with ELMo, and with both."""

import sys
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from elmore.checks import at_least
from elmore.cli import arguments
from elmore.cli.bars import FitBar
from elmore.cli.example_flags import DEFAULT_DATA, DataFlags, read_examples
from elmore.cli.task_flags import NO_FLAGS, TaskFlags, new_task
from elmore.cli.terminal import is_terminal, print_json
from elmore.tasks.settings import TaskName


def compare(
    task: TaskName,
    /,
    *,
    train: Path,
    dev: Path | None = None,
    out: Annotated[Path, Parameter(alias="-o")],
    elmo: str = "en",
    static: Path | None = None,
    variants: str = "static,static+elmo",
    n_seeds: Annotated[int, Parameter(converter=arguments.whole_number)] = 3,
    max_train: Annotated[int | None, Parameter(converter=arguments.whole_number)] = None,
    max_dev: Annotated[int | None, Parameter(converter=arguments.whole_number)] = None,
    data: Annotated[DataFlags, Parameter(name="*")] = DEFAULT_DATA,
    settings: Annotated[TaskFlags, Parameter(name="*")] = NO_FLAGS,  # type: ignore[valid-type]
) -> None:
    """Train a task with different inputs and several seeds: how much error does ELMo remove?

    A table on standard output; results.json and chart.png in --out. The same command again resumes
    where it stopped.

    Parameters
    ----------
    task
        classify, tag, pair, answer or coref.
    train
        The training set, a file of examples.
    dev
        The dev set; without it, some training examples are held out.
    out
        The folder of the comparison.
    elmo
        The biLM: a bundled name, a model folder or hf://owner/name.
    static
        Static vectors: a GloVe, word2vec or fastText file, or an elmore folder of vectors.
    variants
        Some of static, elmo, static+elmo, context (the states that predict each word as one more
        layer of the mix), top (the top layer only), uniform (almost uniform layer
        weights), input, output and both (ELMo at the RNN's input alone, its output alone, at both),
        adapted (the biLM first learns the training texts as a language model), fine-tuned (the biLM
        learns with the task) and adapted+fine-tuned, with commas; the first is the baseline.
    n_seeds
        Training runs of each variant, with different random seeds.
    max_train
        Train on so many examples only, taken at equal distances from the file.
    max_dev
        Evaluate on so many examples only, taken likewise.
    """
    from elmore.tasks.compare import compare as run_comparison
    from elmore.tasks.compare import draw, summarize
    from elmore.tasks.fit import FitEvent

    model = new_task(task, elmo, static, settings)
    model.check_settings()
    for name, most in (("max_train", max_train), ("max_dev", max_dev)):
        at_least(1, **{name: 1 if most is None else most})
    examples = read_examples(task, train, data)
    if dev is None:
        examples, dev_examples = model.hold_out(examples)
    else:
        dev_examples = read_examples(task, dev, data)

    with FitBar(model.n_epochs) as bar:

        def on_progress(variant: str, seed: int, event: FitEvent | None) -> None:
            if event is None:
                bar.begin(f"{variant}, seed {seed} of {n_seeds}")
            else:
                bar.on_progress(event)

        runs = run_comparison(
            model,
            examples.at_most(max_train),
            dev_examples.at_most(max_dev),
            out,
            variants=variants.split(","),
            n_seeds=n_seeds,
            on_progress=on_progress,
        )
    found = summarize(runs)
    metric = "score on the dev set"
    if find_spec("matplotlib"):  # an extra
        draw(found, metric, out / "chart.png")
    if not is_terminal():
        for summary in found:
            print_json(asdict(summary))
        return
    sys.stdout.write(f"{'variant':14}  {metric}   error reduction\n")
    for summary in found:
        reduction = ""
        if summary.error_reduction is not None and summary.error_reduction_sd is not None:
            reduction = (
                f"{100 * summary.error_reduction:6.1f} % ± {100 * summary.error_reduction_sd:.1f}"
            )
        score = f"{100 * summary.mean:6.2f} ± {100 * summary.sd:.2f}"
        sys.stdout.write(f"{summary.variant:14}  {score:28}   {reduction}\n")
