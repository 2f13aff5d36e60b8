"""`elmore serve`: the HTTP API, on the bundled models or your own."""

import dataclasses
import os
import sys
from importlib.util import find_spec
from typing import Annotated, Any

from cyclopts import Group, Parameter
from docstring_parser import parse_from_object

from elmore.cli import arguments
from elmore.errors import ConfigError, MissingExtraError
from elmore.serve.limits import Limits

_KEY_VARIABLE = "ELMORE_API_KEY"


def _limit_flags() -> type:
    """Return a dataclass with a flag for each limit."""
    docs = {doc.arg_name: doc.description or "" for doc in parse_from_object(Limits).params}
    fields = []
    for field in dataclasses.fields(Limits):
        help_text = " ".join(docs[field.name].split())
        options: dict[str, Any] = {"help": help_text, "group": Group("Limits")}
        kind: Any = field.type
        if kind is int:
            options["converter"] = arguments.whole_number
        fields.append((field.name, Annotated[kind, Parameter(**options)], field.default))
    flags = dataclasses.make_dataclass("LimitFlags", fields, frozen=True, kw_only=True)
    flags.__module__ = __name__
    return flags


LimitFlags: Any = _limit_flags()
_DEFAULT_LIMITS = LimitFlags()


def serve(
    *,
    model: Annotated[list[str] | None, Parameter(alias="-m", negative="")] = None,
    index: Annotated[list[str] | None, Parameter(negative="")] = None,
    task: Annotated[list[str] | None, Parameter(negative="")] = None,
    host: str = "127.0.0.1",
    port: Annotated[int, Parameter(alias="-p", converter=arguments.whole_number)] = 8000,
    api_key: str | None = None,
    allowed_host: Annotated[list[str] | None, Parameter(negative="")] = None,
    allow_origin: Annotated[list[str] | None, Parameter(negative="")] = None,
    limits: Annotated[LimitFlags, Parameter(name="*")] = _DEFAULT_LIMITS,
) -> None:
    """Serve vectors, fills, scores, senses and tasks over HTTP, and print the address.

    Ctrl-C or SIGTERM stops it when all accepted requests are answered. It can be reached from this
    machine alone unless --host says otherwise. Open the address in a browser to explore; the API is
    described at /openapi.json.

    Parameters
    ----------
    model
        A model, which may be given several times: a bundled name, a folder, or NAME=FOLDER. The
        first is the default of requests. Without it, all bundled models are served.
    index
        An index (elmore index), as NAME=FOLDER; several times for several. Without it, the small
        indexes that came with the bundled models are served.
    task
        A trained task (elmore train), as NAME=FOLDER; several times for several.
    host
        The address to listen on; 0.0.0.0 for all of this machine's.
    port
        The port; 0 takes any that is free.
    api_key
        Clients must send it as a bearer token. Better given in the environment variable
        ELMORE_API_KEY, where other users do not see it.
    allowed_host
        A name that clients call this server by, such as vectors.example.org; several times for
        several. Its addresses, localhost and the name given by --host need not be named; requests
        to other names are refused, for fear of DNS rebinding.
    allow_origin
        A web origin, such as https://example.org, whose pages may use the API (CORS).
    """
    if any(find_spec(name) is None for name in ("fastapi", "uvicorn", "prometheus_client")):
        raise MissingExtraError("elmore serve", "serve")
    checked = Limits(**vars(limits))
    from elmore.formats import bundled_models
    from elmore.serve.server import serve as run

    key = os.environ.get(_KEY_VARIABLE) if api_key is None else api_key
    if key == "":
        raise ConfigError(
            f"the API key is empty; give one (--api-key, {_KEY_VARIABLE}), or unset it to let "
            "everybody in"
        )

    def say(address: str) -> None:
        sys.stdout.write(f"elmore serves at {address} (Ctrl-C stops it)\n")
        sys.stdout.flush()

    def warn(sentence: str) -> None:
        sys.stderr.write(f"warning: {sentence}\n")

    run(
        models=model or list(bundled_models()),
        indexes=index,
        tasks=task or [],
        host=host,
        port=port,
        limits=checked,
        api_key=key,
        allowed_hosts=allowed_host or [],
        allow_origins=allow_origin or [],
        on_start=say,
        on_warning=warn,
    )
