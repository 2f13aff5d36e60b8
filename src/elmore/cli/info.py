"""`elmore info`: what a model folder holds."""

from typing import Any

from elmore.cli.terminal import print_result


def info(model: str = "en") -> None:
    """Show the architecture and metadata of a model: a table on a terminal, JSON in a pipe.

    For published weights, which have no checksum of their own, the SHA-256 of each file is shown.

    Parameters
    ----------
    model
        A model folder, the name of a bundled model, or hf://owner/name.
    """
    from elmore.corpus.files import fingerprint
    from elmore.formats import Pretrained, model_folder, read_pretrained, unchecked_weights
    from elmore.model import ConcatConfig

    def facts_of(found: Pretrained) -> dict[str, Any]:
        config = found.bilm.config
        lstm = config.lstm
        facts: dict[str, Any] = {
            "parameters": sum(p.numel() for p in found.bilm.parameters()),
            "dim": config.dim,
            "layers": lstm.n_layers + 1,
        }
        encoder, n_words = config.token_encoder, config.n_table_words
        concat = encoder if isinstance(encoder, ConcatConfig) else None
        char_cnn = concat.char_cnn if concat else config.char_cnn
        read_as = ["characters"] * (char_cnn is not None) + ["words"] * (n_words is not None)
        facts["tokens"] = " and ".join(read_as)
        if char_cnn is not None:
            facts |= {
                "char_dim": char_cnn.char_dim,
                "filters": [list(pair) for pair in char_cnn.filters],
                "n_highway": char_cnn.n_highway,
                "activation": char_cnn.activation,
            }
        if concat is not None:
            facts |= {"max_characters": concat.max_characters, "alphabet": config.alphabet_size}
            facts["word_dim"] = None if concat.words is None else concat.words.dim
        elif config.char_cnn is not None:
            facts["max_characters"] = config.char_cnn.max_characters
            facts["spelling"] = config.char_cnn.spelling
        if n_words is not None:
            facts["words"] = n_words
        return facts | {
            "cell_dim": lstm.cell_dim,
            "projection_dim": lstm.projection_dim,
            "cell_clip": lstm.cell_clip,
            "projection_clip": lstm.projection_clip,
            "skip_connections": lstm.skip_connections,
            "forget_bias": lstm.forget_bias,
            "softmax_words": config.n_softmax_words,
            "vocabulary": None if found.vocab is None else len(found.vocab),
            "normalization": found.normalization,
            "tokenizer": found.tokenizer,
            "training": dict(found.training),
            "calibration": found.calibration
            and {"tokens": found.calibration.n_tokens, "texts": list(found.calibration.texts)},
        }

    facts = {"model": model, **facts_of(read_pretrained(model))}
    if weights := unchecked_weights(model_folder(model)):
        facts["sha256"] = {path.name: fingerprint(path)["sha256"] for path in weights}
    print_result(facts)
