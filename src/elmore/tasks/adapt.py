"""A biLM and the sentences of a task in, a biLM that has read them as a language model out.

Before a task is trained, its biLM may learn the task's kind of text, without the labels (the paper,
section 4; Howard and Ruder 2018). This is pretraining that starts from the model, with its own
vocabulary, on the training sentences.
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from elmore.embed import Elmo
from elmore.errors import DataError
from elmore.folders import new_file
from elmore.pretrain.initial_network import Start, check_start, recipe_of_start
from elmore.pretrain.run import pretrain
from elmore.tasks.fit import FitEvent, OnProgress
from elmore.tasks.layer_cache import TokenTuple

_UNROLL_STEPS = 20
_FEWEST_UPDATES = 20  # in an epoch, if there is text for them
_MAX_BATCH_SIZE = 64
_LEARNING_RATE = 0.001


def adapt(
    elmo: Elmo,
    sentences: Sequence[TokenTuple],
    *,
    n_epochs: float,
    seed: int,
    folder: Path | None = None,
    on_progress: OnProgress = lambda event: None,
) -> Elmo:
    """Return a copy of `elmo` that was trained on sentences; a run kept in `folder` resumes."""
    if folder is None:
        with TemporaryDirectory() as made:
            return adapt(elmo, sentences, n_epochs=n_epochs, seed=seed, folder=Path(made),
                         on_progress=on_progress)  # fmt: skip
    lines = [" ".join(sentence) for sentence in sentences if all(map(_is_writable, sentence))]
    n_tokens = sum(line.count(" ") + 2 for line in lines)
    if n_tokens < _UNROLL_STEPS:
        raise DataError(
            f"there are {n_tokens} tokens of text to adapt the biLM to; expected {_UNROLL_STEPS} "
            "or more; leave adapt_epochs out"
        )
    start = Start(elmo.model)
    check_start(start, "the biLM")
    n_streams = n_tokens // (_UNROLL_STEPS * _FEWEST_UPDATES)
    n_updates = n_tokens * n_epochs / (_UNROLL_STEPS * max(1, n_streams))
    recipe = recipe_of_start(
        "small-cpu",
        {
            "tokenizer": "whitespace", "held_out": 0.0, "seed": seed,
            "n_epochs": n_epochs, "unroll_steps": _UNROLL_STEPS, "learning_rate": _LEARNING_RATE,
            "batch_size": min(max(1, n_streams), _MAX_BATCH_SIZE),
            "warmup_steps": int(n_updates / 10),
        },
        start,
    )  # fmt: skip
    text = folder / "text.txt"
    if not text.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with new_file(text) as beside:
            beside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    found = pretrain(
        [text],
        folder / "run",
        recipe,
        start=start,
        on_update=lambda report: on_progress(
            FitEvent("adapt", report.update, report.n_updates, sum(report.losses) / 2)
        ),
    )
    model = dataclasses.replace(found.model, tokenizer=elmo.model.tokenizer)
    return Elmo(model, tokenizer=elmo.tokenizer)


def _is_writable(token: str) -> bool:
    """Return whether a token can be written as text; sentences with others are left out."""
    return token.split() == [token] and token.encode("utf-8", "ignore").decode() == token
