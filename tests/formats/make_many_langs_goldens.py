"""Makes tests/formats/many_langs: tiny folders of ELMoForManyLangs and the vectors of its own code.

Run it in an environment of its own, which has torch, `elmoformanylangs==0.0.4.post2` and
`overrides<4` (a later one refuses that package's classes):

    python tests/formats/make_many_langs_goldens.py
    python tests/formats/make_many_langs_goldens.py --published-shape build/many_langs

The second line makes a folder of the published shape instead (360 MB, not committed), which
benchmarks/many_langs_parity.py compares with elmore.

Each folder has random weights, made and saved by the package's classes. Its vectors are those of a
fresh Embedder, because it carries its state from call to call, of one batch, in vectors.npz: layers
(L + 1, T, D) for each sentence of sentences.json.
"""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import elmoformanylangs
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


def architecture(*, char_dim: int, word_dim: int) -> dict[str, Any]:
    """Return one of tiny dimensions, with the fields of the published ones."""
    return {
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


def published_architecture() -> dict[str, Any]:
    """Return that of all published models, from the package."""
    configs = Path(elmoformanylangs.__file__).parent / "configs"
    return dict(json.loads((configs / "cnn_50_100_512_4096_sample.json").read_text()))


def make(folder: Path, architecture: dict[str, Any], *, seed: int, config_path: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    dims = architecture["token_embedder"]
    torch.manual_seed(seed)
    layers = {}
    for file, tokens, dim in (
        ("char.dic", CHARACTERS, dims["char_dim"]),
        ("word.dic", WORDS, dims["word_dim"]),
    ):
        rows = {token: row for row, token in enumerate(dict.fromkeys(tokens))}
        layers[file] = EmbeddingLayer(dim, rows, fix_emb=False) if dim else None
        if dim:
            (folder / file).write_text(dictionary(tokens), encoding="utf-8")
    model = Model(architecture, layers["word.dic"], layers["char.dic"])
    with torch.no_grad():
        for part, scale in ((model.token_embedder, 1.0), (model.encoder, 2.0)):  # its clips matter
            for parameter in part.parameters():
                parameter.copy_(scale * torch.randn_like(parameter) / parameter.shape[-1] ** 0.5)
    for part, file in (
        (model.token_embedder, "token_embedder.pkl"),
        (model.encoder, "encoder.pkl"),
    ):
        torch.save(
            part.state_dict(),
            folder / file,
            # The published ones are not zip files.
            _use_new_zipfile_serialization=bool(dims["word_dim"]),
        )
    (folder / Path(config_path).name).write_text(json.dumps(architecture, indent=1))
    config = {"seed": seed, "config_path": config_path, "max_epoch": 10, "max_vocab_size": 150000}
    (folder / "config.json").write_text(json.dumps(config))
    vectors = Embedder(str(folder), batch_size=64).sents2elmo(SENTENCES, output_layer=-2)
    np.savez(folder / "vectors.npz", *vectors)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--published-shape", type=Path, metavar="FOLDER")
    folder = parser.parse_args().published_shape
    if folder is not None:
        make(folder, published_architecture(), seed=4, config_path="published.json")
        return
    HOME.mkdir(exist_ok=True)
    (HOME / "sentences.json").write_text(json.dumps(SENTENCES, ensure_ascii=False))
    for name, char_dim, word_dim, seed, config_path in (
        ("both", 5, 3, 1, "/home/author/configs/tiny.json"),
        ("characters", 5, 0, 2, "tiny.json"),
        ("words", 0, 3, 3, "configs/tiny.json"),
    ):
        tiny = architecture(char_dim=char_dim, word_dim=word_dim)
        make(HOME / name, tiny, seed=seed, config_path=config_path)


if __name__ == "__main__":
    main()
