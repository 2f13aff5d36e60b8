"""What a server did, as Prometheus reads it: requests, latencies, batches, queues, word caches."""

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST"})
_SIZES = tuple(float(2**power) for power in range(15))


class Metrics:
    """The figures of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "elmore_requests", "Requests that were answered.", ["method", "path", "status"],
            registry=self._registry,
        )  # fmt: skip
        self.seconds = Histogram(
            "elmore_request_seconds", "Time to the answer of a request.", ["path"],
            buckets=_SECONDS, registry=self._registry,
        )  # fmt: skip
        self._answered: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self.batch_texts = Histogram(
            "elmore_batch_texts", "Texts that were read in one batch.", ["model"],
            buckets=_SIZES[:10], registry=self._registry,
        )  # fmt: skip
        self.batch_tokens = Histogram(
            "elmore_batch_tokens", "Tokens that were read in one batch, sentence marks included.",
            ["model"], buckets=_SIZES, registry=self._registry,
        )  # fmt: skip
        self._queue = Gauge(
            "elmore_queue_texts", "Texts that wait to be read.", ["model"], registry=self._registry
        )
        self._cached = Gauge(
            "elmore_cached_words", "Words in the word cache.", ["model"], registry=self._registry
        )

    def on_request(self, method: str, path: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        key = (method, path, status)
        if key not in self._answered:  # labels() takes longer than the counting
            self._answered[key] = (self.requests.labels(*key), self.seconds.labels(path))
        n_requests, latency = self._answered[key]
        n_requests.inc()
        latency.observe(seconds)

    def on_batch(self, model: str) -> Callable[[int, int], None]:
        """Return what is told the texts and tokens of each batch of a model."""
        texts, tokens = self.batch_texts.labels(model), self.batch_tokens.labels(model)

        def tell(n_texts: int, n_tokens: int) -> None:
            texts.observe(n_texts)
            tokens.observe(n_tokens)

        return tell

    def watch_queue(self, model: str, n_waiting: Callable[[], int]) -> None:
        """Read the length of a queue whenever the metrics are read."""
        self._queue.labels(model).set_function(n_waiting)

    def watch_cache(self, model: str, n_words: Callable[[], int]) -> None:
        """Read the size of a word cache whenever the metrics are read."""
        self._cached.labels(model).set_function(n_words)

    def page(self) -> bytes:
        """Return all figures in Prometheus's text format."""
        return generate_latest(self._registry)


class MetricsMiddleware:
    """Counts and times what passes through it, by the pattern of the path."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 500

        async def watch(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watch)
        finally:
            # What a client types is no label: there would be a series for each.
            path = getattr(scope.get("route"), "path", "") or "other"
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self.metrics.on_request(method, path, status, time.perf_counter() - start)
