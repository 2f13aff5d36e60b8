"""What every request passes before it is parsed.

The host and the origin it names, the key, the size of its body, the time it has.
"""

import asyncio
import hmac
import ipaddress
import re
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from elmore.errors import ConfigError
from elmore.serve.limits import Limits
from elmore.serve.refusals import Refused, refusal_response

_DISCARDED = 32  # times the largest body is read to its end, so that the client reads the refusal


_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]+)(?::\d*)?")  # its port is nobody's business


def host_name(name: str) -> str:
    """Return the name of a host as it is compared; refuse what is none."""
    if not re.fullmatch(r"[a-z0-9._-]+", name.lower()):
        raise ConfigError(
            f"the allowed host is {name!r}; expected a name such as vectors.example.org, without "
            "scheme and port"
        )
    return name.lower()


class HostGuard:
    """Lets those pass who ask for this server by its name, or from a page that may ask.

    A web page whose own name is made to lead here (DNS rebinding) could otherwise read answers. An
    address in place of a name cannot be made to lead elsewhere, so that every address is allowed.
    """

    def __init__(
        self, app: ASGIApp, allowed_hosts: Iterable[str], allowed_origins: Iterable[str]
    ) -> None:
        self.app = app
        self._hosts = frozenset(allowed_hosts) | {"localhost"}
        self._origins = frozenset(allowed_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        sentence = self._refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        if sentence is None:
            await self.app(scope, receive, send)
        else:
            await refusal_response(scope["path"], 403, sentence)(scope, receive, send)

    def _refusal(self, headers: Headers) -> str | None:
        hosts = headers.getlist("host")  # browsers always send one
        for host in hosts:
            found = _HOST.fullmatch(host.lower())
            name = found[1] if found else host
            if name not in self._hosts and not _is_address(name):
                return (
                    f"this server is not known as {name!r}; use its address, or start it with "
                    f"--allowed-host {name}"
                )
        for origin in headers.getlist("origin"):
            is_own = origin.lower().partition("://")[2] in (host.lower() for host in hosts)
            if not is_own and self._origins.isdisjoint((origin, "*")):
                return (
                    f"pages of {origin!r} may not use this server; to let them, start it with "
                    f"--allow-origin {origin}"
                )
        return None


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True


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
