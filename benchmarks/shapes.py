"""Which recipe learns most in a fixed time? Trains variants of one by the clock, one by one.

    python benchmarks/shapes.py --corpus RUN/corpus --minutes 11 \\
        "" "cell_dim=1024 n_samples=8192" "filters=((1,32),(2,32),(3,64))" --out build/shapes

Each variant names the fields in which it differs from the recipe; "" is the recipe itself. The
learning rate falls by the clock too, so that each run ends with its schedule. A line of JSON for
each: tokens/s, tokens read, and perplexity by the full softmax on the first held-out words. Its
model is in --out, for other measurements. Unlike training itself this depends on the machine: run
variants on a quiet one, or two at a time, each with one thread on a core of its own. On a busy one
give --tokens instead of --minutes: each variant then reads as much, however long that takes.
"""

import argparse
import ast
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from elmore.corpus.manifest import read_manifest
from elmore.corpus.shards import Corpus
from elmore.engine.parallel import n_threads, set_n_threads
from elmore.formats import write_native
from elmore.pretrain import trainer as training_loop
from elmore.pretrain.config import Recipe, TrainingConfig
from elmore.pretrain.distributed import ProcessGroup
from elmore.pretrain.initial_network import new_model
from elmore.pretrain.learning_rate import learning_rate
from elmore.pretrain.recipes import read_recipe
from elmore.pretrain.static_start import fill_from_static, vectors_of
from elmore.static import StaticVectors

NEVER = 10**9


class Clock:
    """How much of the time is gone."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.started = time.perf_counter()

    @property
    def share(self) -> float:
        return (time.perf_counter() - self.started) / self.seconds

    def learning_rate(self, config: TrainingConfig, update: int, n_updates: int) -> float:
        """Return the schedule's value for as many updates as the time seems to allow."""
        return learning_rate(config, update, max(update + 1, round(update / self.share)))


class TimedTrainer(training_loop.Trainer):
    """Trains until the time is gone."""

    clock: Clock

    @property
    def is_done(self) -> bool:
        return self.clock.share >= 1


def measure(
    corpus: Corpus, recipe: Recipe, seconds: float, n_tokens: int | None, folder: Path
) -> dict[str, Any]:
    training = replace(recipe.training, evaluate_every=NEVER, checkpoint_every=NEVER)
    if n_tokens is not None:
        n_epoch_tokens = corpus.training.n_words + corpus.training.n_sentences
        training = replace(training, n_epochs=n_tokens / n_epoch_tokens)
    model = new_model(recipe, corpus.vocab, None)
    if recipe.static.static is not None:
        static = vectors_of(corpus.vocab, StaticVectors.load(recipe.static.static), recipe.static)
        fill_from_static(model, corpus, static, recipe.static)
    folder.mkdir(parents=True, exist_ok=True)
    if n_tokens is not None:
        trainer = training_loop.Trainer(model, corpus, training, folder, ProcessGroup())
    else:
        trainer = TimedTrainer(model, corpus, training, folder, ProcessGroup())
        trainer.clock = Clock(seconds)
        training_loop.learning_rate = trainer.clock.learning_rate
    started = time.process_time()
    trainer.train()
    cpu_s = time.process_time() - started
    score = trainer.held_out or trainer.score()
    n_tokens = trainer.update * trainer.tokens_per_update
    write_native(trainer.model, folder / "model")
    (folder / training_loop.LAST).unlink()
    (folder / training_loop.BEST).unlink(missing_ok=True)
    return {
        "parameters": sum(array.size for array in model.arrays.values()),
        "threads": n_threads(),
        "seconds": trainer.seconds,
        "tokens": n_tokens,
        "tokens_per_second": n_tokens / trainer.seconds,
        "tokens_per_cpu_second": n_tokens / cpu_s,
        "forward_perplexity": score.forward,
        "backward_perplexity": score.backward,
    }


def changes_of(variant: str) -> dict[str, Any]:
    """Read "cell_dim=512 decay=cosine"; what is no number or tuple is a word."""
    found = {}
    for field in variant.split():
        name, _, value = field.partition("=")
        try:
            found[name] = ast.literal_eval(value)
        except (SyntaxError, ValueError):
            found[name] = value
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("variants", nargs="+")
    parser.add_argument("--corpus", type=Path, required=True, help="a prepared corpus")
    parser.add_argument("--recipe", default="small-cpu")
    parser.add_argument("--minutes", type=float, default=11.0)
    parser.add_argument("--tokens", type=int, help="read so much, instead of --minutes")
    parser.add_argument("--threads", type=int, default=n_threads())
    parser.add_argument("--out", type=Path, default=Path("build/shapes"))
    arguments = parser.parse_args()
    set_n_threads(arguments.threads)
    corpus = Corpus.load(arguments.corpus)
    for number, variant in enumerate(arguments.variants):
        made = read_manifest(arguments.corpus).config
        reading = {name: made[name] or "none" for name in ("tokenizer", "normalization")}
        recipe = read_recipe(arguments.recipe, {**reading, **changes_of(variant)})
        folder = arguments.out / str(number)
        found = measure(corpus, recipe, 60 * arguments.minutes, arguments.tokens, folder)
        print(json.dumps({"variant": variant, "folder": str(folder), **found}), flush=True)


if __name__ == "__main__":
    main()
