"""Sentences in, the calibration of a model out: the means and deviations of its layers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from torch import Tensor

from elmore.errors import ConfigError
from elmore.formats import Calibration, measure_calibration

if TYPE_CHECKING:
    from elmore.embed.elmo import Elmo

_SENTENCES_AT_ONCE = 1024


def calibrate(
    elmo: "Elmo",
    sentences: Iterable[Sequence[str]],
    *,
    max_tokens: int = 200_000,
    texts: Iterable[str] = (),
    progress: Callable[[int], None] = lambda n_tokens: None,
) -> Calibration:
    """Measure the layers of tokenized sentences, of about the first `max_tokens` tokens.

    `texts` says what they are of; `progress` is told how many tokens more were read.
    """
    if max_tokens < 2:
        raise ConfigError(f"max_tokens is {max_tokens}; expected at least 2, better 100,000")

    def readings() -> Iterator[Tensor]:
        n_tokens = 0
        waiting = iter(sentences)
        while n_tokens < max_tokens and (some := list(islice(waiting, _SENTENCES_AT_ONCE))):
            kept = []
            for sentence in some:
                if n_tokens < max_tokens:
                    kept.append(sentence)
                    n_tokens += len(sentence)
            for _, layers in elmo.reader.read(kept):
                progress(layers.shape[1] - 2)
                yield layers

    return measure_calibration(readings(), texts)
