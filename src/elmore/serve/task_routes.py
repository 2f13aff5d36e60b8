"""Routes of trained tasks: /tasks, /predict/{task}."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from elmore.embed.texts import TokenizedText
from elmore.serve import answers, encoding, schemas
from elmore.serve.refusals import Refused
from elmore.serve.registry import Registry, ServedTask
from elmore.serve.texts import Text, TextReader, n_read


@dataclass(frozen=True)
class Predict:
    """Asks a task, whose inputs are as `predict` of elmore.tasks takes them."""

    served: ServedTask
    probabilities: bool

    def __call__(self, texts: list[Any]) -> Sequence[dict[str, Any]]:
        """Return the label or the tags of each text, and their probabilities if asked for."""
        task = self.served.task
        key = "tags" if task.task == "tag" else "label"
        if not self.probabilities:
            return [{key: one if key == "tags" else str(one)} for one in task.predict(texts)]
        names = task.tags_ if key == "tags" else list(map(str, task.classes_))
        said: list[dict[str, Any]] = []
        for predicted, chances in task.predict_with_proba(texts):
            rows = chances.tolist()
            if key == "tags":
                of_words = [dict(zip(names, row, strict=True)) for row in rows]
                said.append({key: predicted, "probabilities": of_words})
            else:
                of_labels = dict(zip(names, rows, strict=True))
                said.append({key: str(predicted), "probabilities": of_labels})
        return said


def task_routes(registry: Registry, reader: TextReader) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["tasks"])

    @router.get("/tasks", response_model=answers.TasksAnswer)
    async def tasks() -> Response:
        """The tasks of this server."""
        found = [
            {
                "name": served.name,
                "kind": served.task.task,
                "labels": list(map(str, served.task.classes_)),
                "needs_predicate": _needs_predicate(served),
                "model": served.model,
            }
            for served in registry.tasks.values()
        ]
        return await encoding.json_response({"tasks": found})

    @router.post("/predict/{task}", response_model=answers.PredictAnswer)
    async def predict(task: str, body: schemas.PredictRequest) -> Response:
        """The label of each text or pair, or the tags of its tokens."""
        served = registry.task(task)
        parts, places = _parts(served, body)
        tokenized = await reader.tokenize(parts, served.task.features_.tokenizer, None)
        texts: list[Any] = [text.tokens for text in tokenized]
        if served.task.task == "pair":
            texts = list(zip(texts[::2], texts[1::2], strict=True))
        elif places:
            texts = list(zip(texts, places, strict=True))
        work = Predict(served, body.probabilities)
        found = await served.batcher.submit(texts, n_read(tokenized), work)
        if served.task.task == "tag":
            found = [_tagged(text, one) for text, one in zip(tokenized, found, strict=True)]
        return await encoding.json_response({"task": served.name, "results": found})

    return router


def _needs_predicate(served: ServedTask) -> bool:
    return bool(getattr(served.task, "predicate", False))


def _parts(served: ServedTask, body: schemas.PredictRequest) -> tuple[list[Text], list[int]]:
    """Return all texts of a request, and the places of their predicates where there are some."""
    parts: list[Text] = []
    places: list[int] = []
    for number, text in enumerate(body.texts):
        if isinstance(text, schemas.Clause) != _needs_predicate(served):
            expected = "a text and its predicate" if _needs_predicate(served) else "a text"
            raise Refused(422, f"text {number} is no input of {served.name}; expected {expected}")
        if isinstance(text, schemas.Clause):
            parts.append(text.text)
            places.append(text.predicate)
        elif served.task.task == "pair":
            if isinstance(text, str) or len(text) != 2:
                raise Refused(422, f"text {number} is no pair; expected a list of two texts")
            parts += text
        else:
            parts.append(text)
    return parts, places


def _tagged(text: TokenizedText, said: dict[str, Any]) -> dict[str, Any]:
    """Return the tags of a text with its tokens; one without words has none."""
    found = {name: values[: len(text.tokens)] for name, values in said.items()}
    return {"tokens": text.tokens, "spans": text.spans, **found}
