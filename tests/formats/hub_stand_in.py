"""A stand-in for the Hugging Face hub: what uploading and downloading a model ask of it."""

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

TOKEN = "hf_secret"
Files = dict[str, bytes]


@dataclass
class Repository:
    private: bool
    branches: dict[str, str] = field(default_factory=dict)
    commits: dict[str, Files] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    repositories: dict[str, Repository]
    requests: list[str]

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        parts = self._parts()
        name = "/".join(parts[2:4] if parts[0] == "api" else parts[:2])
        repository = self.repositories.get(name)
        if repository is None or (repository.private and not self._may):
            return self._answer({}, 404, {"X-Error-Code": "RepoNotFound"})
        revision = unquote(parts[3 if parts[0] != "api" else 5]) if len(parts) > 4 else "main"
        sha = repository.branches.get(revision, revision)
        if sha not in repository.commits:
            return self._answer({}, 404, {"X-Error-Code": "RevisionNotFound"})
        files = repository.commits[sha]
        if parts[0] == "api" and "tree" not in parts:
            return self._answer({"id": name, "sha": sha, "siblings": [], "private": False})
        if parts[0] == "api":  # the tree
            return self._answer([
                {"type": "file", "path": path, "size": len(x), "oid": _sha(x)}
                for path, x in files.items()
            ])  # fmt: skip
        content = files["/".join(parts[4:])]
        return self._answer(content, 200, {"ETag": f'"{_sha(content)}"', "X-Repo-Commit": sha})

    def do_POST(self) -> None:
        parts = self._parts()
        size = int(self.headers["Content-Length"] or 0)
        body = self.rfile.read(size)
        if len(body) < size:
            return None  # its sender was killed
        if parts == ["api", "validate-yaml"]:
            return self._answer({"errors": [], "warnings": []})
        if not self._may:
            return self._answer({"error": "Invalid credentials"}, 401)
        if parts == ["api", "repos", "create"]:
            said = json.loads(body)
            name = f"{said['organization']}/{said['name']}"
            if said["organization"] != "me":
                return self._answer({"error": "not yours"}, 403)
            is_new = name not in self.repositories
            if is_new:
                self.repositories[name] = Repository(said.get("visibility") == "private")
            return self._answer({"url": self._address(name)}, 200 if is_new else 409)
        return self._change(parts, body)

    def _change(self, parts: list[str], body: bytes) -> None:
        name, verb, revision = "/".join(parts[2:4]), parts[4], unquote(parts[5])
        repository = self.repositories[name]
        if verb == "branch":
            if revision in repository.branches:
                return self._answer({"error": "exists"}, 409)
            repository.branches[revision] = repository.branches.get("main", "")
            return self._answer({})
        if verb == "preupload":
            files = [
                {"path": one["path"], "uploadMode": "regular", "shouldIgnore": False}
                for one in json.loads(body)["files"]
            ]
            return self._answer({"files": files})
        assert verb == "commit"
        lines = [json.loads(line) for line in body.splitlines()]
        files = dict(repository.commits.get(repository.branches.get(revision, ""), {}))
        for line in lines:
            if line["key"] == "header":
                repository.messages.append(line["value"]["summary"])
            else:
                assert line["key"] == "file"
                files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
        sha = _sha(body)
        repository.commits[sha] = files
        repository.branches[revision] = sha
        address = self._address(f"{name}/commit/{sha}")
        return self._answer({"success": True, "commitUrl": address, "commitOid": sha})

    @property
    def _may(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def _parts(self) -> list[str]:
        self.requests.append(f"{self.command} {self.path}")
        return urlsplit(self.path).path.strip("/").split("/")

    def _address(self, path: str) -> str:
        return f"http://{self.headers['Host']}/{path}"

    def _answer(
        self, content: Any, status: int = 200, headers: dict[str, str] | None = None
    ) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _sha(content: bytes) -> str:
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


@dataclass
class Hub:
    address: str
    repositories: dict[str, Repository]
    requests: list[str]


@contextmanager
def hub_stand_in() -> Iterator[Hub]:
    """Run the stand-in on a free port."""
    state: dict[str, Any] = {"repositories": {}, "requests": []}
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), state))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Hub(f"http://127.0.0.1:{server.server_port}", **state)
    finally:
        server.shutdown()
        server.server_close()
