"""Whatever is sent gets 4xx with one sentence, and the server answers afterwards."""

import asyncio
import gzip
import json
import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from elmore.serve.batching import Batcher

from .conftest import Make, running

CHECKS = [
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
PATIENCE_S = 60  # a machine that does much else answers late
# Bad requests that are made from the schema, and as many good ones.
N_GENERATED = int(os.environ.get("ELMORE_GENERATED_REQUESTS", "150"))


def check_refusal(response: Any, *statuses: int) -> str:
    """Return the one sentence of a refusal."""
    assert response.status_code in statuses, response.text
    assert response.headers["content-type"] == "application/json"
    return sentence_of(response)


def sentence_of(response: Any) -> str:
    error = response.json()["error"]
    sentence: str = error["message"] if isinstance(error, dict) else error
    assert sentence
    assert "\n" not in sentence
    return sentence


BODIES: dict[str, tuple[bytes, int, str]] = {
    "broken": (b'{"texts": ["a"', 400, "the body is not valid JSON: Expecting"),
    "empty": (b"", 422, "the body"),
    "no object": (b"[]", 422, "the body"),
    "not UTF-8": (b'{"texts": ["\xff"]}', 400, "the body is not valid JSON: it is not UTF-8"),
    "gzip": (gzip.compress(b"{}"), 400, "the body is not valid JSON: it is not UTF-8"),
    "deep": (b"[" * 100_000, 400, "the body is not valid JSON: it is nested too deeply"),
    "a huge number": (b'{"texts": [' + b"1" * 5000 + b"]}", 400, "the body is not valid JSON"),
    "no texts": (b"{}", 422, "texts is missing"),
    "no text": (b'{"texts": []}', 422, "texts"),
    "one string": (b'{"texts": "a"}', 422, "texts should be a valid list"),
    "a number": (b'{"texts": [1]}', 422, "texts.0"),
    "a number among tokens": (b'{"texts": [["a", 1]]}', 422, "texts.0"),
    "NaN": (b'{"texts": ["a"], "layers": NaN}', 422, "layers"),
    "infinite": (b'{"texts": ["a"], "layers": Infinity}', 422, "layers"),
    "a negative layer": (b'{"texts": ["a"], "layers": -1}', 422, "layers"),
    "a layer too many": (b'{"texts": ["a"], "layers": 3}', 422, "layers is 3; expected"),
    "true for a layer": (b'{"texts": ["a"], "layers": true}', 422, "layers"),
    "a pooling": (b'{"texts": ["a"], "pooling": "sum"}', 422, "pooling"),
    "an unknown field": (b'{"texts": ["a"], "layer": 1}', 422, "layer is no field"),
    "an unknown model": (b'{"texts": ["a"], "model": "../x"}', 404, "there is no model '../x'"),
    "a standardized mix": (b'{"texts": ["a"], "standardize": true}', 422, "the mix cannot"),
    "a lone surrogate": (b'{"texts": ["\\ud800"]}', 422, "texts.0"),
    "a lone surrogate in a name": (b'{"texts": ["a"], "model": "\\udfff"}', 422, "model"),
    "NUL": (b'{"texts": ["a\\u0000b"]}', 422, "texts.0 has a NUL character"),
    "NUL in a token": (b'{"texts": ["a", ["\\u0000"]]}', 422, "texts.1.0 has a NUL character"),
    "a long word": (json.dumps({"texts": ["a" * 1_000_000]}).encode(), 422, "1,000,000 characters"),
    "many texts": (json.dumps({"texts": ["a"] * 257}).encode(), 422, "got 257 texts"),
    "many tokens": (json.dumps({"texts": ["a " * 16_385]}).encode(), 422, "16,385 tokens"),
    "a large body": (b'{"texts": ["' + b"a" * 2_000_000 + b'"]}', 413, "more than 2,000,000 bytes"),
}


@pytest.mark.parametrize("name", BODIES)
def test_by_hand(address: str, name: str) -> None:
    body, status, start = BODIES[name]
    response = httpx.post(
        f"{address}/embed", content=body, headers={"Content-Type": "application/json"}
    )
    assert start in check_refusal(response, status)
    assert httpx.post(f"{address}/embed", json={"texts": ["a"]}).status_code == 200


def test_a_large_body_without_a_length(address: str) -> None:
    chunks: Iterator[bytes] = iter([b"x" * 100_000] * 30)
    response = httpx.post(
        f"{address}/embed", content=chunks, headers={"Content-Type": "application/json"}
    )
    check_refusal(response, 413)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/embed", 404), ("DELETE", "/models", 405), ("GET", "/nothing", 404),
     ("GET", "/docs", 404), ("GET", "/redoc", 404), ("GET", "/../conftest.py", 404),
     ("GET", "/%2e%2e/app.py", 404), ("GET", "/senses/old/%00", 404), ("POST", "/", 405)],
)  # fmt: skip
def test_other_paths(client: TestClient, method: str, path: str, status: int) -> None:
    check_refusal(client.request(method, path), status)


def test_other_content(client: TestClient) -> None:
    response = client.post("/embed", content=b"texts=a", headers={"Content-Type": "text/plain"})
    check_refusal(response, 422)
    for accept in ("text/html", "application/json;q=high", "application/json;q=0"):
        response = client.post("/embed", json={"texts": ["a"]}, headers={"Accept": accept})
        check_refusal(response, 406)


def test_a_model_without_a_softmax(client: TestClient) -> None:
    for path in ("/fill", "/scores"):
        response = client.post(path, json={"texts": ["a ___"], "model": "published"})
        assert "without its softmax" in check_refusal(response, 422)
    response = client.post(
        "/layers", json={"texts": ["a"], "model": "published", "standardize": True}
    )
    assert "no calibration" in check_refusal(response, 422)


def test_blanks_are_counted_as_tokens(make_app: Make) -> None:
    with TestClient(make_app(max_tokens=20)) as client:
        glued = {"texts": ["a___" * 15]}  # one token of a tokenizer that knows no blanks
        assert "30 tokens" in check_refusal(client.post("/fill", json=glued), 422)
        assert client.post("/fill", json={"texts": ["a___" * 5]}).is_success


def test_many_blanks(client: TestClient) -> None:
    response = client.post("/fill", json={"texts": ["___ " * 600]})
    assert "360,000 tokens around them" in check_refusal(response, 422)
    response = client.post("/fill", json={"texts": ["___ " * 400], "n": 2})
    assert len(response.json()["results"]) == 400


def test_a_token_too_long_for_npz(client: TestClient) -> None:
    body = {"texts": [["a" * 100_000, *"a" * 1000]]}
    response = client.post("/embed", json=body, headers={"Accept": "application/x-npz"})
    assert "a token is too long for application/x-npz" in check_refusal(response, 422)


def test_many_empty_tokens(make_app: Make) -> None:
    with TestClient(make_app(max_tokens=20)) as client:
        response = client.post("/embed", json={"texts": [[""] * 1000]})
        assert "1,000 characters" in check_refusal(response, 422)


def test_a_client_that_hangs_up_within_its_body(make_app: Make) -> None:
    app = make_app()
    sent: list[Any] = []
    messages = iter(
        [
            {"type": "http.request", "body": b'{"texts"', "more_body": True},
            {"type": "http.disconnect"},
        ]
    )

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": "/embed",
        "raw_path": b"/embed", "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
    }  # fmt: skip
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 400


def test_the_key(make_app: Make) -> None:
    with TestClient(make_app(api_key="secret é"[:6])) as client:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "secret"},
                        {"Authorization": b"Bearer secr\xe9t"}):  # fmt: skip
            response = client.get("/models", headers=headers)  # type: ignore[arg-type]
            check_refusal(response, 401)
            assert response.headers["www-authenticate"] == "Bearer"
        assert client.get("/models", headers={"Authorization": "Bearer secret"}).is_success
        for path in ("/", "/index.html", "/health", "/openapi.json"):
            assert client.get(path).is_success
        assert client.get("/metrics").status_code == 401


def test_origins(make_app: Make, client: TestClient) -> None:
    asked = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    name = "access-control-allow-origin"
    assert name not in client.options("/embed", headers=asked).headers
    refused = client.get("/models", headers=asked)
    assert "--allow-origin https://example.org" in check_refusal(refused, 403)
    assert name not in refused.headers
    with TestClient(make_app(allow_origins=["https://example.org"])) as other:
        assert other.options("/embed", headers=asked).headers[name] == "https://example.org"
        assert other.get("/models", headers=asked).headers[name] == "https://example.org"
        asked["Origin"] = "https://elsewhere.org"
        refused = other.get("/models", headers=asked)
        check_refusal(refused, 403)
        assert name not in refused.headers
    with TestClient(make_app(allow_origins=["*"])) as other:
        assert other.get("/models", headers=asked).headers[name] == "*"


@pytest.mark.parametrize("path", ["/", "/health", "/models", "/senses/old/bank", "/nothing"])
def test_other_hosts(client: TestClient, path: str) -> None:
    for host in ("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil",
                 "[::1].evil", "evil.example:x", "127.0.0.1@evil", "", ":80"):  # fmt: skip
        response = client.get(path, headers={"Host": host})
        assert "--allowed-host" in check_refusal(response, 403)
    two = client.get(path, headers=[("Host", "localhost"), ("Host", "evil.example")])
    check_refusal(two, 403)


@pytest.mark.parametrize(
    "host", ["testserver", "TestServer:80", "localhost:9000", "192.0.2.1:1", "[::1]:8000"]
)
def test_own_hosts(client: TestClient, host: str) -> None:
    assert client.get("/models", headers={"Host": host}).is_success
    headers = {"Host": host, "Origin": f"https://{host}"}
    assert client.post("/embed", json={"texts": ["a"]}, headers=headers).is_success
    for origin in ("null", "https://evil.example", "http://localhost:1", f"https://{host}.evil"):
        headers = {"Host": host, "Origin": origin}
        response = client.post("/embed", json={"texts": ["a"]}, headers=headers)
        assert "--allow-origin" in check_refusal(response, 403)


def test_no_answer_in_time(make_app: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: Any) -> list[Any]:
        await asyncio.sleep(60)
        return []

    with TestClient(make_app(timeout_s=0.05)) as client:
        monkeypatch.setattr(Batcher, "submit", never)
        response = client.post("/embed", json={"texts": ["a"]})
        assert "no answer within 0.05 seconds" in check_refusal(response, 503)
        assert response.headers["retry-after"] == "1"
        assert client.get("/health").is_success


def test_a_bug_is_said_without_its_traceback(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any) -> list[Any]:
        raise ZeroDivisionError("/secret/path")

    monkeypatch.setattr(Batcher, "submit", broken)
    response = client.post("/embed", json={"texts": ["a"]})
    assert check_refusal(response, 500) == "the server failed; its log says how"


def test_metrics(make_app: Make) -> None:
    with TestClient(make_app()) as client:
        client.post("/embed", json={"texts": ["the river", "bank"]})
        client.post("/embed", content=b"{", headers={"Content-Type": "application/json"})
        client.get("/nothing/here")
        client.get("/senses/old/boat")
        client.request("BREW", "/embed")
        page = client.get("/metrics").text
    for line in (
        'elmore_requests_total{method="POST",path="/embed",status="200"} 1.0',
        'elmore_requests_total{method="POST",path="/embed",status="400"} 1.0',
        'elmore_requests_total{method="GET",path="/senses/{index}/{word:path}",status="404"} 1.0',
        'elmore_batch_texts_sum{model="tiny"} 2.0',
        'elmore_batch_tokens_sum{model="tiny"} 7.0',
        'elmore_cached_words{model="tiny"} 5.0',
        'elmore_queue_texts{model="tiny"} 0.0',
        'elmore_request_seconds_bucket{le="30.0",path="/embed"}',
    ):
        assert line in page, page
    assert "nothing" not in page
    assert "BREW" not in page


@pytest.fixture(scope="module")
def generated_for(make_app: Make) -> Iterator[tuple[Any, str]]:
    app = make_app()
    with running(app) as address:
        yield schemathesis.openapi.from_url(f"{address}/openapi.json", timeout=PATIENCE_S), address


def send_cases(operation: Any, mode: schemathesis.GenerationMode, n_cases: int) -> int:
    """Send requests to one route, and return how many were sent."""
    n_sent = 0

    @settings(
        max_examples=n_cases,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        nonlocal n_sent
        response = case.call(timeout=PATIENCE_S)
        n_sent += 1
        assert response.status_code < 500, case.as_curl_command()
        if response.status_code >= 400:
            assert sentence_of(response)
        case.validate_response(response, checks=CHECKS)

    send()
    return n_sent


@pytest.mark.slow
def test_generated(generated_for: tuple[Any, str]) -> None:
    schema, address = generated_for
    operations = [found.ok() for found in schema.get_all_operations()]
    taking = [one for one in operations if one.body or one.path_parameters or one.query]
    n_each = -(-N_GENERATED // len(taking))
    for operation in operations:
        send_cases(operation, schemathesis.GenerationMode.POSITIVE, n_each)
    wrong = schemathesis.GenerationMode.NEGATIVE
    # A route that takes nothing has nothing to get wrong.
    n_bad = sum(send_cases(operation, wrong, n_each) for operation in taking)
    assert n_bad >= N_GENERATED
    assert httpx.get(f"{address}/health").is_success
