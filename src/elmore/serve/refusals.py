"""What is refused, and how it is said: JSON with one sentence, {"error": "…"}.

OpenAI's clients show nothing but {"error": {"message": "…"}}, so that is what /v1 answers.
"""

import re
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from msgspec.json import encode as to_json
from starlette.exceptions import HTTPException
from starlette.responses import Response

from elmore.errors import ElmoreError

_MAX_FIELDS = 5  # of a request that are named
_UNION_TAG = re.compile(r"\W|^(str|int|float|bool|Clause)$")  # where pydantic names a union's part


_STATUSES = {
    400: "The body is not valid JSON.",
    401: "The API key is missing or wrong.",
    403: "The host is not a name of this server, or the origin may not use it.",
    404: "There is no such model, index, task or word.",
    413: "The body is too large.",
    422: "A field is wrong, or there are too many texts or tokens.",
    429: "Too many texts wait; Retry-After says when to try again.",
    503: "There was no answer in time.",
}


class Refused(HTTPException):
    """A request that is refused, with a status of HTTP and one sentence."""

    def __init__(
        self, status: int, sentence: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, sentence, headers)


def busy(sentence: str, *, status: int = 429) -> Refused:
    """Return the refusal of what may be tried again."""
    return Refused(status, sentence, {"Retry-After": "1"})


def refusal_response(
    path: str, status: int, sentence: str, headers: Mapping[str, str] | None = None, **fields: Any
) -> Response:
    """Return an error as it is sent to whoever asked for `path`."""
    said: Any = " ".join(sentence.split())
    if path.startswith("/v1/"):
        kind = "server_error" if status >= 500 else "invalid_request_error"
        said = {"message": said, "type": kind, "param": None, "code": None}
    content = to_json({"error": said, **fields})
    return Response(content, status, headers, media_type="application/json")


def documented(model: type) -> dict[int | str, dict[str, Any]]:
    """Return what the schema says of refusals, whose bodies are of a model."""
    return {status: {"model": model, "description": said} for status, said in _STATUSES.items()}


def add_handlers(app: FastAPI) -> None:
    """Let an app answer every error in this form."""

    @app.exception_handler(HTTPException)
    async def refuse(request: Request, error: HTTPException) -> Response:
        sentence = error.detail
        if error.status_code in (404, 405) and not isinstance(error, Refused):
            sentence = f"there is no {request.method} {request.url.path}; see /openapi.json"
        elif error.status_code == 400 and not isinstance(error, Refused):
            sentence = f"the body is not valid JSON: {_why_no_json(error.__cause__)}"
        return refusal_response(request.url.path, error.status_code, sentence, error.headers)

    @app.exception_handler(ElmoreError)
    async def refuse_data(request: Request, error: ElmoreError) -> Response:
        return refusal_response(request.url.path, 422, str(error))

    @app.exception_handler(RequestValidationError)
    async def refuse_fields(request: Request, error: RequestValidationError) -> Response:
        # Of the alternatives of a union, the one that came furthest is the one that was meant.
        errors = sorted(error.errors(), key=lambda one: -len(one["loc"]))
        if errors[0]["type"] == "json_invalid":
            reason = errors[0].get("ctx", {}).get("error", "it cannot be read")
            return refusal_response(request.url.path, 400, f"the body is not valid JSON: {reason}")
        found = {_field(one): _sentence(one) for one in reversed(errors)}
        listed = list(reversed(found.items()))[:_MAX_FIELDS]
        fields = [{"field": field, "error": sentence} for field, sentence in listed]
        return refusal_response(request.url.path, 422, listed[0][1], fields=fields)

    @app.exception_handler(Exception)
    async def fail(request: Request, _: Exception) -> Response:
        return refusal_response(request.url.path, 500, "the server failed; its log says how")


def _why_no_json(error: BaseException | None) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8, or compressed"
    return "it is nested too deeply" if isinstance(error, RecursionError) else "it cannot be read"


def _field(error: Mapping[str, Any]) -> str:
    """Return where in a request an error is: texts.0."""
    place = [str(part) for part in error["loc"][1:]]
    return ".".join(part for part in place if not _UNION_TAG.search(part)) or "the body"


def _sentence(error: Mapping[str, Any]) -> str:
    field, message = _field(error), str(error["msg"])
    if error["type"] == "missing":
        return f"{field} is missing"
    if error["type"] == "extra_forbidden":
        return f"{field} is no field of this request; leave it out"
    message = message.removeprefix("Value error, ")
    if error["type"] == "value_error" and "Input" not in message:
        return message
    return message.replace("Input", field, 1) if "Input" in message else f"{field}: {message}"
