"""Routes that give vectors: /embed, /v1/embeddings, /layers, /similarity."""

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Header
from msgspec.json import encode as to_json
from starlette.responses import Response

from elmore.embed import TokenVectors
from elmore.senses.search import unit_norm
from elmore.serve import answers, encoding, schemas
from elmore.serve.body_route import BodyRoute
from elmore.serve.encoding import json_list, json_object, json_text, json_vectors
from elmore.serve.refusals import documented
from elmore.serve.registry import Registry
from elmore.serve.texts import TextReader

_BINARY: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            encoding.NPZ: {"schema": {"type": "string", "format": "binary"}},
            encoding.ARROW: {"schema": {"type": "string", "format": "binary"}},
        }
    },
    406: {"model": answers.Error, "description": "A format that the server does not have."},
}


def vector_routes(registry: Registry, reader: TextReader) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["texts"], route_class=BodyRoute)

    @router.post("/embed", response_model=answers.EmbedAnswer, responses=_BINARY)
    async def embed(
        body: schemas.EmbedRequest, accept: Annotated[str | None, Header()] = None
    ) -> Response:
        """Tokens, character spans and vectors of texts: one vector per word or, pooled, per text.

        By `Accept` the answer is JSON, `application/x-npz` (arrays `0`, `0.tokens`, `0.spans`, …)
        or `application/vnd.apache.arrow.stream` (a row a token: text, position, token, start,
        end, vector; layer_0, layer_1, … for all layers; a pooled text is one row).
        """
        media_type = encoding.accepted(accept)
        model = registry.model(body.model)
        results = await reader.vectors(
            model,
            body.texts,
            layers=body.layers,
            pooling=body.pooling,
            standardize=body.standardize,
        )

        def encode() -> bytes:
            if media_type == encoding.NPZ:
                return encoding.npz(results)
            if media_type == encoding.ARROW:
                return encoding.arrow(results, pooled=body.pooling is not None)
            return json_object(
                model=to_json(model.name),
                results=json_list([json_text(one, body.encoding) for one in results]),
            )

        return await encoding.encoded(sum(x.vectors.size for x in results), encode, media_type)

    @router.post(
        "/v1/embeddings",
        response_model=answers.OpenAIEmbeddingsAnswer,
        responses=documented(answers.OpenAIError),
    )
    async def openai_embeddings(body: schemas.OpenAIEmbeddingsRequest) -> Response:
        """One vector per text, the mean of its words', in the shape of OpenAI's API."""
        model = registry.model(body.model)
        texts = [body.input] if isinstance(body.input, str) else body.input
        results = await reader.vectors(model, texts, layers="mix", pooling="mean")
        n_tokens = sum(len(one.tokens) for one in results)
        usage = {"prompt_tokens": n_tokens, "total_tokens": n_tokens}

        def encode() -> bytes:
            return json_object(
                object=b'"list"',
                data=json_list([
                    json_object(
                        object=b'"embedding"',
                        index=to_json(number),
                        embedding=json_vectors(one.vectors, body.encoding_format),
                    )
                    for number, one in enumerate(results)
                ]),
                model=to_json(model.name),
                usage=to_json(usage),
            )  # fmt: skip

        return await encoding.encoded(sum(x.vectors.size for x in results), encode)

    @router.post("/layers", response_model=answers.LayersAnswer)
    async def layers(body: schemas.LayersRequest) -> Response:
        """The paper's 2L + 1 representations of each word: of the token, and of each direction.

        To make an ELMo vector of them: join forward j and backward j to layer j (and the token
        vector with itself to layer 0), weigh the layers by s, add them, scale by gamma.
        """
        model = registry.model(body.model)
        results = await reader.vectors(
            model, body.texts, layers="all", standardize=body.standardize
        )

        def encode() -> bytes:
            texts = []
            for one in results:
                found = TokenVectors(tuple(one.tokens), one.vectors, None).representations()
                vectors = {name: json_vectors(rows, body.encoding) for name, rows in found.items()}
                texts.append(
                    json_object(
                        tokens=to_json(one.tokens),
                        spans=to_json(one.spans),
                        shape=to_json(found["token"].shape),
                        representations=json_object(**vectors),
                    )
                )
            return json_object(model=to_json(model.name), results=json_list(texts))

        return await encoding.encoded(sum(x.vectors.size for x in results), encode)

    @router.post("/similarity", response_model=answers.SimilarityAnswer)
    async def similarity(body: schemas.SimilarityRequest) -> Response:
        """The cosine of each text of `a` with each of `b`, by pooled vectors.

        A text without words has the cosine 0 with every other.
        """
        model = registry.model(body.model)
        texts = [*body.a, *body.b]
        results = await reader.vectors(model, texts, layers=body.layers, pooling=body.pooling)
        vectors = unit_norm(np.stack([one.vectors for one in results]))
        cosines = vectors[: len(body.a)] @ vectors[len(body.a) :].T
        content = {"model": model.name, "cosines": cosines.tolist()}
        return await encoding.json_response(content)

    return router
