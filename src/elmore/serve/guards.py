"""What every request passes before it is parsed: the key, the size of its body, the time it has."""

import asyncio
import hmac
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from elmore.serve.limits import Limits
from elmore.serve.refusals import Refused, refusal_response

_DISCARDED = 32  # times the largest body is read to its end, so that the client reads the refusal


class ApiKeyGuard:
    """Lets those pass who send the key as a bearer token; `open_paths` need none."""

    def __init__(self, app: ASGIApp, api_key: str, open_paths: Iterable[str]) -> None:
        self.app = app
        self._expected = f"Bearer {api_key}".encode()
        self._open_paths = frozenset(open_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and scope["path"] not in self._open_paths:
            given = Headers(scope=scope).get("authorization", "").encode("latin-1")
            if not hmac.compare_digest(given, self._expected):
                headers = {"WWW-Authenticate": "Bearer"}
                sentence = "the API key is missing or wrong; send Authorization: Bearer KEY"
                refused = refusal_response(scope["path"], 401, sentence, headers)
                await refused(scope, receive, send)
                return
        await self.app(scope, receive, send)


class LimitsGuard:
    """Refuses bodies that are too large, and gives a request up when its time is over."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.app = app
        self.limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        n_bytes = 0
        started = False

        async def receive_within() -> Message:
            nonlocal n_bytes
            message = await receive()
            n_bytes += len(message.get("body", b""))
            if n_bytes > self.limits.max_body_bytes:
                while message.get("more_body") and n_bytes < (
                    _DISCARDED * self.limits.max_body_bytes
                ):
                    message = await receive()
                    n_bytes += len(message.get("body", b""))
                raise Refused(
                    413,
                    f"the body has more than {self.limits.max_body_bytes:,} bytes; "
                    "send fewer texts at a time",
                )
            return message

        async def send_in_time(message: Message) -> None:
            nonlocal started
            started = True
            clock.reschedule(None)  # a slow reader has all the time it needs
            await send(message)

        try:
            async with asyncio.timeout(self.limits.timeout_s) as clock:
                await self.app(scope, receive_within, send_in_time)
        except TimeoutError:
            if started:
                raise
            sentence = f"there was no answer within {self.limits.timeout_s:g} seconds; try again"
            refused = refusal_response(scope["path"], 503, sentence, {"Retry-After": "1"})
            await refused(scope, receive, send)
