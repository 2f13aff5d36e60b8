"""One `Elmo` in a forked child, while other threads are at work."""

import multiprocessing
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import numpy as np
import pytest

from elmore import Elmo
from elmore.engine import parallel

TEXTS = [["the", "bank", "of", "the", "river"][: 1 + n % 5] for n in range(40)]
needs_fork = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")


def vectors(elmo: Elmo, texts: list[list[str]]) -> np.ndarray:
    return np.concatenate([text.vectors for text in elmo.encode_tokens(texts)])


def in_child(elmo: Elmo, texts: list[list[str]]) -> Any:
    """Return the vectors that a forked child gives and how many threads compute there."""
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()

    def work() -> None:
        found = vectors(elmo, texts)
        n_threads = parallel.n_threads()
        parallel.set_n_threads(2)
        answers.put((found, vectors(elmo, texts), n_threads))

    child = context.Process(target=work)
    child.start()
    child.join(60)
    assert not child.is_alive(), "the child hangs"
    return answers.get()


@needs_fork
def test_a_forked_child_gives_the_same_vectors(tiny_elmo: Elmo) -> None:
    elmo = Elmo(tiny_elmo.model)
    parallel.set_n_threads(2)
    try:
        expected = vectors(elmo, TEXTS)
        found, with_two_threads, n_threads = in_child(elmo, TEXTS)
    finally:
        parallel.set_n_threads(1)
    assert n_threads == 1
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(with_two_threads, expected)


@needs_fork
def test_a_child_forked_while_a_thread_encodes_words(tiny_elmo: Elmo) -> None:
    elmo = Elmo(tiny_elmo.model)
    expected = vectors(elmo, TEXTS)
    inside, go_on = Event(), Event()

    def encode_slowly(words: list[str]) -> np.ndarray:
        inside.set()
        go_on.wait(60)
        return np.zeros((len(words), elmo.dim // 2), np.float32)

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(elmo.cache.vectors, ["never", "seen"], encode_slowly)
        inside.wait(60)
        try:
            found, _, _ = in_child(elmo, TEXTS)
        finally:
            go_on.set()
        slow.result()
    np.testing.assert_array_equal(found, expected)
