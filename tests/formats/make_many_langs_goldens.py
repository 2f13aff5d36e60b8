"""Makes tests/formats/many_langs: tiny folders of ELMoForManyLangs and the vectors of its own code.

Run it in an environment of its own, which has torch, `elmoformanylangs==0.0.4.post2` and
`overrides<4` (a later one refuses that package's classes):

    python tests/formats/make_many_langs_goldens.py

Each folder has random weights, made and saved by the package's classes. Its vectors are those of a
fresh Embedder, because it carries its state from call to call, of one batch, in vectors.npz: layers
(L + 1, T, D) for each sentence of sentences.json.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import torch
from elmoformanylangs import Embedder
from elmoformanylangs.frontend import Model
from elmoformanylangs.modules.embedding_layer import EmbeddingLayer

HOME = Path(__file__).resolve().parent / "many_langs"

SENTENCES = [
    ["나는", "은행\u3000계좌를", "열었다", "."],
    ["강", "둑에", "앉았다"],
    ["bank", "처음보는낱말이아주아주아주길다", "은행", "은", "<bos>"],
    ["."],
]
MARKS = ["<oov>", "<bos>", "<eos>", "<pad>"]
CHARACTERS = [*MARKS, "<bow>", "<eow>", *"나는은행\u3000계좌를열었다.강둑에bank"]
WORDS = [*MARKS, "은행", ".", "나는", "bank", "처음보는낱말이아주아", "\u3000", "강"]


def dictionary(tokens: list[str]) -> str:
    """Return a .dic, the lines in another order than the rows, U+3000 as it is left by tools."""
    lines = [f"{token}\t{row}" for row, token in enumerate(dict.fromkeys(tokens))]
    return "".join(f"{line.strip()}\n" for line in reversed(lines))


def make(name: str, *, char_dim: int, word_dim: int, seed: int, config_path: str) -> None:
    folder = HOME / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    architecture = {
        "encoder": {
            "name": "elmo",
            "projection_dim": 6,
            "cell_clip": 0.5,
            "proj_clip": 0.4,
            "dim": 10,
            "n_layers": 2,
        },
        "token_embedder": {
            "name": "cnn",
            "activation": "tanh" if not word_dim else "relu",
            "filters": [[1, 4], [2, 5], [3, 6]],
            "n_highway": 2,
            "word_dim": word_dim,
            "char_dim": char_dim,
            "max_characters_per_token": 12,
        },
        "classifier": {"name": "sampled_softmax", "n_samples": 8192},
        "dropout": 0.1,
    }
    torch.manual_seed(seed)
    layers = {}
    for file, tokens, dim in (("char.dic", CHARACTERS, char_dim), ("word.dic", WORDS, word_dim)):
        rows = {token: row for row, token in enumerate(dict.fromkeys(tokens))}
        layers[file] = EmbeddingLayer(dim, rows, fix_emb=False) if dim else None
        if dim:
            (folder / file).write_text(dictionary(tokens), encoding="utf-8")
    model = Model(architecture, layers["word.dic"], layers["char.dic"])
    with torch.no_grad():
        for part, scale in ((model.token_embedder, 1.0), (model.encoder, 2.0)):  # its clips matter
            for parameter in part.parameters():
                parameter.copy_(scale * torch.randn_like(parameter) / parameter.shape[-1] ** 0.5)
    torch.save(
        model.token_embedder.state_dict(),
        folder / "token_embedder.pkl",
        _use_new_zipfile_serialization=bool(word_dim),  # the published ones are not zip files
    )
    torch.save(
        model.encoder.state_dict(),
        folder / "encoder.pkl",
        _use_new_zipfile_serialization=bool(word_dim),
    )
    (folder / "tiny.json").write_text(json.dumps(architecture, indent=1))
    config = {"seed": seed, "config_path": config_path, "max_epoch": 10, "max_vocab_size": 150000}
    (folder / "config.json").write_text(json.dumps(config))
    vectors = Embedder(str(folder), batch_size=64).sents2elmo(SENTENCES, output_layer=-2)
    np.savez(folder / "vectors.npz", *vectors)


if __name__ == "__main__":
    HOME.mkdir(exist_ok=True)
    (HOME / "sentences.json").write_text(json.dumps(SENTENCES, ensure_ascii=False))
    make("both", char_dim=5, word_dim=3, seed=1, config_path="/home/author/configs/tiny.json")
    make("characters", char_dim=5, word_dim=0, seed=2, config_path="tiny.json")
    make("words", char_dim=0, word_dim=3, seed=3, config_path="configs/tiny.json")
