"""How fast a training update is, beside a textbook loop and beside what the processor could do.

    python benchmarks/pretrain.py --out results         # JSON and a bar chart
    python benchmarks/pretrain.py --rounds 3

The published small shape: 128 streams of 20 tokens, 50,000 words, 8,192 different samples, dropout
0.1, Adagrad. All of it is measured in one run, interleaved, and medians are given. Tokens are
counted once, though both directions read them. The text is WikiText-2's where shared/data lies
beside the project, else that of docs/.

- limit: tokens/s if the products of an update ran at the speed of one large matrix product. Counted
  are those of the LSTMs, of the sampled softmax and, for each distinct word, of the highway and the
  projection, forwards and backwards (three times the forward ones). The convolutions are not.
- reference: tests/oracle/training.py: every token's characters convolved, autograd through each
  cell, dense gradients.
"""

import argparse
import json
import lzma
import random
import statistics
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from benchmarks.embed import FILTERS, gemm_limit, processor, seconds  # noqa: E402

from elmore import BiLM  # noqa: E402
from elmore.bilm_config import (  # noqa: E402
    BiLMConfig,
    CharCnnConfig,
    LstmConfig,
    Precision,
    TokenEncoderConfig,
)
from elmore.corpus.config import CorpusConfig  # noqa: E402
from elmore.corpus.prepare import prepare  # noqa: E402
from elmore.corpus.shards import Corpus  # noqa: E402
from elmore.engine.precision import has_bfloat16  # noqa: E402
from elmore.formats import Pretrained  # noqa: E402
from elmore.initial_weights import drawn_arrays  # noqa: E402
from elmore.pretrain.config import TrainingConfig  # noqa: E402
from elmore.pretrain.distributed import ProcessGroup  # noqa: E402
from elmore.pretrain.trainer import Trainer  # noqa: E402
from tests.oracle.training import Batch, TextbookTrainer, draw_masks, draw_samples  # noqa: E402

WIKITEXT = ROOT.parent / "shared/data/corpora/wikitext-2/wiki.train.tokens.xz"
N_WORDS, N_SAMPLES, N_STREAMS, N_STEPS, DROPOUT = 50_000, 8_192, 128, 20, 0.1
SHAPE = BiLMConfig(
    TokenEncoderConfig(CharCnnConfig(16, FILTERS, 1, "relu")),
    LstmConfig(2, 1024, 128),
    n_softmax_words=N_WORDS,
)


def text(path: Path) -> None:
    """Write a text whose vocabulary, filled up with words that never occur, has 50,000 words."""
    if WIKITEXT.exists():
        with lzma.open(WIKITEXT, "rt", encoding="utf-8") as file:
            lines = file.read(4_000_000).splitlines()
    else:
        pages = [page.read_text(encoding="utf-8") for page in sorted(ROOT.glob("docs/**/*.md"))]
        lines = 40 * "\n".join(pages).splitlines()
    n_different = len({word for line in lines for word in line.split()})
    extra = " ".join(f"word{k}" for k in range(max(0, N_WORDS - n_different)))
    path.write_text("\n".join([*lines, extra]), encoding="utf-8")


def textbook(bilm: BiLM, corpus: Corpus, trainer: Trainer) -> Callable[[], object]:
    """Return a step of the textbook on the windows that the trainer would read."""
    reference = TextbookTrainer(bilm)
    generator = random.Random(0)
    encode_ids = corpus.id_encoder(SHAPE)

    def batch(window: Any) -> Batch:
        inputs = window.inputs.T
        characters = encode_ids(inputs.reshape(-1)).reshape(*inputs.shape, 50)
        targets = torch.from_numpy(window.targets.T.copy())
        return Batch(
            torch.from_numpy(characters).long(),
            targets.masked_fill(targets >= N_WORDS, corpus.unknown),
        )

    def step() -> None:
        masks = [draw_masks(bilm, N_STREAMS, N_STEPS, DROPOUT) for _ in range(2)]
        reference.step(
            batch(trainer.forward.window(0)),
            batch(trainer.backward.window(0)),
            draw_samples(N_WORDS, N_SAMPLES, generator),
            (masks[0], masks[1]),
        )

    return step


def flops(n_distinct: float) -> float:
    """Return the FLOP of an update's products."""
    p, c = SHAPE.lstm.projection_dim, SHAPE.lstm.cell_dim
    n_tokens = N_STREAMS * N_STEPS
    lstm = 2 * SHAPE.lstm.n_layers * 2 * (2 * p * 4 * c + c * p)
    softmax = 2 * 2 * N_SAMPLES * p
    n_filters = sum(number for _, number in FILTERS)
    word = 2 * 2 * n_filters**2 + 2 * n_filters * p
    return 3 * (n_tokens * (lstm + softmax) + n_distinct * word)


def measure(precision: Precision, n_rounds: int, folder: Path) -> dict[str, Any]:
    """Measure updates in one precision; the reference is in float32 always."""
    path = folder / "text.txt"
    text(path)
    config = CorpusConfig(tokenizer="whitespace", max_words=N_WORDS, held_out=0.0)
    corpus = prepare([path], folder / "corpus", config)
    training = TrainingConfig(
        batch_size=N_STREAMS, unroll_steps=N_STEPS, n_samples=N_SAMPLES, softmax="sampled",
        dropout=DROPOUT, precision=precision, n_epochs=1000,
        state="carried",  # as the reference
        evaluate_every=10**9, checkpoint_every=10**9,
    )  # fmt: skip
    torch.manual_seed(0)
    drawn = drawn_arrays(SHAPE, np.random.default_rng(0))
    model = Pretrained(SHAPE, drawn, "whitespace", corpus.vocab)
    trainer = Trainer(model, corpus, training, folder, ProcessGroup())
    step = textbook(BiLM(SHAPE), corpus, trainer)

    def update() -> None:
        trainer._make_update(None, lambda report: None, stop=False)

    update()  # buffers are made once
    n_distinct = statistics.mean(
        len({*trainer.forward.window(k).inputs.flat, *trainer.backward.window(k).inputs.flat})
        for k in range(5)
    )
    jobs: dict[str, Callable[[], float]] = {
        "limit": lambda: gemm_limit(precision),
        "reference": lambda: seconds(step),
        "elmore": lambda: statistics.median(seconds(update) for _ in range(3)),
    }
    rounds = [{name: job() for name, job in jobs.items()} for _ in range(n_rounds)]
    middle = {name: statistics.median(found[name] for found in rounds) for name in jobs}
    n_tokens = N_STREAMS * N_STEPS
    at_limit = n_tokens * middle["limit"] / flops(n_distinct)
    per_second = {name: n_tokens / middle[name] for name in ("reference", "elmore")}
    return {
        "GEMM limit, GFLOP/s": middle["limit"] / 1e9,
        "distinct words in an update": n_distinct,
        "tokens/s": per_second,
        "tokens/s at the limit": at_limit,
        "share of the limit": per_second["elmore"] / at_limit,
        "ratio to the reference": per_second["elmore"] / per_second["reference"],
    }


def draw(results: dict[str, Any], path: Path) -> None:
    """Draw tokens/s of the reference and of elmore, with the limit as a line."""
    import matplotlib  # noqa: PLC0415  only for the picture

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    found = results["float32"]
    figure, axes = plt.subplots(figsize=(5, 4))
    bars = axes.bar(list(found["tokens/s"]), list(found["tokens/s"].values()),
                    color=["#9aa5b1", "#3b7dd8"])  # fmt: skip
    axes.bar_label(bars, fmt="{:,.0f}", padding=2)
    limit = found["tokens/s at the limit"]
    axes.axhline(limit, color="#c0392b")
    axes.text(0, limit, f"limit {limit:,.0f}", ha="center", va="bottom", color="#c0392b")
    axes.set_ylabel("training tokens/s, small shape")
    axes.set_title(f"{results['processor']}, {results['threads']} threads")
    axes.margins(y=0.15)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="write OUT.json and OUT.png")
    arguments = parser.parse_args()
    # Without bfloat16 units its products are float32's on rounded numbers: nothing to measure.
    precisions: list[Precision] = ["float32", "bfloat16"] if has_bfloat16() else ["float32"]
    results: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "processor": processor(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    for precision in precisions:
        with tempfile.TemporaryDirectory() as folder:
            results[precision] = measure(precision, arguments.rounds, Path(folder))
    shown = json.dumps(results, indent=2)
    print(shown)
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.with_suffix(".json").write_text(shown + "\n")
        draw(results, arguments.out.with_suffix(".png"))


if __name__ == "__main__":
    main()
