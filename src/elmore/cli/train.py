"""`elmore train`: labelled examples to a trained task."""

import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from elmore.cli.bars import FitBar
from elmore.cli.example_flags import DEFAULT_DATA, DataFlags, read_examples
from elmore.cli.task_flags import NO_FLAGS, TaskFlags, new_task
from elmore.folders import check_new, is_format
from elmore.locks import lock_of, locked
from elmore.tasks.settings import TaskName


def train(
    task: TaskName,
    /,
    *,
    train: Path,
    dev: Path | None = None,
    out: Annotated[Path, Parameter(alias="-o")],
    elmo: str = "en",
    static: Path | None = None,
    data: Annotated[DataFlags, Parameter(name="*")] = DEFAULT_DATA,
    settings: Annotated[TaskFlags, Parameter(name="*")] = NO_FLAGS,  # type: ignore[valid-type]
) -> None:
    """Train a task on your examples; the same command again resumes where it stopped.

    Parameters
    ----------
    task
        classify (a label for each text), tag (a tag for each word), pair (a label for two texts),
        answer (the part of a text that answers a question) or coref (the mentions of a document
        that refer to the same thing).
    train
        The training set, a file of examples.
    dev
        The dev set for early stopping; without it, some training examples are held out.
    out
        The folder to make.
    elmo
        The biLM: a bundled name, a model folder, hf://owner/name, or none for static vectors alone.
    static
        Static vectors to add: a GloVe, word2vec or fastText file, or an elmore folder of vectors.
    """
    from elmore.tasks.fit import remove_run
    from elmore.tasks.saved import CONFIG, FORMAT

    run = out.with_name(f"{out.name}.run")
    if out.exists() and is_format(out / CONFIG, FORMAT):
        with locked(lock_of(out), out):
            remove_run(run)  # of a program that was killed after it had saved the task
    check_new(out)
    model = new_task(task, elmo, static, settings)
    model.check_settings()
    examples = read_examples(task, train, data)
    dev_examples = None if dev is None else read_examples(task, dev, data)
    with locked(lock_of(out), out):
        try:
            with FitBar(model.n_epochs) as bar:
                model.fit(examples, dev=dev_examples, folder=run, on_progress=bar.on_progress)
        except KeyboardInterrupt:
            said = f"{run} keeps the finished epochs; the same command resumes"
            raise KeyboardInterrupt(said) from None
        model.save(out)
        remove_run(run)
    sys.stdout.write(_summary(model, out))


def _summary(model: Any, out: Path) -> str:
    progress = model.progress_
    lines = [
        f"{out}: best in epoch {progress.best_epoch} of {progress.epoch}, "
        f"dev score {100 * progress.best:.1f}\n"
    ]
    for place, mix in model.mixes.items():
        learned = ", ".join(f"{name} {weight:.2f}" for name, weight in mix.weights().items())
        lines.append(f"the mix at the {place}: {learned}\n")
    return "".join(lines)
