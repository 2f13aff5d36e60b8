"""A JSON body in, the answer of an endpoint out, with less work in between than FastAPI's own.

FastAPI parses a body with Python's json, validates the result, and collects the parameters of each
request; that takes as long as all the rest of an answer. Here pydantic parses and validates in one
step. Whatever it refuses goes to FastAPI's handler, which finds the error again and says what it
is.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from elmore.serve.refusals import Refused


class BodyRoute(APIRoute):
    """A route whose endpoint takes `body` and perhaps headers that are strings or None."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return what answers a request."""
        explain = super().get_route_handler()
        endpoint: Any = self.endpoint
        validate = TypeAdapter(endpoint.__annotations__["body"]).validate_json
        headers = [(header.name, header.alias) for header in self.dependant.header_params]

        async def handle(request: Request) -> Response:
            if request.headers.get("content-type") != "application/json":
                return await explain(request)
            try:
                body = validate(await request.body())
            except ValidationError:
                return await explain(request)
            except ClientDisconnect:
                raise Refused(400, "the body ended too early") from None
            given = {name: request.headers.get(alias) for name, alias in headers}
            answer: Response = await endpoint(body=body, **given)
            return answer

        return handle
