"""Lengths in, batches of texts out."""

from collections.abc import Iterator, Sequence


def token_budget_batches(lengths: Sequence[int], max_tokens: int) -> Iterator[list[int]]:
    """Yield the indices of texts in batches of similar length, longest first.

    A batch, padded to its longest text, has at most `max_tokens` tokens; a text that is longer than
    that is a batch of its own.
    """
    longest_first = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    batch: list[int] = []
    for i in longest_first:
        if batch and (len(batch) + 1) * lengths[batch[0]] > max_tokens:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
