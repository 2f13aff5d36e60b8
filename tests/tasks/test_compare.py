"""A comparison is of vectors, and of nothing else."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmore import Elmo, StaticVectors
from elmore.errors import ConfigError
from elmore.tasks import Classifier, Examples, PairClassifier
from elmore.tasks.compare import RESULTS, compare
from elmore.tasks.estimator import TaskModel

TOKENS = [("good,film",), ("bad", "film")]
"""As words between spaces; what task models have without a biLM would part the comma."""


@pytest.mark.parametrize(
    ("task", "raw", "expected"),
    [
        (Classifier, ["good,film", "bad film"], TOKENS),
        (PairClassifier, [("good,film", "bad film")] * 2, [tuple(TOKENS)] * 2),
    ],
)
def test_all_variants_read_the_tokens_of_the_bilm(
    task: type[TaskModel], raw: list[Any], expected: list[Any],
    monkeypatch: pytest.MonkeyPatch, tiny_model: Path, tmp_path: Path,
) -> None:  # fmt: skip
    given = []
    fit = task.fit
    monkeypatch.setattr(
        task,
        "fit",
        lambda self, some, **options: (
            given.append((some.X, options["dev"].X)) or fit(self, some, **options)
        ),
    )
    elmo = Elmo.from_pretrained(tiny_model, tokenizer="whitespace")
    static = StaticVectors(["bad", "film"], np.eye(2, dtype=np.float32))
    examples = Examples(raw * 4, ["yes", "no"] * 4)
    runs = compare(
        task(elmo, static, hidden_dim=4, n_epochs=1), examples, examples, tmp_path / "out",
        variants=["static", "elmo"], n_seeds=1,
    )  # fmt: skip
    assert [run.variant for run in runs] == ["static", "elmo"]
    assert given == [(expected * 4, expected * 4)] * 2


def test_runs_of_other_vectors_or_examples_are_not_mixed_in(tmp_path: Path) -> None:
    examples = Examples(["good film", "bad film"] * 6, ["yes", "no"] * 6)
    path, folder = tmp_path / "vectors.txt", tmp_path / "out"

    def run(n_seeds: int, number: float = 1.0, train: Examples = examples) -> int:
        vectors = number * np.eye(3, dtype=np.float32)
        StaticVectors(["good", "bad", "film"], vectors).write_text(path)
        model = Classifier(None, path, hidden_dim=4, n_epochs=1)
        return len(compare(model, train, examples, folder, variants=["static"], n_seeds=n_seeds))

    assert run(1) == 1
    kept = (folder / RESULTS).read_bytes()
    for what, changes in (("static", {"number": 2.0}), ("examples", {"train": examples[:8]})):
        with pytest.raises(ConfigError, match=rf"holds another comparison \({what} differs\)"):
            run(2, **changes)
        assert (folder / RESULTS).read_bytes() == kept
    assert run(2) == 2


def test_a_variant_with_a_bilm_needs_one(tmp_path: Path) -> None:
    examples = Examples(["good film", "bad film"] * 4, ["yes", "no"] * 4)
    static = StaticVectors(["good", "bad"], np.eye(2, dtype=np.float32))
    with pytest.raises(ConfigError, match="variant 'elmo' needs a biLM; name a model"):
        compare(
            Classifier(None, static), examples, examples, tmp_path / "out",
            variants=["static", "elmo"], n_seeds=1,
        )  # fmt: skip
    assert not (tmp_path / "out").exists()


def test_few_examples_are_of_the_whole_file() -> None:
    examples = Examples(list("abcdefghij"), list("ABCDEFGHIJ"))
    assert examples.at_most(3) == Examples(["a", "d", "g"], ["A", "D", "G"])
    assert examples.at_most(9).X[-1] == "i"
    assert examples.at_most(10) is examples.at_most(None) is examples
