"""Whatever reads text takes a bounded time per character, for the texts that once took longest."""

import pytest

from tests.fuzz.times import MAX_US, functions, microseconds, repeated

WORST = [["'."], [",,"], ["“"], ["가?"], ["あ"], ["a"], ["𝐚", "'", "''"], ["e", "\u0301"]]


@pytest.mark.slow
@pytest.mark.parametrize("pieces", WORST, ids="".join)
def test_the_time_for_a_character_is_bounded(pieces: list[str]) -> None:
    text = repeated(pieces) * 2  # what is quadratic is over the bound then
    times = {name: microseconds(function, text) for name, function in functions().items()}
    assert {name: taken for name, taken in times.items() if taken > MAX_US} == {}
