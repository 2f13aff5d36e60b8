"""Where does ELMo belong in a task's network? The paper's Table 3, on a task of yours.

    python -m paper.places --task tag --train train.conll --dev dev.conll \\
        --static glove.6B.50d.txt --out build/places

Trains a task with ELMo at the input of its RNN, beside its output, and in both places. Stopped, the
same command resumes.
"""

from pathlib import Path

from paper.report import Results, run
from paper.tasks import Task, compare_beside_paper, read_task, task_arguments

VARIANTS = {"input only": "static+elmo", "input and output": "both", "output only": "output"}
PUBLISHED = {
    "SQuAD": (85.1, 85.6, 84.8),
    "SNLI": (88.9, 89.5, 88.7),
    "SRL": (84.7, 84.3, 80.9),
}


def places(task: Task, out: Path, *, n_seeds: int) -> Results:
    """Train the variants."""
    title = "dev score by where ELMo is added, %"
    variants = VARIANTS
    if task.model.where == "both":  # as question answering has it
        variants = VARIANTS | {"input only": "input", "input and output": "static+elmo"}
    return compare_beside_paper(
        task, out, title=title, variants=variants, n_seeds=n_seeds, published=PUBLISHED
    )


if __name__ == "__main__":
    asked = task_arguments(__doc__).parse_args()
    run(lambda: places(read_task(asked), asked.out, n_seeds=asked.n_seeds), asked)
