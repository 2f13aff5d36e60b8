"""The schema is complete and true: its examples work, and the reference page is made of it."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from tools.api_page import PAGE, page

from elmore.serve import answers, index_answers

MODELS = [
    one
    for module in (answers, index_answers)
    for one in vars(module).values()
    if (getattr(one, "model_config", None) or {}).get("json_schema_extra")
]


def test_the_reference_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()  # or run tools/api_page.py


@pytest.mark.parametrize("model", MODELS, ids=lambda one: one.__name__)
def test_examples_of_answers_have_their_shape(model: Any) -> None:
    for example in model.model_config["json_schema_extra"]["examples"]:
        model.model_validate(example)


def test_examples_of_requests_are_answered(client: TestClient) -> None:
    schema = client.get("/openapi.json").json()
    n_tried = 0
    for path, methods in schema["paths"].items():
        if "post" not in methods:
            continue
        content = methods["post"]["requestBody"]["content"]["application/json"]["schema"]
        body = schema["components"]["schemas"][content["$ref"].rpartition("/")[2]]
        for example in body["examples"]:
            here = {"model": "tiny", "index": "old"}  # as they are called on this server
            sent = {name: here.get(name, value) for name, value in example.items()}
            if path == "/neighbours":
                sent["text"] = "the river bank was wet"
            elif "word" in sent:
                sent["texts"] = ["The river bank is steep ."]  # a tokenizer that cuts at spaces
            response = client.post(path.replace("{task}", "classify"), json=sent)
            assert response.status_code == 200, (path, response.text)
            n_tried += 1
    assert n_tried >= 8


def test_every_route_says_what_it_answers(client: TestClient) -> None:
    for path, methods in client.get("/openapi.json").json()["paths"].items():
        for operation in methods.values():
            answered = operation["responses"]["200"]["content"]
            said = answered.get("application/json", answered.get("text/plain"))["schema"]
            assert said, path
            assert {"401", "422", "429", "503"} <= operation["responses"].keys()
