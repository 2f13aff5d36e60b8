"""How long does a batch of a task take with a biLM that is fine-tuned?

    python benchmarks/fine_tuning.py --model en

The forward and backward pass of all layers, on sentences of 10 to 30 words, by autograd through the
textbook network and by the hand-written gradients (engine/bilm_grad.py); with every layer trained,
and with the top LSTM layer alone, as in the second epoch of gradual unfreezing. Medians of
interleaved runs, in milliseconds of CPU time. JSON on standard output.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor

from elmore import Elmo
from elmore.engine.bilm_grad import differentiable_layers


def timed(layers_of: Callable[[], Tensor]) -> float:
    started = time.process_time()
    layers_of().square().sum().backward()
    return 1000 * (time.process_time() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", default="en")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--repeat", type=int, default=7)
    given = parser.parse_args()
    elmo = Elmo.from_pretrained(given.model)
    assert elmo.model.vocab is not None
    words, rng = elmo.model.vocab.words[3:5000], random.Random(1)
    sentences = [rng.choices(words, k=rng.randrange(10, 31)) for _ in range(given.batch_size)]
    bilm, batch = elmo.bilm, elmo.ids(sentences)
    lengths = torch.tensor([len(sentence) + 2 for sentence in sentences])
    mask = torch.arange(batch.ids.shape[1]) < lengths[:, None]
    for name, trained in (("all layers", ""), ("top layer", ".layers.1.")):
        for weight_name, weight in bilm.named_parameters():
            weight.requires_grad_(trained in weight_name)
        times: dict[str, list[float]] = {"autograd": [], "by hand": []}
        for _ in range(given.repeat):
            times["autograd"].append(timed(lambda: bilm(batch.ids, mask).layers))
            times["by hand"].append(timed(lambda: differentiable_layers(bilm, batch.ids, mask)))
        found = {way: round(statistics.median(each), 1) for way, each in times.items()}
        ratio = round(found["by hand"] / found["autograd"], 2)
        print(json.dumps({"trained": name, **found, "ratio": ratio}), flush=True)


if __name__ == "__main__":
    main()
