"""Sentences in, the calibration of a model out: the means and deviations of its layers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from elmore.errors import ConfigError
from elmore.formats import Calibration, measure_calibration
from elmore.kernels.library import Floats

if TYPE_CHECKING:
    from elmore.embed.elmo import Elmo

_SENTENCES_AT_ONCE = 1024


def calibrate(
    elmo: "Elmo",
    sentences: Iterable[Sequence[str]],
    *,
    max_tokens: int = 200_000,
    texts: Iterable[str] = (),
    on_progress: Callable[[int], None] = lambda n_tokens: None,
) -> Calibration:
    """Measure the layers over about the first `max_tokens` tokens of tokenized sentences.

    `texts` are the names of the text's files; `on_progress` is called with the number of tokens of
    each sentence.
    """
    if max_tokens < 2:
        raise ConfigError(f"max_tokens is {max_tokens}; expected at least 2, better 100,000")

    def layers_of_sentences() -> Iterator[Floats]:
        n_tokens = 0
        waiting = iter(sentences)
        while n_tokens < max_tokens and (some := list(islice(waiting, _SENTENCES_AT_ONCE))):
            kept = []
            for sentence in some:
                if n_tokens < max_tokens:
                    kept.append(sentence)
                    n_tokens += len(sentence)
            for _, layers in elmo.reader.read(kept):
                on_progress(layers.shape[1] - 2)
                yield layers

    return measure_calibration(layers_of_sentences(), texts)
