"""Does a task want all layers? The paper's Table 2, on a task of yours.

    python -m paper.layer_weights --task tag --train train.conll --dev dev.conll \\
        --static glove.6B.50d.txt --out build/layers

Trains a task with static vectors alone, with ELMo's last layer, and with all layers, their weights
kept almost equal (lambda 1) or free to differ (lambda 0.001). Stopped, the same command resumes.
"""

from pathlib import Path

from paper.report import Results, run
from paper.tasks import Task, compare_beside_paper, read_task, task_arguments

VARIANTS = {
    "baseline": "static",
    "last only": "top",
    "all, lambda 1": "uniform",
    "all, lambda 0.001": "static+elmo",
}
PUBLISHED = {
    "SQuAD": (80.8, 84.7, 85.0, 85.2),
    "SNLI": (88.1, 89.1, 89.3, 89.5),
    "SRL": (81.6, 84.1, 84.6, 84.8),
}


def layer_weights(task: Task, out: Path, *, n_seeds: int) -> Results:
    """Train the variants."""
    title = "dev score by the layers mixed, %"
    return compare_beside_paper(
        task, out, title=title, variants=VARIANTS, n_seeds=n_seeds, published=PUBLISHED
    )


if __name__ == "__main__":
    asked = task_arguments(__doc__).parse_args()
    run(lambda: layer_weights(read_task(asked), asked.out, n_seeds=asked.n_seeds), asked)
