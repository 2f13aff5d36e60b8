"""How fast `Elmo` is, beside a textbook implementation and beside what the processor could do.

    python benchmarks/embed.py --out results            # JSON and a bar chart
    python benchmarks/embed.py --shapes small --rounds 3

All of it is measured in one run, interleaved, and medians are given, because a machine is never
quite quiet. The weights are random, at the published shapes. The sentences are WikiText-2's where
shared/data lies beside the project, else those of docs/.

- limit: tokens/s if all arithmetic ran at the speed of one large matrix product of torch, which is
  MKL's and not the processor's (benchmarks/core.py has that). A token costs its LSTM products, a
  distinct word its convolution over all 50 positions, highways and projection.
- reference: every token's characters convolved, padded batches, one cell at a time (below).
- cold: no word is known. warm: all are.
"""

import argparse
import json
import lzma
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from elmore import BiLM, Elmo
from elmore.bilm_config import BiLMConfig, CharCnnConfig, LstmConfig, Precision, TokenEncoderConfig
from elmore.engine.parallel import n_threads
from elmore.engine.precision import has_bfloat16
from elmore.formats import Pretrained
from elmore.text import EnglishTokenizer

ROOT = Path(__file__).resolve().parents[1]
WIKITEXT = ROOT.parent / "shared/data/corpora/wikitext-2/wiki.valid.tokens.xz"
FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
SHAPES = {
    "small": (
        BiLMConfig(
            TokenEncoderConfig(CharCnnConfig(16, FILTERS, 1, "relu")), LstmConfig(2, 1024, 128)
        ),
        20_000,
    ),
    "original": (
        BiLMConfig(
            TokenEncoderConfig(CharCnnConfig(16, FILTERS, 2, "relu")), LstmConfig(2, 4096, 512)
        ),
        3_000,
    ),
}
ONE_SENTENCE = (
    "The old man sat on the bank of the river and watched the boats come in to the harbour ."
)


# --- the reference --------------------------------------------------------------------------------


class Reference:
    """ELMo as a textbook has it; the weights are those of a `BiLM`."""

    def __init__(self, bilm: BiLM, elmo: Elmo) -> None:
        self.bilm, self.elmo = bilm, elmo

    @torch.no_grad()
    def encode(self, texts: list[list[str]], batch_size: int = 64) -> list[Tensor]:
        """Return the mean of the layers of each text."""
        found: list[Tensor] = []
        for start in range(0, len(texts), batch_size):
            batch = self.elmo.ids(texts[start : start + batch_size])
            vectors = self._token_vectors(batch.ids)
            lengths = batch.mask.sum(1)
            flipped = self._flip(vectors, lengths)
            forward = self._lstm(self.bilm.forward_lstm, vectors)
            backward = [
                self._flip(layer, lengths) for layer in self._lstm(self.bilm.backward_lstm, flipped)
            ]
            layers = [torch.cat([vectors, vectors], 2)]
            layers += [torch.cat(pair, 2) for pair in zip(forward, backward, strict=True)]
            mixed = torch.stack(layers).mean(0)
            found += [mixed[row, 1 : length - 1] for row, length in enumerate(lengths.tolist())]
        return found

    def _token_vectors(self, ids: Tensor) -> Tensor:
        cnn: Any = self.bilm.token_encoder
        characters = cnn.embedding(ids.flatten(0, 1)).transpose(1, 2)
        x = torch.cat([F.relu(conv(characters).amax(2)) for conv in cnn.convolutions], 1)
        for highway in cnn.highways:
            gate = torch.sigmoid(highway.gate(x))
            x = gate * F.relu(highway.transform(x)) + (1 - gate) * x
        projected: Tensor = cnn.projection(x)
        return projected.view(*ids.shape[:2], -1)

    def _lstm(self, stack: Any, x: Tensor) -> list[Tensor]:
        layers = []
        for depth, layer in enumerate(stack.layers):
            h = x.new_zeros(len(x), x.shape[2])
            c = x.new_zeros(len(x), stack.config.cell_dim)
            outputs = []
            for x_t in x.unbind(1):
                gates = F.linear(x_t, layer.input_weight, layer.bias)
                gates = gates + F.linear(h, layer.recurrent_weight)
                i, f, g, o = gates.chunk(4, 1)
                c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
                c = c.clamp(-3, 3)
                h = F.linear(torch.sigmoid(o) * torch.tanh(c), layer.projection).clamp(-3, 3)
                outputs.append(h)
            y = torch.stack(outputs, 1)
            x = x + y if depth else y
            layers.append(x)
        return layers

    def _flip(self, x: Tensor, lengths: Tensor) -> Tensor:
        places = torch.arange(x.shape[1]).expand(len(x), -1)
        turned = torch.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)
        return x.gather(1, turned[:, :, None].expand_as(x))


# --- what is measured -----------------------------------------------------------------------------


def gemm_limit(precision: Precision, size: int = 3072) -> float:
    """Return the FLOP/s of one large product on all threads."""
    dtype = getattr(torch, precision)
    a, b = (torch.randn(size, size).to(dtype) for _ in range(2))
    out = torch.empty(size, size, dtype=dtype)
    return 2 * size**3 / min(seconds(lambda: torch.mm(a, b, out=out)) for _ in range(3))


def flops(config: BiLMConfig) -> tuple[float, float]:
    """Return the FLOP of a token (LSTM) and of a distinct word (characters)."""
    p, c = config.lstm.projection_dim, config.lstm.cell_dim
    token = 2 * config.lstm.n_layers * 2 * (2 * p * 4 * c + c * p)
    cnn = config.token_encoder.chars
    assert cnn is not None
    convolution = sum(2 * (51 - w) * w * cnn.char_dim * n for w, n in cnn.filters)
    highway = cnn.n_highway * 2 * 2 * cnn.n_filters**2
    return token, convolution + highway + 2 * cnn.n_filters * p


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def sentences(n_tokens: int) -> list[list[str]]:
    """Return sentences of 4 to 60 words, as many as make `n_tokens`."""
    found: list[list[str]] = []
    for words in _sentences():
        if 4 <= len(words) <= 60:
            found.append(words)
            n_tokens -= len(words)
        if n_tokens <= 0:
            break
    return found


def _sentences() -> Iterator[list[str]]:
    if WIKITEXT.exists():
        with lzma.open(WIKITEXT, "rt", encoding="utf-8") as file:
            for line in file:
                yield from ([*part.split(), "."] for part in line.split(" . "))
    else:
        tokenizer = EnglishTokenizer()
        while True:  # a small text, as often as it takes
            for page in sorted(ROOT.glob("docs/**/*.md")):
                for line in page.read_text(encoding="utf-8").splitlines():
                    yield [token.text for token in tokenizer(line)]


def measure(shape: str, precision: Precision, n_rounds: int) -> dict[str, Any]:
    """Measure one shape; the reference is in float32 always."""
    config, n_wanted = SHAPES[shape]
    torch.manual_seed(0)
    bilm = BiLM(config)
    elmo = Elmo(Pretrained(bilm.config, bilm.arrays, "whitespace"), precision=precision)
    reference = Reference(bilm, elmo)
    texts = sentences(n_wanted)
    by_length = sorted(texts, key=len)
    n_tokens = sum(map(len, texts))
    n_words = len({word for text in texts for word in text})
    one = [ONE_SENTENCE.split()]

    expected = reference.encode(by_length[:20])
    for vectors, text in zip(expected, elmo.encode_tokens(by_length[:20]), strict=True):
        tolerance = 1e-5 if precision == "float32" else 0.1
        torch.testing.assert_close(vectors, torch.from_numpy(text.vectors), atol=tolerance, rtol=0)

    def cold() -> None:
        elmo.cache.clear()
        elmo.encode_tokens(texts)

    def one_sentence(encode: Callable[[list[list[str]]], object]) -> float:
        encode(one)
        return statistics.median(seconds(lambda: encode(one)) for _ in range(9))

    jobs: dict[str, Callable[[], float]] = {
        "limit": lambda: gemm_limit(precision),
        "reference": lambda: seconds(lambda: reference.encode(by_length)),
        "cold": lambda: seconds(cold),
        "warm": lambda: seconds(lambda: elmo.encode_tokens(texts)),
        "one sentence, reference": lambda: one_sentence(reference.encode),
        "one sentence, warm": lambda: one_sentence(elmo.encode_tokens),
    }
    rounds = [{name: job() for name, job in jobs.items()} for _ in range(n_rounds)]
    middle = {name: statistics.median(found[name] for found in rounds) for name in jobs}
    token, word = flops(config)
    # With the sentence marks, which are read like words.
    n_read = n_tokens + 2 * len(texts)
    at_limit = {
        "cold": n_tokens * middle["limit"] / (n_read * token + n_words * word),
        "warm": n_tokens * middle["limit"] / (n_read * token),
    }
    per_second = {name: n_tokens / middle[name] for name in ("reference", "cold", "warm")}
    latency = {name: 1000 * middle[f"one sentence, {name}"] for name in ("reference", "warm")}
    return {
        "tokens": n_tokens,
        "distinct words": n_words,
        "GEMM limit, GFLOP/s": middle["limit"] / 1e9,
        "tokens/s": per_second,
        "tokens/s at the limit": at_limit,
        "share of the limit": {k: per_second[k] / at_limit[k] for k in at_limit},
        "ratio to the reference": {k: per_second[k] / per_second["reference"] for k in at_limit},
        "one sentence of 19 words, ms": latency,
        "one sentence, share of the reference": latency["warm"] / latency["reference"],
        "peak memory, MB": peak_memory(shape),
    }


def peak_memory(shape: str) -> float:
    """Return the peak of a process that embeds the same sentences, torch and weights included."""
    command = [sys.executable, __file__, "--peak-memory-of", shape]
    return float(subprocess.run(command, check=True, capture_output=True).stdout)


def tokenizer_speed() -> float:
    """Return the tokens/s of the English tokenizer, on fresh text."""
    texts = [" ".join(text) for text in sentences(60_000)]
    tokenizer = EnglishTokenizer()
    tokenizer("The tables are loaded once .")
    n_tokens = 0

    def run() -> None:
        nonlocal n_tokens
        n_tokens = sum(len(tokenizer(text)) for text in texts)

    taken = seconds(run)
    return n_tokens / taken


# --- what is shown --------------------------------------------------------------------------------


def draw(results: dict[str, Any], path: Path) -> None:
    """Draw tokens/s for each shape, with the limit as a line above each bar."""
    import matplotlib  # noqa: PLC0415  only for the picture

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    figure, panels = plt.subplots(
        1, len(results["shapes"]), figsize=(4.5 * len(results["shapes"]), 4), squeeze=False
    )
    for panel, (shape, found) in zip(panels[0], results["shapes"].items(), strict=True):
        names = ["reference", "cold", "warm"]
        bars = panel.bar(names, [found["tokens/s"][name] for name in names],
                         color=["#9aa5b1", "#3b7dd8", "#1b4f9c"])  # fmt: skip
        panel.bar_label(bars, fmt="{:,.0f}", padding=2)
        for place, name in enumerate(names[1:], start=1):
            limit = found["tokens/s at the limit"][name]
            panel.hlines(limit, place - 0.4, place + 0.4, color="#c0392b")
            panel.text(place, limit, f"{limit:,.0f}", ha="center", va="bottom", color="#c0392b")
        panel.set_title(shape)
        panel.set_ylabel("tokens/s (line: at the GEMM limit)")
        panel.margins(y=0.15)
    figure.suptitle(f"Elmo on {results['processor']}, {results['threads']} threads")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    name = next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), "")
    return name or platform.processor() or platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shapes", nargs="*", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="write OUT.json and OUT.png")
    parser.add_argument("--peak-memory-of", choices=SHAPES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.peak_memory_of:
        config, n_wanted = SHAPES[arguments.peak_memory_of]
        Elmo(Pretrained(config, BiLM(config).arrays, "whitespace")).encode_tokens(
            sentences(n_wanted)
        )
        status = Path("/proc/self/status").read_text()  # getrusage counts the parent's peak too
        print(int(status.partition("VmHWM:")[2].split()[0]) / 1024)
        return
    # Without bfloat16 units its products are float32's on rounded numbers: nothing to measure.
    precisions: list[Precision] = ["float32", "bfloat16"] if has_bfloat16() else ["float32"]
    results = {
        "date": datetime.now(UTC).date().isoformat(),
        "processor": processor(),
        "threads": n_threads(),
        "torch": torch.__version__,
        "English tokenizer, tokens/s": tokenizer_speed(),
        "shapes": {
            f"{shape}, {precision}": measure(shape, precision, arguments.rounds)
            for shape in arguments.shapes
            for precision in precisions
        },
    }
    text = json.dumps(results, indent=2)
    print(text)
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.with_suffix(".json").write_text(text + "\n")
        draw(results, arguments.out.with_suffix(".png"))


if __name__ == "__main__":
    main()
