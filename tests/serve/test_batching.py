"""What arrives together is computed together, and nobody pays for another's mistake."""

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from elmore import Elmo
from elmore.errors import ConfigError, DataError
from elmore.serve.batching import Batcher
from elmore.serve.limits import Limits
from elmore.serve.metrics import Metrics
from elmore.serve.refusals import Refused
from elmore.serve.registry import serve_model
from elmore.serve.texts import TextReader

SMALL = {"max_texts": 4, "max_queue_texts": 8, "max_batch_tokens": 10}


@dataclass(frozen=True)
class Echo:
    """Gives texts back, once the gate is open; remembers what it was given together."""

    gate: threading.Event = field(default_factory=threading.Event)
    calls: list[list[Any]] = field(default_factory=list, compare=False)

    def __call__(self, texts: list[Any]) -> list[Any]:
        self.gate.wait()
        self.calls.append(texts)
        if "bad" in texts:
            raise DataError("a bad text")
        return texts


def run(work: Any, jobs: list[tuple[list[Any], int]], **limits: Any) -> list[Any]:
    """Submit jobs while the thread is busy with a first one, then let it go on."""

    async def all_of_them() -> list[Any]:
        batcher = Batcher("test", Limits(**{**SMALL, **limits}))
        batcher.start()
        first = asyncio.create_task(batcher.submit(["first"], 1, work))
        while batcher.n_waiting or not first.get_coro():
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)
        waiting = [asyncio.create_task(batcher.submit(*job, work)) for job in jobs]
        await asyncio.sleep(0.01)
        work.gate.set()
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert await first == ["first"]
        assert batcher.n_waiting == 0
        await batcher.stop()
        return list(found)

    return asyncio.run(all_of_them())


def test_batches_fill_the_budget_in_order() -> None:
    work = Echo()
    found = run(work, [(["a"], 4), (["b", "c"], 6), (["d"], 5), (["e"], 50), (["f"], 1)])
    assert found == [["a"], ["b", "c"], ["d"], ["e"], ["f"]]
    assert work.calls == [["first"], ["a", "b", "c"], ["d"], ["e"], ["f"]]


def test_a_budget_of_one_switches_batching_off() -> None:
    work = Echo()
    assert run(work, [(["a"], 3), (["b"], 3)], max_batch_tokens=1) == [["a"], ["b"]]
    assert work.calls == [["first"], ["a"], ["b"]]


def test_a_bad_request_spoils_no_other() -> None:
    good, bad, other = run(Echo(), [(["a"], 1), (["bad"], 1), (["b"], 1)])
    assert (good, other) == (["a"], ["b"])
    assert isinstance(bad, DataError)


def test_a_full_queue_is_refused() -> None:
    found = run(Echo(), [(["a"] * 4, 1), (["b"] * 4, 1), (["c"], 1)])
    assert found[:2] == [["a"] * 4, ["b"] * 4]
    assert isinstance(found[2], Refused)
    assert (found[2].status_code, found[2].headers) == (429, {"Retry-After": "1"})
    assert "8 texts wait for test, and 8 may" in found[2].detail


def test_a_request_that_was_given_up_is_not_computed() -> None:
    work = Echo()

    async def give_up() -> None:
        batcher = Batcher("test", Limits(**SMALL))
        batcher.start()
        first = asyncio.create_task(batcher.submit(["first"], 1, work))
        await asyncio.sleep(0.01)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(batcher.submit(["late"], 1, work), 0.01)
        work.gate.set()
        assert await first == ["first"]
        assert await batcher.submit(["next"], 1, work) == ["next"]
        await batcher.stop()

    asyncio.run(give_up())
    assert work.calls == [["first"], ["next"]]


def test_whatever_is_asked_of_them_texts_are_read_together(elmo: Elmo) -> None:
    """Requests with other layers share a batch, and each gets what `Elmo` gives."""
    metrics = Metrics()
    asked: list[tuple[list[Any], Any, Any]] = [
        ([f"the bank {k}", "은행"], layers, pooling)
        for k, layers in enumerate(["mix", "all", "top", "expected", 1])
        for pooling in (None, "mean")
    ]

    async def ask() -> list[Any]:
        limits = Limits()
        model, reader = serve_model("m", elmo, limits=limits, metrics=metrics), TextReader(limits)
        waiting = [
            asyncio.create_task(reader.vectors(model, texts, layers=layers, pooling=pooling))
            for texts, layers, pooling in asked
        ]
        await asyncio.sleep(0.01)
        assert b'elmore_queue_texts{model="m"} 20.0' in metrics.page()
        model.batcher.start()
        found = await asyncio.gather(*waiting)
        await model.batcher.stop()
        reader.close()
        return found

    for results, (texts, layers, pooling) in zip(asyncio.run(ask()), asked, strict=True):
        if pooling is None:
            expected = [one.vectors for one in elmo.encode_tokens(texts, layers=layers)]
        else:
            expected = list(elmo.encode(texts, layers=layers, pooling=pooling))
        for one, right in zip(results, expected, strict=True):
            np.testing.assert_array_equal(one.vectors, right)
    page = metrics.page().decode()
    assert 'elmore_batch_texts_count{model="m"} 1.0' in page
    assert 'elmore_batch_texts_sum{model="m"} 20.0' in page
    assert 'elmore_queue_texts{model="m"} 0.0' in page


@pytest.mark.parametrize(
    "wrong",
    [{"max_texts": 0}, {"max_body_bytes": -1}, {"timeout_s": 0}, {"timeout_s": float("nan")},
     {"max_queue_texts": 100}, {"max_tokens": 1.5}],
)  # fmt: skip
def test_limits_that_cannot_be(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Limits(**wrong)
