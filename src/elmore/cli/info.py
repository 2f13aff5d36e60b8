"""`elmore info`: what a model folder, a folder of vectors or an index holds."""

from typing import Any

from elmore.cli.terminal import print_result


def info(model: str = "en") -> None:
    """Show the architecture and metadata of a model: a table on a terminal, JSON in a pipe.

    For published weights, which have no checksum of their own, the SHA-256 of each file is shown.
    `kernels` is the instruction set that this processor computes with.
    Of a folder of vectors or an index, show what it holds.

    Parameters
    ----------
    model
        A model folder, the name of a bundled model, or hf://owner/name; or a folder of parts that
        elmore embed has written, or an index, also at a URL such as s3://bucket/vectors.
    """
    found = _data_set(model)
    if found is not None:
        print_result(found)
        return
    from elmore.corpus.files import fingerprint
    from elmore.formats import Pretrained, model_folder, read_pretrained, unchecked_weights
    from elmore.kernels.library import kernels

    def facts_of(found: Pretrained) -> dict[str, Any]:
        config = found.config
        lstm = config.lstm
        facts: dict[str, Any] = {
            "parameters": sum(array.size for array in found.arrays.values()),
            "dim": config.dim,
            "layers": lstm.n_layers + 1,
        }
        encoder = config.token_encoder
        chars, words = encoder.chars, encoder.words
        read_as = ["characters"] * (chars is not None) + ["words"] * (words is not None)
        facts["tokens"] = " and ".join(read_as)
        if chars is not None:
            facts |= {
                "char_dim": chars.char_dim,
                "filters": [list(pair) for pair in chars.filters],
                "n_highway": chars.n_highway,
                "activation": chars.activation,
                "max_characters": chars.max_characters,
                "char_encoding": chars.char_encoding,
            }
            if chars.alphabet_size is not None:
                facts["alphabet"] = chars.alphabet_size
        if words is not None:
            facts |= {"words": words.n_words, "word_dim": words.dim}
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

    facts = {"model": model, **facts_of(read_pretrained(model)), "kernels": kernels().variant}
    if weights := unchecked_weights(model_folder(model)):
        facts["sha256"] = {path.name: fingerprint(path)["sha256"] for path in weights}
    print_result(facts)


def _data_set(name: str) -> dict[str, Any] | None:
    """Return the facts of a folder of vectors or of an index; None if it is neither."""
    from elmore.corpus.parts import PartsFolder, read_parts, totals_of
    from elmore.senses.index_file import read_facts
    from elmore.stores import as_path

    if name.startswith("hf://"):
        return None
    root = as_path(name)
    if (index := read_facts(root)) is not None:
        return {
            "index": name,
            "occurrences": index.facts.n_occurrences,
            "words": index.facts.n_words,
            "sentences": index.facts.n_sentences,
            "layers": list(index.config.layers),
            "dim": index.dim,
            "model": index.model.source,
            "size": sum(record.size for record in (index.files or {}).values()),
            "corpus": [text["name"] for text in index.corpus],
            "finished": index.facts.is_whole,
        }
    if (manifest := read_parts(root)) is None:
        return None
    parts = manifest.parts or PartsFolder(root, manifest).finished_records()
    totals = {name.removeprefix("n_"): count for name, count in totals_of(parts).items()}
    return {
        manifest.kind: name,
        **totals,
        "parts": len(parts),
        "blocks": len(manifest.blocks),
        "finished": manifest.parts is not None,
        "size": sum(file.size for part in parts for file in part.files.values()),
        "layers": manifest.job["layers"],
        **({"dtype": manifest.job["dtype"]} if manifest.kind == "vectors" else {}),
        "tokenizer": manifest.job["tokenizer"],
        "model": manifest.job["model"],
        "corpus": [file.name for file in manifest.corpus],
    }
