"""An `Elmo` in, out all that decides its vectors: what outputs and caches are compared by."""

from typing import TYPE_CHECKING

import torch

from elmore.engine import has_bfloat16

if TYPE_CHECKING:
    from elmore.embed.elmo import Elmo


def fingerprint(elmo: "Elmo") -> dict[str, str]:
    """Return all that decides the vectors to the last bit, apart from the text."""
    reader, cache = elmo.reader, elmo.cache
    mix = {name: tensor.tolist() for name, tensor in elmo.mix.state_dict().items()}
    return {
        "model": elmo.model.fingerprint(),
        "known words": cache.fingerprint(),
        "tokenizer": elmo.tokenizer.name,
        "normalization": str(elmo.model.normalization),
        "mix": f"{mix}, norm {elmo.mix.norm}",
        "engine": f"{'fast' if reader.is_fast else 'textbook'} on {reader.device}",
        "precision": f"{reader.precision}, in hardware: {has_bfloat16()}",
        "batch": f"{reader.max_batch_tokens} tokens, {cache.max_words} words",
        "torch": f"{torch.__version__}, {torch.get_num_threads()} threads",
    }
