"""Networks, texts and runs that are small enough to train in a test."""

import os
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elmore.pretrain.config import Recipe
from elmore.pretrain.recipes import read_recipe

N_WORDS = 20

SMALL: dict[str, Any] = {
    "char_dim": 4,
    "filters": ((1, 4), (2, 8)),
    "max_characters": 12,
    "cell_dim": 16,
    "projection_dim": 8,
    "tokenizer": "whitespace",
    "min_count": 1,
    "batch_size": 4,
    "unroll_steps": 5,
    "n_samples": 10,
    "warmup_steps": 4,
    "n_epochs": 2.0,
}
"""What differs from the recipe tiny."""


def small(**changes: object) -> Recipe:
    """Return the recipe tiny with a small network."""
    return read_recipe("tiny", SMALL | changes)


def flags(changes: Mapping[str, Any]) -> list[str]:
    """Return the same changes as the command line has them."""
    words = []
    for name, value in changes.items():
        shown = value
        if name == "filters":
            shown = ",".join(f"{width}:{number}" for width, number in value)
        words += [f"--{name.replace('_', '-')}", str(shown)]
    return words


def small_flags(**changes: object) -> list[str]:
    """Return the recipe of `small` as the command line has it."""
    return ["--recipe", "tiny", "--processes", "1", *flags(SMALL | changes)]


def write_text(path: Path, n_sentences: int = 60, seed: int = 1) -> Path:
    """Write sentences in which each word leaves but two choices for the next.

    They come evenly, so that a model that knows nothing but how often words occur is hardly better
    than chance: in either direction, as each word has but two that may stand before it.
    """
    rng = random.Random(seed)
    sentences = []
    for _ in range(n_sentences):
        word = rng.randrange(N_WORDS)
        words = [word]
        for _ in range(rng.randrange(4, 10)):
            word = (2 * word + rng.randrange(2)) % N_WORDS
            words.append(word)
        sentences.append(" ".join(f"w{word}" for word in words))
    path.write_text("".join(f"{sentence}\n" for sentence in sentences))
    return path


def write_vectors(path: Path, dim: int = 5, words: range = range(N_WORDS)) -> Path:
    """Write static vectors of some of the words, as GloVe publishes them."""
    rng = random.Random(2)
    lines = [" ".join([f"w{word}", *(f"{rng.gauss(0, 2):.4f}" for _ in range(dim))])
             for word in words]  # fmt: skip
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def start(*arguments: object, torchrun: int = 0, **options: Any) -> "subprocess.Popen[str]":
    """Start `elmore` with arguments, in as many processes as are asked for, one thread each."""
    # Whoever runs the tests in the background has made them deaf to Ctrl-C.
    listen = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    program = [sys.executable, "-c", f"{listen}from elmore.cli.main import main; main()"]
    if torchrun:
        program = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        program += ["--nproc-per-node", str(torchrun), "-m", "elmore"]
    return subprocess.Popen(
        [*program, *map(str, arguments)],
        env=os.environ | {"OMP_NUM_THREADS": "1"} | options.pop("env", {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
