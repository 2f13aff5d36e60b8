"""Connections in, requests out: how long clients may take, how large a head may be, how many.

uvicorn parses and answers requests. Here is what it has no limits for: clients that send nothing or
half a request, or never read their answer, and more of them than files can be open. A server
checks its connections once a second; within a request, the guards count its time.
"""

import asyncio
import http
import time
from typing import Any

from msgspec.json import encode as to_json
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from elmore.serve.limits import Limits

BACKLOG = 128
"""Connections that wait to be taken, or to be refused, beside those that are open."""
_LINGER_S = 2.0  # for a client to read why it is refused
_MIN_BYTES_PER_S = 10_000  # of an answer that a client takes up


class Connection(HttpToolsProtocol):
    """A connection within limits; `waiting` has all that wait for their clients, oldest first."""

    def __init__(self, limits: Limits, waiting: "dict[Connection, None]", **given: Any) -> None:
        super().__init__(**given)
        self.limits, self._waiting = limits, waiting
        self._deadline = time.monotonic() + limits.header_timeout_s  # while it is idle
        self._n_parsing = 0  # bytes that came since something was parsed
        self._refused = False
        self._unread: tuple[float, int] | None = None  # bytes of an answer at some time

    @property
    def is_idle(self) -> bool:
        """Whether it has no request that is whole, nor an answer that is on its way."""
        is_answered = self.cycle is None or self.cycle.response_complete
        return is_answered and not self.transport.get_write_buffer_size()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection; above the limit in place of the one that has waited longest."""
        super().connection_made(transport)
        most = self.limits.max_connections
        if len(self.connections) > most:
            oldest = next(iter(self._waiting), None)
            if oldest is not None:
                del self._waiting[oldest]
                oldest.transport.abort()
            elif len(self.connections) > most + BACKLOG:
                transport.abort()
            else:
                self.refuse(
                    503, f"the server has {most} connections, its most; try again in a second"
                )
        self._waiting[self] = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._waiting.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, unless the head of a request has grown too large."""
        if self._refused:
            return
        self._n_parsing += len(data)
        super().data_received(data)
        self._check_head(self._n_parsing)

    def on_headers_complete(self) -> None:
        """Start to answer a request."""
        self._n_parsing = 0
        self._check_head(len(self.url) + sum(len(name) + len(v) for name, v in self.headers))
        if not self._refused:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of a body."""
        self._n_parsing = 0
        if not self._refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request, which waits for the server from now on."""
        self._n_parsing = 0
        if not self._refused:
            if not self.cycle.response_complete:
                self._waiting.pop(self, None)
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait until the answer is read, and for the next request."""
        if not self.pipeline:
            self._waiting[self] = None
        limits, self._unread = self.limits, None
        self._deadline = time.monotonic() + limits.keep_alive_s + limits.header_timeout_s
        super().on_response_complete()

    def resume_writing(self) -> None:
        """Go on with an answer that is read."""
        self._unread = None
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self.refuse(400, "this is not valid HTTP")

    def refuse(self, status: int, sentence: str) -> None:
        """Answer in place of a request, and close the connection when that was read."""
        if self._refused:
            return
        self._refused = True
        if not self.is_idle:  # another request of this connection is being answered
            self.transport.abort()
            return
        content = to_json({"error": sentence})
        head = [
            f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}",
            "Content-Type: application/json",
            f"Content-Length: {len(content)}",
            "Connection: close",
            *(["Retry-After: 1"] if status == 503 else []),
        ]
        self.transport.write("\r\n".join([*head, "\r\n"]).encode() + content)
        self.transport.write_eof()
        self._deadline = time.monotonic() + _LINGER_S

    def check(self, now: float) -> None:
        """End the connection if its client is too slow."""
        n_unread = self.transport.get_write_buffer_size()
        if self.is_idle and now > self._deadline:
            self.transport.abort()
        elif not n_unread:
            self._unread = None
        elif self._unread is None:
            self._unread = (now, n_unread)
        elif now - self._unread[0] > self.limits.timeout_s:
            if self._unread[1] - n_unread < self.limits.timeout_s * _MIN_BYTES_PER_S:
                self.transport.abort()
            self._unread = (now, n_unread)

    def _check_head(self, n_bytes: int) -> None:
        if n_bytes > self.limits.max_header_bytes:
            self.refuse(431, f"the headers have more than {self.limits.max_header_bytes:,} bytes")
