"""Clients that are slow, many or silent neither keep connections nor fill the memory."""

import asyncio
import json
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from starlette.responses import Response

from elmore.serve import server as server_module
from elmore.serve.guards import LimitsGuard
from elmore.serve.limits import Limits

from .conftest import serving

PATIENCE_S = 60.0  # a machine that does much else is late
OPTIONS: dict[str, Any] = {
    "header_timeout_s": 0.3, "keep_alive_s": 1, "timeout_s": 1.0, "max_connections": 10,
    "max_header_bytes": 2000, "max_body_bytes": 10_000,
}  # fmt: skip
GET = b"GET /quick HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /read HTTP/1.1\r\nHost: localhost\r\n"


def small_app(limits: Limits) -> FastAPI:
    """Make a server that needs no model."""
    app = FastAPI()
    app.state.is_over = False

    @app.get("/quick")
    async def quick() -> Response:
        return Response(b"here")

    @app.get("/never")
    async def never() -> Response:
        while not app.state.is_over:
            await asyncio.sleep(0.05)
        return Response()

    @app.get("/large")
    async def large() -> Response:
        return Response(bytes(100_000_000))

    @app.post("/read")
    async def read(body: dict[str, int]) -> Response:
        return Response(json.dumps(body))

    app.add_middleware(LimitsGuard, limits=limits)
    return app


class Running:
    """A server, and raw connections to it."""

    def __init__(self, app: FastAPI, address: str, server: server_module.Server) -> None:
        self.app, self.url, self.server = app, address, server
        host, port = address.removeprefix("http://").split(":")
        self.address = (host, int(port))

    @property
    def n_connections(self) -> int:
        return len(self.server.server_state.connections)

    def connect(self, sent: bytes = b"", n_buffered: int | None = None) -> socket.socket:
        made = socket.socket()
        if n_buffered is not None:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, n_buffered)
        made.settimeout(PATIENCE_S)
        made.connect(self.address)
        made.sendall(sent)
        return made

    def check_health(self) -> None:
        assert httpx.get(f"{self.url}/quick", timeout=PATIENCE_S).text == "here"
        wait_until(lambda: self.n_connections == 0)


@contextmanager
def started(**options: Any) -> Iterator[Running]:
    limits = Limits(**{**OPTIONS, **options})
    app = small_app(limits)
    with serving(app, limits) as (address, server):
        yield Running(app, address, server)


@pytest.fixture
def running() -> Iterator[Running]:
    with started() as found:
        yield found


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def read_all(connection: socket.socket) -> bytes:
    """Return what comes until the server closes the connection."""
    found = b""
    with suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            found += piece
    return found


def check_refusal(found: bytes, status: int) -> str:
    """Return the sentence of a refusal, which is the only answer."""
    head, _, body = found.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), found
    assert b"Connection: close" in head
    sentence: str = json.loads(body)["error"]
    return sentence


@pytest.mark.parametrize("sent", [
    b"", b"G", GET, GET + b"X: ", b"\r\n\r\n",
    GET + b"\r\n", GET + b"\r\n" + GET,  # one request is answered, a second never comes
    POST + b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
])  # fmt: skip
def test_half_a_request_is_not_waited_for(running: Running, sent: bytes) -> None:
    with running.connect(sent) as connection:
        read_all(connection)
    running.check_health()


@pytest.mark.parametrize(("sent", "piece"), [
    (GET, b"X"), (b"", b"\r\n"), (GET + b"\r\n", b"\r\n"),
    # The answer to a body that is too large is sent at once; the rest of the body comes slowly.
    (POST + b"Content-Length: 1000000\r\n\r\n" + bytes(400_000), b"x"),
    (POST + b"Content-Type: application/json\r\nContent-Length: 9999\r\n\r\n{", b" "),
])  # fmt: skip
def test_a_byte_now_and_then_is_not_enough(running: Running, sent: bytes, piece: bytes) -> None:
    with running.connect(sent) as connection:
        closed = threading.Event()

        def drip() -> None:
            with suppress(OSError):
                while not closed.wait(0.05):
                    connection.sendall(piece)

        thread = threading.Thread(target=drip)
        thread.start()
        read_all(connection)
        closed.set()
        thread.join()
    running.check_health()


@pytest.mark.parametrize("n_pieces", [1, 100])
@pytest.mark.parametrize("sent", [
    b"GET /" + b"a" * 3000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    GET + b"X: " + b"a" * 3000 + b"\r\n\r\n",
    GET + b"".join(b"X%d: a\r\n" % k for k in range(500)) + b"\r\n",
    b"x" * 3000,
])  # fmt: skip
def test_a_long_head_is_refused(running: Running, sent: bytes, n_pieces: int) -> None:
    with running.connect() as connection:
        size = -(-len(sent) // n_pieces)
        for start in range(0, len(sent), size):
            connection.sendall(sent[start : start + size])
            time.sleep(0.002)
        found = read_all(connection)
    if sent.startswith(b"x"):
        assert check_refusal(found, 400) == "this is not valid HTTP"
    else:
        assert check_refusal(found, 431) == "the headers have more than 2,000 bytes"
    running.check_health()


@pytest.mark.parametrize("sent", [b"0\r\nX: ", b"1;a="])
def test_endless_trailers(running: Running, sent: bytes) -> None:
    head = POST + b"Transfer-Encoding: chunked\r\n\r\n"
    with running.connect(head + sent) as connection, suppress(ConnectionError):
        for _ in range(1000):
            connection.sendall(b"x" * 1000)
            time.sleep(0.001)
        pytest.fail("a megabyte was taken")
    running.check_health()


def test_requests_with_long_bodies_are_no_long_heads(running: Running) -> None:
    with httpx.Client(base_url=running.url, timeout=PATIENCE_S) as client:
        for _ in range(3):
            body = {"a" * 9000: 1}
            assert client.post("/read", json=body).json() == body
    length = b"Content-Type: application/json\r\nContent-Length: 9000\r\n"
    one = POST + length + b"\r\n" + b'{"a": 1}'.ljust(9000)
    with running.connect(5 * one + GET + b"Connection: close\r\n\r\n") as connection:
        assert read_all(connection).count(b"200 OK") == 6
    running.check_health()


BODY = POST + b"Content-Type: application/json\r\nContent-Length: 8\r\n\r\n"
LARGE = GET.replace(b"quick", b"large") + b"\r\n"


@pytest.mark.parametrize(("sent", "rest"), [
    (b"", GET), (GET, b""), (GET + b"\r\n" + GET, b""), (BODY, b'{"a": 1}' + GET), (LARGE, None),
    (POST + b"Content-Length: 1000000\r\n\r\n" + bytes(400_000), None),
])  # fmt: skip
def test_who_has_waited_longest_for_a_client_makes_room(sent: bytes, rest: bytes | None) -> None:
    patient = {"header_timeout_s": PATIENCE_S, "keep_alive_s": 60, "timeout_s": PATIENCE_S}
    with started(**patient) as running, ExitStack() as stack:
        slow = [stack.enter_context(running.connect(sent, 4096)) for _ in range(30)]
        assert httpx.get(f"{running.url}/quick", timeout=PATIENCE_S).text == "here"
        wait_until(lambda: running.n_connections <= 10)
        read_all(slow[0])  # which ends, as it was closed
        if rest is not None:
            slow[-1].sendall(rest + b"Connection: close\r\n\r\n")
            assert read_all(slow[-1]).endswith(b"here")


def test_no_connection_that_waits_for_an_answer_makes_room() -> None:
    with started(timeout_s=PATIENCE_S) as running, ExitStack() as stack:
        never = GET.replace(b"quick", b"never") + b"\r\n"
        busy = [stack.enter_context(running.connect(never)) for _ in range(10)]
        wait_until(lambda: len(running.server.server_state.tasks) == 10)
        response = httpx.get(f"{running.url}/quick", timeout=PATIENCE_S)
        assert response.status_code == 503
        assert response.headers["retry-after"] == "1"
        assert "10 connections" in response.json()["error"]
        running.app.state.is_over = True
        assert all(connection.recv(100).startswith(b"HTTP/1.1 200 OK") for connection in busy)
        for connection in busy:
            connection.close()
        wait_until(lambda: running.n_connections == 0)
        running.check_health()


def test_an_answer_that_is_never_read(running: Running) -> None:
    with running.connect(LARGE, n_buffered=4096):
        wait_until(lambda: running.n_connections == 1)
        wait_until(lambda: running.n_connections == 0)
    running.check_health()


def test_an_answer_that_is_read_slowly_comes_whole() -> None:
    asked = GET.replace(b"quick", b"large") + b"Connection: close\r\n\r\n"
    with started(timeout_s=0.5) as running, running.connect(asked, n_buffered=4096) as connection:
        n_read = 0
        for _ in range(30):  # some seconds, 6 times the time that a client may read nothing
            n_read += len(connection.recv(10_000))
            time.sleep(0.1)
        while piece := connection.recv(1_000_000):
            n_read += len(piece)
    assert n_read > 100_000_000


@pytest.mark.parametrize(("soft", "hard", "most"), [
    (256, 100_000, 1000), (1024, 4096, 1000), (1024, 1024, 640), (256, 600, 216),
    (1_000_000, 1_000_000, 1000), (1024, resource.RLIM_INFINITY, 1000),
])  # fmt: skip
def test_files_that_may_be_open(
    soft: int, hard: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, warnings = [(soft, hard)], []
    monkeypatch.setattr(resource, "getrlimit", lambda _: given[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: given.append(limits))
    found = server_module._within_open_files(Limits(), warnings.append)
    assert found.max_connections == most
    assert bool(warnings) == (most < 1000)
    assert given[-1][0] >= most + 384
    assert given[-1][1] == hard
