"""Texts that take long cannot keep the tokenizer threads from everybody else."""

import asyncio
import time

import pytest

from elmore.serve.limits import Limits
from elmore.serve.refusals import Refused
from elmore.serve.texts import TextReader
from elmore.text import tokenizer_by_name


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["'.", "“", "가?"])
def test_the_slowest_requests_delay_another_by_seconds_at_most(piece: str) -> None:
    limits = Limits()
    slowest = piece * (limits.max_characters // len(piece))
    honest = "The bank of the river is steep. " * 20

    async def ask() -> float:
        reader = TextReader(limits)
        tokenizer = tokenizer_by_name("english")
        attacks = [
            asyncio.create_task(reader.tokenize([slowest], tokenizer, "NFC")) for _ in range(4)
        ]
        await asyncio.sleep(0)  # both threads are taken
        began = time.monotonic()
        (found,) = await reader.tokenize([honest], tokenizer, "NFC")
        taken = time.monotonic() - began
        assert len(found.tokens) == 160
        ends = await asyncio.gather(*attacks, return_exceptions=True)
        assert all(isinstance(end, Refused) for end in ends)  # for their number of tokens
        reader.close()
        return taken

    assert asyncio.run(ask()) < Limits().timeout_s / 2
