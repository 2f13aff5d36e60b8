"""`elmore info`: what a model folder holds."""

import json
import sys
from typing import Any

from elmore.cli.terminal import print_facts


def info(model: str = "en") -> None:
    """Say what a model is: a table on a terminal, JSON in a pipe.

    Parameters
    ----------
    model
        A model folder, the name of a bundled model, or hf://owner/name.
    """
    from elmore.formats import Pretrained, read_pretrained
    from elmore.model import CharCnnConfig

    def facts_of(found: Pretrained) -> dict[str, Any]:
        config = found.bilm.config
        encoder, lstm = config.token_encoder, config.lstm
        facts: dict[str, Any] = {
            "parameters": sum(p.numel() for p in found.bilm.parameters()),
            "dim": config.dim,
            "layers": lstm.n_layers + 1,
        }
        if isinstance(encoder, CharCnnConfig):
            facts |= {
                "tokens": "characters",
                "char_dim": encoder.char_dim,
                "filters": [list(pair) for pair in encoder.filters],
                "n_highway": encoder.n_highway,
                "activation": encoder.activation,
                "max_characters": encoder.max_characters,
                "spelling": encoder.spelling,
            }
        else:
            facts |= {"tokens": "words", "words": encoder.n_words}
        return facts | {
            "cell_dim": lstm.cell_dim,
            "projection_dim": lstm.projection_dim,
            "cell_clip": lstm.cell_clip,
            "projection_clip": lstm.projection_clip,
            "skip_connections": lstm.skip_connections,
            "softmax_words": config.n_softmax_words,
            "vocabulary": None if found.vocab is None else len(found.vocab),
            "normalization": found.normalization,
            "tokenizer": found.tokenizer,
            "training": dict(found.training),
            "calibration": found.calibration
            and {"tokens": found.calibration.n_tokens, "texts": list(found.calibration.texts)},
        }

    facts = {"model": model, **facts_of(read_pretrained(model))}
    if sys.stdout.isatty():
        print_facts(facts)
    else:
        sys.stdout.write(json.dumps(facts, ensure_ascii=False) + "\n")
