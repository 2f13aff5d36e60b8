"""`elmore push`: a model to the Hugging Face hub."""

from typing import Annotated, Literal

from cyclopts import Parameter

from elmore.cli.terminal import print_result


def push(
    model: str,
    repository: str,
    /,
    *,
    language: str | None = None,
    license: str | None = None,  # noqa: A002  the hub's word
    private: Annotated[bool, Parameter(negative="")] = False,
    revision: str | None = None,
    message: str = "Upload an elmore model",
    dtype: Literal["float32", "float16"] = "float32",
) -> None:
    """Upload a model with a model card to the Hugging Face hub.

    You must be logged in (hf auth login, or the environment variable HF_TOKEN). The README.md of
    the model's folder is its card; without one, a card is made of its config and its results.

    Parameters
    ----------
    model
        A model folder, or the name of a bundled model.
    repository
        owner/name on the hub; made if there is none.
    language
        The language of the model for its card, such as en.
    license
        The licence of the model for its card, such as cc-by-sa-4.0.
    private
        Make a new repository private.
    revision
        The branch to upload to, made if there is none; by default main.
    message
        The commit message.
    dtype
        The type of the weights.
    """
    from elmore.formats import model_folder, push_to_hub, read_pretrained
    from elmore.formats.model_card import README

    folder = model_folder(model)
    card = folder / README
    address = push_to_hub(
        read_pretrained(folder),
        repository,
        readme=card.read_text(encoding="utf-8", errors="replace") if card.is_file() else None,
        language=language,
        license=license,
        private=private,
        revision=revision,
        message=message,
        dtype=dtype,
    )
    name = f"hf://{repository}" + (f"@{revision}" if revision else "")
    print_result({"model": name, "commit": address})
