"""Vectors over HTTP are those of `Elmo`, in every form in which they are sent."""

import base64
import io
from typing import Any

import httpx
import numpy as np
import openai
import pyarrow as pa
import pytest
import requests
from fastapi.testclient import TestClient

from elmore import Elmo
from elmore.serve import answers, encoding

TEXTS: list[Any] = ["the river bank .", "", ["은행", "계좌 😀"], "a a a"]
CLOSE = 1e-6


def decoded(one: dict[str, Any]) -> np.ndarray:
    return np.frombuffer(base64.b64decode(one["vectors"]), "<f4").reshape(one["shape"])


@pytest.mark.parametrize("layers", ["mix", "all", "top", "context", "expected", 0, 1])
def test_words(client: TestClient, elmo: Elmo, layers: Any) -> None:
    expected = elmo.encode_tokens(TEXTS, layers=layers)
    numbers = client.post("/embed", json={"texts": TEXTS, "layers": layers}).json()
    answers.EmbedAnswer.model_validate(numbers)
    assert numbers["model"] == "tiny"
    packed = client.post(
        "/embed", json={"texts": TEXTS, "layers": layers, "encoding": "base64"}
    ).json()
    for one, other, right in zip(numbers["results"], packed["results"], expected, strict=True):
        assert tuple(one["tokens"]) == tuple(other["tokens"]) == right.tokens
        spans = None if one["spans"] is None else tuple(map(tuple, one["spans"]))
        assert spans == right.spans
        assert tuple(one["shape"]) == right.vectors.shape
        vectors = np.reshape(one["vectors"], right.vectors.shape)
        np.testing.assert_allclose(vectors, right.vectors, atol=CLOSE)
        np.testing.assert_allclose(decoded(other), right.vectors, atol=CLOSE)


@pytest.mark.parametrize("pooling", ["mean", "max", "first-last"])
@pytest.mark.parametrize("layers", ["mix", "all"])
def test_pooled(client: TestClient, elmo: Elmo, pooling: Any, layers: Any) -> None:
    body = {"texts": TEXTS, "pooling": pooling, "layers": layers}
    found = client.post("/embed", json=body).json()["results"]
    expected = elmo.encode(TEXTS, pooling=pooling, layers=layers)
    np.testing.assert_allclose([one["vectors"] for one in found], expected, atol=CLOSE)


def test_standardized(client: TestClient, elmo: Elmo) -> None:
    body = {"texts": TEXTS, "layers": "expected", "standardize": True}
    found = client.post("/embed", json=body).json()["results"]
    for one, right in zip(
        found, elmo.encode_tokens(TEXTS, layers="expected", standardize=True), strict=True
    ):
        np.testing.assert_allclose(
            np.reshape(one["vectors"], right.vectors.shape), right.vectors, atol=CLOSE
        )


@pytest.mark.parametrize("layers", ["mix", "all"])
def test_npz(client: TestClient, elmo: Elmo, layers: Any) -> None:
    response = client.post(
        "/embed", json={"texts": TEXTS, "layers": layers}, headers={"Accept": encoding.NPZ}
    )
    assert response.headers["content-type"] == encoding.NPZ
    with np.load(io.BytesIO(response.content)) as file:
        for number, right in enumerate(elmo.encode_tokens(TEXTS, layers=layers)):
            np.testing.assert_allclose(file[str(number)], right.vectors, atol=CLOSE)
            assert tuple(file[f"{number}.tokens"]) == right.tokens
            if right.spans is None:
                assert f"{number}.spans" not in file
            else:
                assert tuple(map(tuple, file[f"{number}.spans"])) == right.spans


@pytest.mark.parametrize("layers", ["mix", "all"])
@pytest.mark.parametrize("pooling", [None, "mean"])
def test_arrow(client: TestClient, elmo: Elmo, layers: Any, pooling: Any) -> None:
    response = client.post(
        "/embed",
        json={"texts": TEXTS, "layers": layers, "pooling": pooling},
        headers={"Accept": f"text/html;q=0.5, {encoding.ARROW}"},
    )
    assert response.headers["content-type"] == encoding.ARROW
    table = pa.ipc.open_stream(response.content).read_all()
    column = "vector" if layers == "mix" else "layer_1"
    found = np.array(table[column].to_pylist())
    if pooling:
        expected = elmo.encode(TEXTS, layers=layers)
        np.testing.assert_allclose(
            found, expected if layers == "mix" else expected[:, 1], atol=CLOSE
        )
        assert table["tokens"].to_pylist()[0] == ["the", "river", "bank", "."]
        return
    texts = elmo.encode_tokens(TEXTS, layers=layers)
    rows = [one.vectors if layers == "mix" else one.vectors[1] for one in texts]
    np.testing.assert_allclose(found, np.concatenate(rows), atol=CLOSE)
    assert table["token"].to_pylist() == [token for one in texts for token in one.tokens]
    assert table["start"].to_pylist()[:6] == [0, 4, 10, 15, None, None]


def test_arrow_without_pyarrow(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "find_spec", lambda name: None)
    response = client.post("/embed", json={"texts": ["a"]}, headers={"Accept": encoding.ARROW})
    assert response.status_code == 406
    assert response.json() == {"error": "Arrow needs an extra: pip install 'elmore[parquet]'"}


def test_representations(client: TestClient, elmo: Elmo) -> None:
    body = {"texts": TEXTS, "encoding": "float"}
    content = client.post("/layers", json=body).json()
    answers.LayersAnswer.model_validate(content)
    expected = elmo.encode_tokens(TEXTS, layers="all")
    mixed = elmo.encode_tokens(TEXTS)
    for one, right, mix in zip(content["results"], expected, mixed, strict=True):
        found = {name: np.reshape(x, one["shape"]) for name, x in one["representations"].items()}
        assert list(found) == ["token", "forward 1", "backward 1", "forward 2", "backward 2"]
        for name, rows in right.representations().items():
            np.testing.assert_allclose(found[name], rows, atol=CLOSE)
        layers = [np.hstack([found["token"], found["token"]])]
        layers += [np.hstack([found[f"forward {j}"], found[f"backward {j}"]]) for j in (1, 2)]
        np.testing.assert_allclose(sum(layers) / 3, mix.vectors, atol=CLOSE)


def test_similarity(client: TestClient, elmo: Elmo) -> None:
    found = client.post("/similarity", json={"a": TEXTS, "b": TEXTS[:2], "layers": "top"}).json()
    expected = elmo.similarity(TEXTS, TEXTS[:2], layers="top")
    np.testing.assert_allclose(found["cosines"], expected, atol=CLOSE)


@pytest.mark.parametrize("client_library", [httpx, requests])
def test_plain_clients(address: str, elmo: Elmo, client_library: Any) -> None:
    response = client_library.post(f"{address}/embed", json={"texts": TEXTS})
    for one, right in zip(response.json()["results"], elmo.encode_tokens(TEXTS), strict=True):
        vectors = np.reshape(one["vectors"], right.vectors.shape)
        np.testing.assert_allclose(vectors, right.vectors, atol=CLOSE)


@pytest.mark.parametrize("encoding_format", [None, "float", "base64"])
def test_the_openai_client(address: str, elmo: Elmo, encoding_format: Any) -> None:
    texts = ["the river bank .", "은행"]
    options = {} if encoding_format is None else {"encoding_format": encoding_format}
    with openai.OpenAI(base_url=f"{address}/v1", api_key="none", max_retries=0) as client:
        found = client.embeddings.create(model="tiny", input=texts, **options)
        one = client.embeddings.create(model="tiny", input=texts[0])
        with pytest.raises(openai.NotFoundError, match="there is no model 'gpt'"):
            client.embeddings.create(model="gpt", input=texts)
        with pytest.raises(openai.UnprocessableEntityError, match="dimensions cannot be chosen"):
            client.embeddings.create(model="tiny", input=texts, dimensions=2)
        with pytest.raises(openai.UnprocessableEntityError, match="input has token ids"):
            client.embeddings.create(model="tiny", input=[[1, 2]])
    assert [item.index for item in found.data] == [0, 1]
    assert (found.model, found.usage.prompt_tokens, found.usage.total_tokens) == ("tiny", 5, 5)
    vectors: list[Any] = [item.embedding for item in found.data]
    if encoding_format == "base64":  # asked for by name, it is not decoded
        vectors = [np.frombuffer(base64.b64decode(text), "<f4") for text in vectors]
    expected = elmo.encode(texts)
    np.testing.assert_allclose(vectors, expected, atol=CLOSE)
    np.testing.assert_allclose(one.data[0].embedding, expected[0], atol=CLOSE)


def test_a_body_is_read_alike_whatever_its_content_type_says(client: TestClient) -> None:
    """`application/json` alone takes the short way; with a parameter, FastAPI's."""
    content = b'{"texts": ["the bank", ["a", "river"]], "layers": 1}'
    answered = [
        client.post("/embed", content=content, headers={"Content-Type": kind, "Accept": accept})
        for accept in ("*/*", "application/x-npz", "text/html")
        for kind in ("application/json", "application/json; charset=utf-8")
    ]
    assert [one.status_code for one in answered] == [200, 200, 200, 200, 406, 406]
    assert answered[0].content == answered[1].content
    assert answered[4].content == answered[5].content
