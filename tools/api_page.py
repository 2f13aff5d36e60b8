"""Writes docs/reference/api.md: every route of the server, from its OpenAPI schema.

python tools/api_page.py
"""

import json
from pathlib import Path
from typing import Any

from elmore.serve.app import create_app
from elmore.serve.limits import Limits
from elmore.serve.metrics import Metrics
from elmore.serve.registry import Registry

PAGE = Path(__file__).resolve().parents[1] / "docs/reference/api.md"

BEGINNING = """# HTTP API

What [`elmore serve`](../howto/serve.md) answers; the schema is at `/openapi.json`. Bodies are
JSON, and unknown fields are refused. Examples show the shape of an answer, with vectors cut to a
few dimensions.

An error is `{"error": "one sentence"}`, and `fields` lists what is wrong with a body:

| status | meaning |
|---|---|
"""
MIDDLE = """
`/v1/embeddings` has OpenAI's form instead, `{"error": {"message": "one sentence", …}}`. With an
API key, every path but `/health`, `/openapi.json` and the page at `/` needs the header
`Authorization: Bearer KEY`.

Spans count Unicode code points, as Python does; in JavaScript,
`Array.from(text).slice(start, end).join("")`. Vectors in base64 are little-endian float32, row by
row: `numpy.frombuffer(base64.b64decode(s), "<f4").reshape(shape)`.
"""


def page() -> str:
    """Return the page as it should be."""
    schema = create_app(Registry({}, {}, {}), Limits(), Metrics()).openapi()
    statuses = schema["paths"]["/embed"]["post"]["responses"]
    rows = [
        f"| {status} | {said['description']} |\n"
        for status, said in sorted(statuses.items())
        if status != "200"
    ]
    routes = [
        _route(schema, method, path, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    return BEGINNING + "".join(rows) + MIDDLE + "".join(routes)


def _route(schema: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> str:
    parts = [f"\n## {method.upper()} {path}\n\n{operation['description']}\n"]
    parameters = [one for one in operation.get("parameters", []) if one["in"] == "query"]
    if parameters:
        rows = [_row(one["name"], one["schema"], required=one["required"]) for one in parameters]
        parts.append(_table("parameter", rows))
    if "requestBody" in operation:
        body = _resolved(schema, operation["requestBody"]["content"]["application/json"]["schema"])
        required = body.get("required", [])
        rows = [
            _row(name, said, required=name in required) for name, said in body["properties"].items()
        ]
        parts.append(_table("field", rows))
        parts.append(_example("Request", body))
    content = operation["responses"]["200"]["content"].get("application/json")
    if content:
        parts.append(_example("Answer", _resolved(schema, content["schema"])))
    return "".join(parts)


def _row(name: str, said: dict[str, Any], *, required: bool) -> str:
    default = "required" if required else f"`{json.dumps(said.get('default'))}`"
    return f"| `{name}` | {_kind(said)} | {default} | {said.get('description', '')} |\n"


def _table(what: str, rows: list[str]) -> str:
    return f"\n| {what} | type | default | meaning |\n|---|---|---|---|\n{''.join(rows)}"


def _kind(said: dict[str, Any]) -> str:
    """Return what values a field takes."""
    if "anyOf" in said:
        return ", or ".join(dict.fromkeys(map(_kind, said["anyOf"])))
    if "$ref" in said:
        return str(said["$ref"].rpartition("/")[2])
    if "enum" in said:
        return ", ".join(f"`{one}`" for one in said["enum"])
    if said.get("type") == "array":
        return f"list of ({_kind(said['items'])})"
    limits = [f"{int(said[key]):,}" for key in ("minimum", "maximum") if key in said]
    return f"{said.get('type', 'any')} {' to '.join(limits)}".strip()


def _example(name: str, said: dict[str, Any]) -> str:
    examples = "\n".join(json.dumps(one, ensure_ascii=False) for one in said["examples"])
    return f"\n{name}:\n\n```json\n{examples}\n```\n"


def _resolved(schema: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = schema["components"]["schemas"][said["$ref"].rpartition("/")[2]]
    return found


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
