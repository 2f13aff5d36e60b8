"""Embed `bank` in two sentences and show how far apart it is on each layer."""

import sys

import numpy as np

from elmore import Elmo
from elmore.errors import ElmoreError

SENTENCES = ("I opened a bank account .", "We sat on the river bank .")


def main() -> int:
    """Print the table for the model folder on the command line."""
    try:
        elmo = Elmo.from_pretrained(sys.argv[1])
    except ElmoreError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 2
    deposit, river = elmo.encode_tokens(SENTENCES, layers="all")
    for sentence, found in zip(SENTENCES, (deposit, river), strict=True):
        print(f"{sentence:30} {len(found.tokens)} words, each {elmo.n_layers} layers of {elmo.dim}")
    print("\nHow alike are the two vectors of `bank` (cosine)?")
    for layer in range(elmo.n_layers):
        a = deposit.vectors[layer, deposit.tokens.index("bank")]
        b = river.vectors[layer, river.tokens.index("bank")]
        cosine = float(a @ b / np.sqrt((a @ a) * (b @ b)))
        knows = "the word alone" if layer == 0 else "the word in its sentence"
        print(f"  layer {layer}: {cosine:.3f}  ({knows})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
