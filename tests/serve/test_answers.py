"""Every route answers what the library says, in the shape that the schema promises."""

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from elmore import Elmo, __version__
from elmore.senses.index import OccurrenceIndex
from elmore.senses.neighbours import neighbours
from elmore.serve import answers, index_answers
from elmore.tasks import Classifier, PairClassifier, Tagger, layer_cache
from elmore.tasks.estimator import TaskModel

from .conftest import LINES

TEXTS = ["the ___ bank", "___ of ___ ."]


def checked(response: Any, model: Any) -> Any:
    """Return the content of an answer that has the shape of a model and nothing beside."""
    assert response.status_code == 200, response.text
    content = response.json()
    model.model_validate(content)
    return content


def test_fill(client: TestClient, elmo: Elmo) -> None:
    content = checked(client.post("/fill", json={"texts": TEXTS, "n": 3}), answers.FillAnswer)
    expected = elmo.fill(TEXTS, n=3)
    assert len(content["results"]) == len(expected) == 3
    for one, right in zip(content["results"], expected, strict=True):
        assert (one["text"], tuple(one["tokens"]), one["place"], tuple(one["words"])) == (
            right.text, right.tokens, right.place, right.words,
        )  # fmt: skip
        np.testing.assert_allclose(one["probabilities"], right.probabilities, atol=1e-6)
    named = client.post("/fill", json={"texts": ["the river bank"], "word": 1, "sides": "left"})
    assert checked(named, answers.FillAnswer)["results"][0]["place"] == 1


def test_scores(client: TestClient, elmo: Elmo) -> None:
    texts = ["the river bank .", "", "은행 계좌"]
    content = checked(client.post("/scores", json={"texts": texts}), answers.ScoresAnswer)
    for one, right in zip(content["results"], elmo.scores(texts), strict=True):
        assert tuple(one["tokens"]) == right.tokens
        np.testing.assert_allclose(one["forward"], right.forward, atol=1e-5)
        np.testing.assert_allclose(one["backward"], right.backward, atol=1e-5)
        assert one["known"] == right.known.tolist()


def test_models_and_health(client: TestClient) -> None:
    first, second = checked(client.get("/models"), answers.ModelsAnswer)["models"]
    assert (first["name"], first["dim"], first["n_layers"]) == ("tiny", 12, 3)
    assert (first["has_softmax"], first["is_calibrated"], first["n_words"]) == (True, True, 9)
    assert (second["name"], second["has_softmax"]) == ("published", False)
    health = checked(client.get("/health"), answers.HealthAnswer)
    assert health == {"status": "ok", "version": __version__}
    assert client.head("/health").is_success


def test_the_page(client: TestClient) -> None:
    response = client.get("/")
    assert response.headers["content-type"].startswith("text/html")
    assert "openapi.json" in response.text


def test_indexes(client: TestClient) -> None:
    old, new = checked(client.get("/indexes"), index_answers.IndexesAnswer)["indexes"]
    assert (old["name"], old["model"], old["layers"]) == ("old", "tiny", [0, 2, "expected"])
    assert old["n_occurrences"] == sum(len(line.split()) for line in LINES)
    assert old["words"][0] == {"word": "a", "n_occurrences": 36}
    assert new["n_occurrences"] > old["n_occurrences"]


@pytest.mark.parametrize("same_word", [False, True])
def test_neighbours(client: TestClient, elmo: Elmo, folders: Any, same_word: bool) -> None:
    body = {"index": "old", "text": "the bank of a river", "word": "bank", "n": 3}
    response = client.post("/neighbours", json={**body, "same_word": same_word, "layers": [2]})
    (found,) = checked(response, index_answers.NeighboursAnswer)["layers"]
    index = OccurrenceIndex.load(folders / "old")
    (right,) = neighbours(elmo, index, body["text"], "bank", n=3, layers=[2], same_word=same_word)  # type: ignore[arg-type]
    assert [tuple(one["tokens"]) for one in found["neighbours"]] == [
        one.occurrence.tokens for one in right.neighbours
    ]
    for one, other in zip(found["neighbours"], right.neighbours, strict=True):
        assert one["cosine"] == pytest.approx(other.cosine, abs=1e-5)


def test_neighbours_of_what_is_no_text(client: TestClient) -> None:
    body = {"index": "old", "text": "a " * 20_000, "word": "a"}
    response = client.post("/neighbours", json=body)
    assert response.status_code == 422
    assert "20,000 tokens" in response.json()["error"]
    response = client.post("/neighbours", json={**body, "text": "a bank", "word": "river"})
    assert response.status_code == 422
    assert "'river' is no token of" in response.json()["error"]


def marked_word(occurrence: dict[str, Any]) -> str:
    start, end = occurrence["span"]
    found: str = occurrence["text"][start:end]
    return found


def test_senses_and_their_map(client: TestClient) -> None:
    content = checked(client.get("/senses/old/bank"), index_answers.SensesAnswer)
    assert content["n_occurrences"] == len(content["occurrences"]) == 24
    rows = sorted(row for sense in content["senses"] for row in sense["rows"])
    assert rows == list(range(24))
    assert {marked_word(one) for one in content["occurrences"]} == {"bank"}
    assert sum(sense["share"] for sense in content["senses"]) == pytest.approx(1)
    for options in ({}, {"layer": 0}, {"layer": 0, "method": "tsne"}, {"method": "tsne"}):
        response = client.get("/map/old/bank", params=options)
        drawn = checked(response, index_answers.MapAnswer)
        assert drawn["layer"] == options.get("layer", "expected")
        assert [(one["tokens"], one["place"]) for one in drawn["points"]] == [
            (one["tokens"], one["place"]) for one in content["occurrences"]
        ]
        for number, sense in enumerate(content["senses"]):
            assert {drawn["points"][row]["sense"] for row in sense["rows"]} == {number}
        assert response.json() == client.get("/map/old/bank", params=options).json()
        spread = np.std([[one["x"], one["y"]] for one in drawn["points"]], axis=0)
        assert np.isfinite(spread).all()
        assert (spread > 0).all() or "layer" in options  # on layer 0 all are alike


def test_change(client: TestClient) -> None:
    response = client.get("/change/old/new", params={"min_count": 5, "n": 3})
    content = checked(response, index_answers.ChangeAnswer)
    assert content["layer"] == "expected"
    assert len(content["words"]) == 3
    one = checked(client.get("/change/old/new/bank"), index_answers.WordChangeAnswer)
    assert (one["word"], one["n_before"], one["n_after"]) == ("bank", 24, 29)
    assert sum(sense["before"] for sense in one["senses"]) == pytest.approx(1)
    examples = [example for sense in one["senses"] for example in sense["examples"]]
    assert {marked_word(example) for example in examples} == {"bank"}


def test_what_an_index_does_not_have(client: TestClient, folders: Any) -> None:
    for path, status in {
        "/senses/none/bank": 404,
        "/senses/old/boat": 404,
        "/senses/old/0": 422,  # it occurs once
        "/map/old/bank?layer=1": 422,
        "/map/old/bank?layer=first": 422,
        "/map/old/bank?method=umap": 422,
        "/map/old/bank?max_occurrences=5001": 422,
        "/change/old/none": 404,
        "/change/old/new?min_count=0": 422,
        "/change/old/new/boat": 404,
    }.items():
        response = client.get(path)
        assert response.status_code == status, path
        assert str(folders) not in response.text
        assert response.json()["error"]


def test_tasks(client: TestClient, folders: Any, elmo: Elmo) -> None:
    tasks = checked(client.get("/tasks"), answers.TasksAnswer)["tasks"]
    assert [one["name"] for one in tasks] == ["classify", "pair", "tag", "roles"]
    assert [one["needs_predicate"] for one in tasks] == [False, False, False, True]
    texts = ["the bank", "a river .", ""]
    body = {"texts": texts, "probabilities": True}
    content = checked(client.post("/predict/classify", json=body), answers.PredictAnswer)
    task = Classifier.load(folders / "classify", elmo=elmo)
    assert [one["label"] for one in content["results"]] == task.predict(texts).tolist()
    found = [[one["probabilities"][label] for label in task.classes_] for one in content["results"]]
    np.testing.assert_allclose(found, task.predict_proba(texts), atol=1e-5)

    pairs = [["the bank", "a river ."], ["", "bank"]]
    content = checked(client.post("/predict/pair", json={"texts": pairs}), answers.PredictAnswer)
    pair = PairClassifier.load(folders / "pair", elmo=elmo)
    assert [one["label"] for one in content["results"]] == pair.predict(pairs).astype(str).tolist()
    assert tasks[1]["labels"] == ["0", "1"]  # labels are strings here, of whatever type they are
    body_of_pairs = {"texts": pairs, "probabilities": True}
    content = checked(client.post("/predict/pair", json=body_of_pairs), answers.PredictAnswer)
    assert all(set(one["probabilities"]) == {"0", "1"} for one in content["results"])

    content = checked(client.post("/predict/tag", json=body), answers.PredictAnswer)
    tagger = Tagger.load(folders / "tag", elmo=elmo)
    first, second, empty = content["results"]
    assert first["spans"] == [[0, 3], [4, 8]]
    assert [first["tags"], second["tags"]] == tagger.predict(texts[:2])
    assert (empty["tokens"], empty["tags"], empty["probabilities"]) == ([], [], [])
    assert set(first["probabilities"][0]) == set(tagger.tags_)

    clauses = [{"text": "the bank", "predicate": 1}, {"text": ["a"], "predicate": 0}]
    content = checked(client.post("/predict/roles", json={"texts": clauses}), answers.PredictAnswer)
    assert [len(one["tags"]) for one in content["results"]] == [2, 1]


@pytest.mark.parametrize("task", ["classify", "tag"])
def test_a_prediction_is_one_run_without_a_file(
    client: TestClient, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []
    run = TaskModel._run
    monkeypatch.setattr(TaskModel, "_run", lambda *given: runs.append(given) or run(*given))
    monkeypatch.setattr(layer_cache, "TemporaryFile", None)  # such as a full TMPDIR
    body = {"texts": ["the bank", "a river ."], "probabilities": True}
    assert client.post(f"/predict/{task}", json=body).is_success
    assert len(runs) == 1


@pytest.mark.parametrize(
    ("task", "text"),
    [("roles", "the bank"), ("tag", {"text": "a", "predicate": 0}), ("pair", "a"), ("pair", ["a"]),
     ("roles", {"text": "the bank", "predicate": 2}), ("none", "a")],
)  # fmt: skip
def test_inputs_of_another_task(client: TestClient, task: str, text: Any) -> None:
    response = client.post(f"/predict/{task}", json={"texts": [text]})
    assert response.status_code == (404 if task == "none" else 422)
    assert response.json()["error"]
