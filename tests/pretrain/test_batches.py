"""In every epoch each direction reads the whole text, in its order, whoever reads which part."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmore.corpus import word_ids
from elmore.corpus.config import CorpusConfig
from elmore.corpus.prepare import prepare
from elmore.corpus.shards import Corpus
from elmore.errors import DataError
from elmore.pretrain import batches
from elmore.pretrain.batches import Direction, Streams
from elmore.pretrain.config import TrainingConfig
from elmore.pretrain.step import Window
from elmore.text import BEGIN_SENTENCE, END_SENTENCE

DIRECTIONS: tuple[Direction, Direction] = ("forward", "backward")


@contextmanager
def corpus_of(
    lengths: list[int], *, shard_words: int, block_words: int, max_words: int
) -> Iterator[Corpus]:
    """Make a corpus of sentences of these lengths, in which no word occurs twice."""
    names = iter(range(sum(lengths)))
    lines = [" ".join(f"w{next(names)}" for _ in range(length)) for length in lengths]
    with TemporaryDirectory() as temporary, pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(word_ids, "SHARD_WORDS", shard_words)
        monkeypatch.setattr(batches, "BLOCK_WORDS", block_words)
        text = Path(temporary) / "text.txt"
        text.write_text("\n".join(lines))
        config = CorpusConfig("whitespace", None, None, 1, max_words, held_out=0)
        yield prepare([text], Path(temporary) / "corpus", config)


def sentences_of(corpus: Corpus) -> list[list[int]]:
    found = []
    for shard in corpus.training.shards:
        found += [ids.tolist() for ids in np.split(np.array(shard.ids), shard.ends)[:-1]]
    return found


def epoch_of(streams: Streams, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all that is read in an epoch, and what follows each token, (streams, tokens)."""
    first = number * streams.n_windows
    windows = [streams.window(first + place) for place in range(streams.n_windows)]
    return (
        np.concatenate([window.inputs for window in windows]).T,
        np.concatenate([window.targets for window in windows]).T,
    )


def same(a: Window, b: Window) -> bool:
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for name in ("inputs", "targets", "starts")
    )


LENGTHS = st.lists(st.integers(1, 6), min_size=1, max_size=40)
SIZES = {
    "shard_words": st.sampled_from([3, 20, 1000]),
    "block_words": st.sampled_from([1, 4, 15, 1000]),
    "max_words": st.sampled_from([8, 1000]),
}


@settings(deadline=None, max_examples=150)
@given(LENGTHS, st.integers(1, 5), st.integers(1, 7), st.sampled_from(DIRECTIONS), st.data())
def test_each_token_is_read_once_and_followed_by_the_right_one(
    lengths: list[int], n_streams: int, n_steps: int, direction: Direction, data: st.DataObject
) -> None:
    sizes = {name: data.draw(size, name) for name, size in SIZES.items()}
    config = TrainingConfig(batch_size=n_streams, unroll_steps=n_steps)
    with corpus_of(lengths, **sizes) as corpus:
        begin, end = corpus.vocab.encode([BEGIN_SENTENCE, END_SENTENCE]).tolist()
        if sum(lengths) + len(lengths) < n_streams * n_steps:
            with pytest.raises(DataError, match="choose a smaller batch_size or add"):
                Streams(corpus, config, direction)
            return
        streams = Streams(corpus, config, direction)
        sentences = sentences_of(corpus)
        if direction == "backward":
            begin, end = end, begin
            sentences = [sentence[::-1] for sentence in sentences]
        firsts = {sentence[0] for sentence in sentences}
        after = {a: b for words in sentences for a, b in zip(words, [*words[1:], end], strict=True)}
        for epoch in range(2):
            inputs, targets = epoch_of(streams, epoch)
            assert inputs.shape == (n_streams, streams.n_windows * n_steps)
            dropped = sum(lengths) + len(lengths) - inputs.size
            assert 0 <= dropped < n_streams * n_steps  # less than one more window
            read = [word for word in inputs.ravel().tolist() if word != begin]
            begun = [
                b
                for a, b in zip(inputs.ravel().tolist(), targets.ravel().tolist(), strict=True)
                if a == begin
            ]
            assert len(set(read)) == len(read)
            assert len(set(begun)) == len(begun)
            assert set(begun) <= firsts
            assert set(read) <= after.keys()  # so never the mark that stands at the other end
            for word, target in zip(inputs.ravel().tolist(), targets.ravel().tolist(), strict=True):
                assert word == begin or after[word] == target
            # What a stream predicts it reads next, and after a sentence it begins another.
            expected = np.where(targets[:, :-1] == end, begin, targets[:, :-1])
            assert np.array_equal(inputs[:, 1:], expected)


@settings(deadline=None, max_examples=60)
@given(LENGTHS, st.integers(1, 5), st.integers(1, 4), st.sampled_from(DIRECTIONS), st.data())
def test_a_window_depends_on_its_number_alone(
    lengths: list[int], n_streams: int, n_steps: int, direction: Direction, data: st.DataObject
) -> None:
    sizes = {name: data.draw(size, name) for name, size in SIZES.items()}
    lengths = lengths + [1] * n_streams * n_steps
    config = TrainingConfig(batch_size=n_streams, unroll_steps=n_steps)
    with corpus_of(lengths, **sizes) as corpus:
        streams = Streams(corpus, config, direction)
        in_order = [streams.window(number) for number in range(2 * streams.n_windows + 1)]
        cut = data.draw(st.integers(0, n_streams), "streams of the first process")
        parts = [
            Streams(corpus, config, direction, rows)
            for rows in (slice(0, cut), slice(cut, n_streams))
        ]
        for number in data.draw(st.permutations(range(len(in_order))), "order"):
            expected = in_order[number]
            assert same(streams.window(number), expected)
            one, two = (part.window(number) for part in parts)
            together = Window(
                *(np.hstack([getattr(part, name) for part in (one, two)])
                  for name in ("inputs", "targets", "starts"))
            )  # fmt: skip
            assert same(together, expected)


def test_every_epoch_direction_and_seed_has_an_order_of_its_own() -> None:
    with corpus_of([3] * 100, shard_words=60, block_words=30, max_words=1000) as corpus:
        begin, end = corpus.vocab.encode([BEGIN_SENTENCE, END_SENTENCE]).tolist()
        orders = []
        for direction in DIRECTIONS:
            for seed in (1, 2):
                config = TrainingConfig(batch_size=1, unroll_steps=1, seed=seed)
                streams = Streams(corpus, config, direction)
                for epoch in range(3):
                    inputs, _ = epoch_of(streams, epoch)
                    read = inputs.reshape(-1, 4)  # a mark and three words
                    assert (read[:, 0] == (begin if direction == "forward" else end)).all()
                    orders.append(tuple(read[:, 2].tolist()))  # each sentence by its middle
        assert len(set(orders)) == 2 * 2 * 3
        assert len({frozenset(order) for order in orders}) == 1
        # Blocks are shuffled, and the sentences within them.
        of_text = [sentence[1] for sentence in sentences_of(corpus)]
        places = np.array([of_text.index(word) for word in orders[0]])
        blocks = places.reshape(-1, 10) // 10
        assert (blocks == blocks[:, :1]).all()
        assert blocks[:, 0].tolist() != sorted(blocks[:, 0])
        assert all(block.tolist() != sorted(block) for block in places.reshape(-1, 10))
        first_block = set(of_text[:10])
        within = {tuple(word for word in order if word in first_block) for order in orders}
        assert len(within) == 2 * 2 * 3


def test_many_shards_are_neither_kept_open_nor_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    n_read = 0
    shuffled = Streams._shuffled

    def counted(self: Streams, place: int) -> object:
        nonlocal n_read
        n_read += 1
        return shuffled(self, place)

    monkeypatch.setattr(Streams, "_shuffled", counted)
    with corpus_of([5] * 400, shard_words=20, block_words=10, max_words=5000) as corpus:
        assert len(corpus.training.shards) == 100
        streams = Streams(corpus, TrainingConfig(batch_size=8, unroll_steps=4), "forward")
        assert len(streams.blocks) == 200
        for number in range(streams.n_windows):
            streams.window(number)
            assert len(streams._texts) <= 8
            assert not any("_bytes" in vars(shard) for shard in corpus.training.shards)
        # Once each, and once more where one stream ends and another begins within a block.
        assert n_read <= 200 + 8
