"""The measurements of paper/ that train tasks."""

from pathlib import Path

import numpy as np
import pytest

from elmore import Elmo, StaticVectors
from elmore.errors import ConfigError, DataError
from elmore.folders import read_json
from elmore.tasks import Classifier, Coreferencer, Examples, QuestionAnswerer
from elmore.tasks.compare import RESULTS, compare
from paper.fine_tuning import fine_tuning
from paper.gains import gains
from paper.layer_weights import layer_weights
from paper.mix_weights import mix_weights
from paper.places import places
from paper.sample_efficiency import sample_efficiency, share_of
from paper.sentence_vectors import sentence_vectors
from paper.tasks import Task, read_task, task_arguments
from tests.tasks.made_examples import texts

TRAIN = Examples(["good film", "bad film", "a good one", "a bad one"] * 6, ["yes", "no"] * 12)


@pytest.fixture
def model(tiny_elmo: Elmo) -> Classifier:
    vectors = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    static = StaticVectors(["good", "bad", "film", "one", "a"], vectors)
    return Classifier(tiny_elmo, static, hidden_dim=8, n_epochs=2, batch_size=8)


def test_a_share_has_every_label() -> None:
    examples = Examples(list("abcdefghij"), ["x"] * 9 + ["y"])
    tiny = share_of(examples, 0.01)
    assert sorted(tiny.y) == ["x", "y"]
    half = share_of(examples, 0.5)
    assert len(half) == 5
    assert set(half.X) > set(tiny.X)  # a larger share holds the smaller one
    assert sorted(share_of(examples, 1.0).X) == examples.X
    tagged = Examples([["a"], ["b"], ["c"]], [["O"], ["B-X"], ["O"]])
    assert {tag for tags in share_of(tagged, 0.01).y for tag in tags} == {"O", "B-X"}


def test_sample_efficiency(model: Classifier, tmp_path: Path) -> None:
    task = Task(model, TRAIN, TRAIN[:8])
    found = sample_efficiency(task, tmp_path / "out", shares=(0.1, 1.0), n_seeds=2)
    assert found.columns == ["10 % (2)", "100 % (24)"]
    assert set(found.rows) == {"static", "static+elmo"}
    assert all(0 <= score <= 1 for row in found.rows.values() for score in row)
    assert (tmp_path / "out/chart.png").stat().st_size > 5_000


def test_mix_weights(model: Classifier, tmp_path: Path) -> None:
    variants = ("static", "static+elmo", "both")
    runs = compare(model, TRAIN, TRAIN[:8], tmp_path / "films", variants=variants, n_seeds=2)
    found = mix_weights([tmp_path / "films"], tmp_path / "mix.png")
    assert found.columns == ["layer 0", "layer 1", "layer 2", "gamma"]
    assert list(found.rows) == [
        "films, static+elmo, input", "films, both, input", "films, both, output",
    ]  # fmt: skip
    learned = [run.mixes["input"]["layer 1"] for run in runs if run.variant == "static+elmo"]
    assert found.rows["films, static+elmo, input"][1] == pytest.approx(np.mean(learned))
    assert sum(found.rows["films, both, output"][:-1]) == pytest.approx(1)
    assert (tmp_path / "mix.png").stat().st_size > 5_000
    with pytest.raises(DataError, match="expected the folder of a comparison"):
        mix_weights([tmp_path], tmp_path / "mix.png")


def test_layers_and_places_beside_the_papers(model: Classifier, tmp_path: Path) -> None:
    task = Task(model, TRAIN, TRAIN[:8])
    layers = layer_weights(task, tmp_path / "layers", n_seeds=1)
    assert layers.columns == ["baseline", "last only", "all, lambda 1", "all, lambda 0.001"]
    assert layers.rows["the paper, SRL"] == [0.816, 0.841, 0.846, 0.848]
    where = places(task, tmp_path / "places", n_seeds=1)
    assert len(where.rows["here"]) == 3
    assert where.rows["here"][0] == layers.rows["here"][3]  # the same run


def test_examples_are_kept_back_where_there_are_no_others(tmp_path: Path) -> None:
    path = tmp_path / "texts.tsv"
    path.write_text("text\tlabel\n" + "good\tyes\nbad\tno\n" * 20)
    given = ["--task", "classify", "--train", str(path), "--static", "none.txt", "--out", "out"]
    parser = task_arguments(None)
    found = read_task(parser.parse_args(given))
    assert (len(found.train), len(found.dev)) == (36, 4)
    both = read_task(parser.parse_args([*given, "--dev", str(path), "--max-dev", "7"]))
    assert (len(both.train), len(both.dev)) == (40, 7)


def test_settings_and_fields_of_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "texts.tsv"
    path.write_text("document\tlabel\n" + "good\tyes\nbad\tno\n" * 20)
    parser = task_arguments(None)
    given = ["--task", "classify", "--train", str(path), "--text-field", "document", "--out", "out"]
    found = read_task(parser.parse_args([*given, "--settings", "hidden_dim=7", "where=both"]))
    assert (found.model.hidden_dim, found.model.where, found.model.static) == (7, "both", None)
    for wrong, message in (
        ("width=3", "no setting 'width'"),
        ("hidden_dim=x", "hidden_dim is 'x'"),
    ):
        with pytest.raises(ConfigError, match=message):
            read_task(parser.parse_args([*given, "--settings", wrong]))


def test_gains_beside_the_papers(model: Classifier, tmp_path: Path) -> None:
    task = Task(model, TRAIN, TRAIN[:8])
    found = gains(task, tmp_path / "out", n_seeds=2)
    assert list(found.rows) == [
        "the paper, SST-5", "here, 24 examples", "standard deviation of 2 seeds",
    ]  # fmt: skip
    assert found.rows["the paper, SST-5"] == [0.514, 0.547, 0.033, 0.068]
    before, after, increase, _ = found.rows["here, 24 examples"]
    assert increase == pytest.approx(after - before)
    layers = layer_weights(task, tmp_path / "out", n_seeds=2)  # from the same runs
    assert layers.rows["here"][0] == before
    assert layers.rows["here"][3] == after


def test_gains_of_coreference(tiny_elmo: Elmo, tmp_path: Path) -> None:
    static = StaticVectors(["good", "bad", "film"], np.eye(3, dtype=np.float32))
    model = Coreferencer(
        tiny_elmo, static, hidden_dim=4, scorer_dim=4, n_epochs=1, spans_per_token=1.0
    )
    documents = Examples([[["good", "film"], ["film"]]] * 4, [[[(1, 2), (2, 3)]]] * 4)
    task = Task(model, documents, documents)
    assert "the paper, OntoNotes" in gains(task, tmp_path / "out", n_seeds=1).rows
    assert len(layer_weights(task, tmp_path / "out", n_seeds=1).rows["here"]) == 4
    assert len(places(task, tmp_path / "out", n_seeds=1).rows["here"]) == 3


def test_fine_tuning_beside_a_frozen_model(language_model: Path, tmp_path: Path) -> None:
    model = Classifier(language_model, None, hidden_dim=8, n_epochs=2, batch_size=8)
    task = Task(model, texts(40), texts(8))
    found = fine_tuning(task, tmp_path / "out", n_seeds=2)
    assert list(found.rows) == ["frozen", "frozen, adapted to the texts", "unfrozen gradually"]
    runs = read_json(tmp_path / "out" / RESULTS)["runs"]
    assert [run["variant"] for run in runs] == ["elmo", "adapted", "fine-tuned"] * 2
    for run in runs:
        assert len(run["epochs_s"]) == run["n_epochs"]
        assert min(run["epochs_s"]) > 0
    assert len({tuple(row) for row in found.rows.values()}) == 3
    with pytest.raises(ConfigError, match="'static' needs static vectors"):
        gains(task, tmp_path / "other", n_seeds=1)


def test_sentence_vectors(tiny_elmo: Elmo) -> None:
    found = sentence_vectors(tiny_elmo, TRAIN, n_folds=2)
    assert list(found.rows) == [
        "tf-idf", "ELMo, layer 0", "ELMo, layer 1", "ELMo, layer 2", "ELMo, mix",
    ]  # fmt: skip
    assert found.rows["tf-idf"] == [1.0, 0.0]


def test_spacy_ner(tiny_model: Path, tmp_path: Path) -> None:
    pytest.importorskip("spacy", reason="needs the extra spacy")
    from paper.spacy_ner import spacy_ner

    for split in ("train", "dev"):
        (tmp_path / split).write_text("en:Kim\tB-PER\nen:left\tO\nen:Seoul\tB-LOC\n\n" * 9)
    sizes = {"n_train": 6, "n_dev": 3, "n_test": 4}
    found = spacy_ner(str(tiny_model), tmp_path, **sizes, max_steps=60, eval_frequency=20)
    assert list(found.rows) == ["spaCy's default", "ELMo", "both"]
    assert found.rows["spaCy's default"] == [1.0, 1.0, 1.0]
    twice = spacy_ner(str(tiny_model), tmp_path, **sizes, n_seeds=2, max_steps=1, eval_frequency=1)
    assert {len(numbers) for numbers in twice.rows.values()} == {len(twice.columns)} == {4}


def test_places_of_a_task_that_has_elmo_in_both(tiny_elmo: Elmo, tmp_path: Path) -> None:
    vectors = np.eye(3, dtype=np.float32)
    static = StaticVectors(["good", "bad", "film"], vectors)
    model = QuestionAnswerer(
        tiny_elmo, static, hidden_dim=4, n_epochs=1, batch_size=8, split_sentences=None
    )
    asked = Examples([("what", "good film"), ("which", "bad film")] * 4, ["film", "bad"] * 4)
    places(Task(model, asked, asked), tmp_path / "out", n_seeds=1)
    runs = read_json(tmp_path / "out/results.json")["runs"]
    assert {run["variant"]: list(run["mixes"]) for run in runs} == {
        "input": ["input"], "static+elmo": ["input", "output"], "output": ["output"],
    }  # fmt: skip
