"""How far elmore's vectors are from those of ELMoForManyLangs' own code.

    python benchmarks/many_langs_parity.py tests/formats/many_langs/*/ build/many_langs

A folder is a model with the vectors that the original gave for the sentences in tests/formats, in
vectors.npz: those in the tests, and what tests/formats/make_many_langs_goldens.py makes. Given are
the largest values of the original, and the largest differences, layer by layer.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from elmore import Elmo

SENTENCES = Path(__file__).resolve().parents[1] / "tests/formats/many_langs/sentences.json"


def compare(folder: Path) -> dict[str, object]:
    sentences = json.loads(SENTENCES.read_text("utf-8"))
    with np.load(folder / "vectors.npz") as golden:
        expected = np.concatenate([golden[f"arr_{i}"] for i in range(len(sentences))], axis=1)
    found = {}
    for engine in ("fast", "textbook"):
        elmo = Elmo.from_pretrained(folder, engine=engine)
        vectors = [one.vectors for one in elmo.encode_tokens(sentences, layers="all")]
        difference = np.abs(np.concatenate(vectors, axis=1) - expected)
        found[engine] = [float(f"{layer.max():.1e}") for layer in difference]
    values = [round(float(layer.max()), 1) for layer in np.abs(expected)]
    return {"model": folder.name, "largest values": values, "largest differences": found}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    for folder in parser.parse_args().folders:
        print(json.dumps(compare(folder)))


if __name__ == "__main__":
    main()
