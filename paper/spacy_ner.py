"""What does ELMo add to spaCy's own named entity recognizer?

    python -m paper.spacy_ner --data PATH/wikiann-en --n-seeds 3

spaCy's transition-based NER is trained by `spacy train`'s own loop on the first sentences of
WikiANN, once on spaCy's default token-to-vector network, once on frozen ELMo, once on both side by
side. The first sentences of the dev file are for early stopping; the F1 is that of the next ones.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import spacy
from spacy.language import DEFAULT_CONFIG
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from thinc.api import Config

import elmore.integrations.spacy  # noqa: F401  registers the architecture
from elmore.tasks import Examples, read_tagged
from paper.report import Results, arguments_of, run

CONFIG = """
[paths]
train = null
dev = null

[nlp]
lang = "en"
pipeline = ["ner"]
batch_size = 128

[components]

[components.ner]
factory = "ner"

[components.ner.model]
@architectures = "spacy.TransitionBasedParser.v2"
state_type = "ner"
extra_state_tokens = false
hidden_width = 64
maxout_pieces = 2
use_upper = true

[corpora]

[corpora.train]
@readers = "spacy.Corpus.v1"
path = ${paths.train}

[corpora.dev]
@readers = "spacy.Corpus.v1"
path = ${paths.dev}

[training]
seed = 1
dropout = 0.1
max_steps = 800
eval_frequency = 100
patience = 300

[training.batcher]
@batchers = "spacy.batch_by_words.v1"
size = 500
tolerance = 0.2

[training.score_weights]
ents_f = 1.0
"""
HASH_CNN = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "pretrained_vectors": None,
    "width": 96,
    "depth": 4,
    "embed_size": 2000,
    "window_size": 1,
    "maxout_pieces": 3,
    "subword_features": True,
}


def networks(model: str) -> dict[str, dict[str, Any]]:
    """Return the token-to-vector networks to compare, by the names of their rows."""
    elmo = {"@architectures": "elmore.Tok2Vec.v1", "model": model}
    both = {"@layers": "concatenate.v1", "*": {"hash_cnn": HASH_CNN, "elmo": elmo}}
    return {"spaCy's default": HASH_CNN, "ELMo": elmo, "both": both}


def write_docs(examples: Examples, path: Path) -> None:
    """Write tagged sentences as spaCy reads them."""
    vocab = spacy.blank("en").vocab
    docs = [
        Doc(vocab, words=words, ents=tags)
        for words, tags in zip(examples.X, examples.y, strict=True)
    ]
    DocBin(docs=docs).to_disk(path)


def train_ner(
    tok2vec: dict[str, Any], folder: Path, seed: int, settings: Mapping[str, Any]
) -> dict[str, float]:
    """Train on train.spacy and dev.spacy of a folder; return the scores on its test.spacy."""
    config = DEFAULT_CONFIG.merge(Config().from_str(CONFIG, interpolate=False))
    config["components"]["ner"]["model"]["tok2vec"] = tok2vec
    config["training"].update({"seed": seed, **settings})
    config["paths"].update({name: str(folder / f"{name}.spacy") for name in ("train", "dev")})
    with Path(os.devnull).open("w") as nowhere, TemporaryDirectory() as out:
        train(init_nlp(config), Path(out), stdout=nowhere, stderr=nowhere)
        best = spacy.load(Path(out) / "model-best")
    scores = best.evaluate(Corpus(folder / "test.spacy")(best))
    return {name: scores[name] for name in ("ents_p", "ents_r", "ents_f")}


def spacy_ner(
    model: str,
    data: Path,
    *,
    n_train: int = 2000,
    n_dev: int = 500,
    n_test: int = 2000,
    n_seeds: int = 1,
    **settings: Any,
) -> Results:
    """Train every network with every seed; `settings` are those of [training]."""
    train_set, others = (read_tagged(data / name, format="wikiann") for name in ("train", "dev"))
    rows = {}
    with TemporaryDirectory() as work:
        folder = Path(work)
        write_docs(train_set[:n_train], folder / "train.spacy")
        write_docs(others[:n_dev], folder / "dev.spacy")
        write_docs(others[n_dev : n_dev + n_test], folder / "test.spacy")
        for name, tok2vec in networks(model).items():
            found = []
            for seed in range(1, n_seeds + 1):
                found.append(train_ner(tok2vec, folder, seed, settings))
                print(json.dumps({"tok2vec": name, "seed": seed, **found[-1]}), flush=True)
            scores = np.array([list(one.values()) for one in found])
            rows[name] = scores.mean(axis=0).tolist()
            if n_seeds > 1:
                rows[name].append(float(scores[:, 2].std()))
    seeds = "1 seed" if n_seeds == 1 else f"{n_seeds} seeds"
    columns = ["precision", "recall", "F1", "std. dev."][: 3 + (n_seeds > 1)]
    return Results(f"WikiANN, {n_train:,} sentences, {seeds}, %", columns, rows, scale=100)


if __name__ == "__main__":
    given = arguments_of(__doc__, counts={"n-seeds": 1})
    run(lambda: spacy_ner(given.model, given.data, n_seeds=given.n_seeds), given)
