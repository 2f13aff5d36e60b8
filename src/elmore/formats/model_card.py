"""A model in, its model card out: README.md, with the YAML header that the Hugging Face hub reads.

All that is said comes from the model's config and from what its trainer wrote down.
"""

import re
from collections.abc import Mapping
from typing import Any

from elmore.errors import ConfigError
from elmore.formats.pretrained import Pretrained

README = "README.md"


def model_card(
    model: Pretrained,
    repository: str,
    *,
    readme: str | None = None,
    language: str | None = None,
    license: str | None = None,  # noqa: A002  the hub's word
) -> str:
    """Return the card of a model; `readme` is its body, or a whole card if it has a header."""
    if readme is not None and re.match(r"---\s*\n", readme):
        given = {"language": language, "license": license}
        for name in (name for name, value in given.items() if value is not None):
            raise ConfigError(
                f"{name} is {given[name]!r}, but {README} has a YAML header of its own; write the "
                f"{name} there instead"
            )
        return readme
    header = _header(model, repository, language or _language(model), license)
    return f"---\n{header}\n---\n\n{readme or _body(model, repository)}"


def _header(model: Pretrained, repository: str, language: str | None, license_: str | None) -> str:
    from huggingface_hub import EvalResult, ModelCardData  # noqa: PLC0415  0.3 s, only if used

    held_out = _held_out(model)
    results = [
        EvalResult(
            task_type="text-generation",
            dataset_type="text",
            dataset_name="held-out text of its training corpus",
            metric_type="perplexity",
            metric_name=name.replace("_", " "),
            metric_value=round(value, 2),
        )
        for name, value in held_out.items()
    ]
    data = ModelCardData(
        language=language,
        license=license_,
        library_name="elmore",
        pipeline_tag="feature-extraction",
        tags=["elmo", "bilm", "contextual-word-embeddings"],
        model_name=repository.rpartition("/")[2] if results else None,
        metrics=["perplexity"] if results else None,
        eval_results=results or None,
    )
    return str(data.to_yaml()).strip()


def _body(model: Pretrained, repository: str) -> str:
    config = model.config
    lstm = config.lstm
    n_weights = sum(array.size for array in model.arrays.values())
    facts: dict[str, Any] = {
        "layers": f"{lstm.n_layers + 1} of {config.dim} dimensions",
        "LSTM": f"cells {lstm.cell_dim}, projection {lstm.projection_dim}",
        "parameters": f"{n_weights:,}",
        "tokenizer": f"`{model.tokenizer}`",
        "normalization": model.normalization or "none",
    }
    if config.n_softmax_words is not None:
        facts["softmax"] = f"{config.n_softmax_words:,} words"
    facts |= _training(model.training)
    facts |= {name.replace("_", " "): f"{x:.1f}" for name, x in _held_out(model).items()}
    rows = "\n".join(f"| {name} | {value} |" for name, value in facts.items())
    return f"""# {repository.rpartition("/")[2]}

An ELMo model: a bidirectional language model that gives one vector per word in its sentence.

```python
from elmore import Elmo

elmo = Elmo.from_pretrained("hf://{repository}")
vectors = elmo.encode_tokens(["The bank was steep."])[0].vectors
```

| | |
|---|---|
{rows}
"""


def _training(training: Mapping[str, Any]) -> dict[str, str]:
    """Return what the trainer wrote down of the text; its record is free-form."""
    found = {}
    texts = training.get("texts")
    if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
        found["training text"] = ", ".join(f"`{text}`" for text in texts)
    for name, label in (("training_words", "words of it"), ("tokens", "tokens read")):
        if type(training.get(name)) is int:
            found[label] = f"{training[name]:,}"
    if isinstance(training.get("trained_with"), str):
        found["trained with"] = training["trained_with"]
    return found


def _held_out(model: Pretrained) -> dict[str, float]:
    held_out = model.training.get("held_out")
    if not isinstance(held_out, Mapping):
        return {}
    names = ("forward_perplexity", "backward_perplexity")
    return {name: held_out[name] for name in names if type(held_out.get(name)) is float}


def _language(model: Pretrained) -> str | None:
    """Return the language of the tokenizer, where it is of one."""
    name = model.tokenizer.partition("-")[0]
    return {"english": "en", "korean": "ko"}.get(name)
