"""The parts of a server put together: guards, routes, errors, the page."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import APIRouter, FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from elmore import __version__
from elmore.serve import answers, encoding
from elmore.serve.guards import ApiKeyGuard, HostGuard, LimitsGuard
from elmore.serve.index_routes import index_routes
from elmore.serve.limits import Limits
from elmore.serve.lookups import Lookups
from elmore.serve.metrics import Metrics, MetricsMiddleware
from elmore.serve.refusals import add_handlers, documented
from elmore.serve.registry import Registry
from elmore.serve.task_routes import task_routes
from elmore.serve.texts import TextReader
from elmore.serve.vector_routes import vector_routes
from elmore.serve.word_routes import word_routes

STATIC = Path(__file__).parent / "static"
SCHEMA = "/openapi.json"


def create_app(
    registry: Registry,
    limits: Limits,
    metrics: Metrics,
    *,
    api_key: str | None = None,
    allowed_hosts: Sequence[str] = (),
    allow_origins: Sequence[str] = (),
) -> FastAPI:
    """Return the server as an ASGI application."""
    reader, lookups = TextReader(limits), Lookups()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        for batcher in registry.batchers:
            batcher.start()
        yield
        for batcher in registry.batchers:
            await batcher.stop()
        reader.close()
        lookups.close()

    app = FastAPI(
        title="elmore",
        summary="Words with their vectors, in context.",
        version=__version__,
        openapi_url=SCHEMA,
        docs_url=None,  # these pages would load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        responses=documented(answers.Error),
    )
    add_handlers(app)
    app.include_router(vector_routes(registry, reader))
    app.include_router(word_routes(registry, reader))
    app.include_router(task_routes(registry, reader))
    app.include_router(index_routes(registry, reader, lookups))
    app.include_router(_server_routes(registry, metrics))
    app.mount("/", StaticFiles(directory=STATIC, html=True), name="page")
    # The last one that is added is the first that a request meets.
    app.add_middleware(LimitsGuard, limits=limits)
    if api_key:
        files = (path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*"))
        open_paths = ["/", "/health", SCHEMA, *(f"/{file}" for file in files)]
        app.add_middleware(ApiKeyGuard, api_key=api_key, open_paths=open_paths)
    if allow_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=allow_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
        )
    app.add_middleware(HostGuard, allowed_hosts=allowed_hosts, allowed_origins=allow_origins)
    app.add_middleware(MetricsMiddleware, metrics=metrics)
    return app


def _server_routes(registry: Registry, metrics: Metrics) -> APIRouter:
    """Return the routes about the server itself."""
    router = APIRouter(tags=["server"])

    @router.get("/models", response_model=answers.ModelsAnswer)
    async def models() -> Response:
        """The models of this server; the first is the default."""
        found = [
            {
                "name": served.name,
                "dim": served.elmo.dim,
                "n_layers": served.elmo.n_layers,
                "tokenizer": served.elmo.tokenizer.name,
                "n_words": None
                if served.elmo.model.vocab is None
                else len(served.elmo.model.vocab),
                "has_softmax": served.elmo.config.n_softmax_words is not None,
                "is_calibrated": served.elmo.model.calibration is not None,
            }
            for served in registry.models.values()
        ]
        return await encoding.json_response({"models": found})

    @router.head("/health", include_in_schema=False)  # load balancers ask so
    @router.get("/health", response_model=answers.HealthAnswer)
    async def health() -> Response:
        """Whether the server answers; needs no API key."""
        return await encoding.json_response({"status": "ok", "version": __version__})

    @router.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def prometheus() -> Response:
        """Requests, latencies, batch sizes, queue lengths and cached words, for Prometheus."""
        return Response(metrics.page(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router
