"""An address in, a running server out, until it is told to stop."""

import gc
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from elmore.errors import ConfigError
from elmore.serve.app import create_app
from elmore.serve.connections import BACKLOG, Connection
from elmore.serve.guards import host_name
from elmore.serve.limits import Limits
from elmore.serve.metrics import Metrics
from elmore.serve.registry import load_registry
from elmore.serve.samples import add_samples

# A model's thread needs the interpreter often and shortly, the event loop long: it should not have
# to wait for Python's usual 5 ms each time.
_SWITCH_S = 0.0005
_MORE_S = 5.0  # to send what was computed in time
_INTERRUPTED = 130  # as the command line ends after Ctrl-C
_MOST_UNSENT = 2**16  # bytes of an answer that wait in the system, where no limit counts them
_OTHER_FILES = 256  # of models, indexes and libraries


class Server(uvicorn.Server):
    """Says when it listens, holds connections to their limits, takes a signal as a success."""

    def __init__(
        self, app: FastAPI, limits: Limits, on_start: Callable[[], None] = lambda: None
    ) -> None:
        connection: Any = partial(Connection, limits, {})
        super().__init__(
            uvicorn.Config(
                app,
                http=connection,
                ws="none",
                log_level="error",
                access_log=False,
                proxy_headers=False,  # nobody asks where a request came from
                server_header=False,
                backlog=BACKLOG,
                timeout_keep_alive=limits.keep_alive_s,
                timeout_graceful_shutdown=round(limits.timeout_s + _MORE_S),
            )
        )
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Open the address, and say so."""
        await super().startup(sockets)
        self._on_start()

    async def on_tick(self, counter: int) -> bool:
        """Check the connections, once a second."""
        if counter % 10 == 0:
            now = time.monotonic()
            for connection in list(self.server_state.connections):
                if isinstance(connection, Connection):
                    connection.check(now)
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Finish what was accepted; a second Ctrl-C does not wait for it."""
        if self.should_exit and sig == signal.SIGINT:
            os._exit(_INTERRUPTED)
        self.should_exit = True


def serve(
    *,
    models: Sequence[str],
    indexes: Sequence[str] | None,
    tasks: Sequence[str],
    host: str,
    port: int,
    limits: Limits,
    api_key: str | None,
    allowed_hosts: Sequence[str],
    allow_origins: Sequence[str],
    on_start: Callable[[str], None],
    on_warning: Callable[[str], None],
) -> None:
    """Serve until Ctrl-C or SIGTERM; `on_start` is told the address when it is open.

    Without `indexes`, those that came with the package are served; `on_warning` is told of each
    that cannot be.
    """
    hosts = [host.lower(), *map(host_name, allowed_hosts)]
    with bind(host, port) as listener:
        limits = _within_open_files(limits, on_warning)
        metrics = Metrics()
        registry = load_registry(models, indexes or (), tasks, limits=limits, metrics=metrics)
        for said in add_samples(registry) if indexes is None else ():
            on_warning(said)
        app = create_app(
            registry, limits, metrics,
            api_key=api_key, allowed_hosts=hosts, allow_origins=allow_origins,
        )  # fmt: skip
        address = address_of(listener)
        sys.setswitchinterval(_SWITCH_S)
        gc.collect()
        gc.freeze()  # what is loaded now stays: no need to look through it again and again
        Server(app, limits, lambda: on_start(address)).run(sockets=[listener])
    if any(thread.daemon for thread in threading.enumerate()):
        # They compute what nobody waits for any more. Python cannot end them without harm.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _within_open_files(limits: Limits, on_warning: Callable[[str], None]) -> Limits:
    """Raise the limit of open files if that is needed, or else lower that of connections."""
    try:
        import resource  # noqa: PLC0415  not on every system
    except ImportError:
        return limits
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = limits.max_connections + BACKLOG + _OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return limits
    if hard != resource.RLIM_INFINITY:
        needed = max(soft, min(needed, hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    most = max(1, needed - BACKLOG - _OTHER_FILES)
    if most < limits.max_connections:
        on_warning(
            f"{needed:,} files can be open here, enough for {most:,} connections instead of "
            f"{limits.max_connections:,}; raise ulimit -Hn (LimitNOFILE), or lower "
            "--max-connections"
        )
        return replace(limits, max_connections=most)
    return limits


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that has an address; it does not listen yet."""
    if not 0 <= port <= 65_535:
        raise ConfigError(f"the port is {port}; expected a number from 0 to 65535")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError):
        raise ConfigError(f"there is no host {host!r}; give an address of this machine") from None
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":  # elsewhere it would let two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # or the system takes megabytes that nobody reads
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _MOST_UNSENT)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise ConfigError(
            f"cannot open {host}:{port} ({error.strerror}); stop what has it, "
            "or choose another --port"
        ) from None
    return listener


def address_of(listener: socket.socket) -> str:
    """Return the address of a socket as a browser takes it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
