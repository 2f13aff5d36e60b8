"""The Hugging Face hub: a repository's name in, a model folder out, and a model in, a commit out.

Files are cached by huggingface_hub, so that a model that was fetched once is there offline.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from elmore.errors import ConfigError, FormatError
from elmore.formats.many_langs import ENCODER, TOKEN_EMBEDDER
from elmore.formats.model_card import README, model_card
from elmore.formats.native import write_native
from elmore.formats.pretrained import Pretrained

_PATTERNS = ["*.json", "*.safetensors", "*.txt", "*.hdf5", "*.h5"]
_PATTERNS += ["*.dic", TOKEN_EMBEDDER, ENCODER]


def fetch_from_hub(repository: str, revision: str | None = None) -> Path:
    """Return the folder of a model of the hub, downloaded unless it is in the cache."""
    from huggingface_hub import snapshot_download  # noqa: PLC0415  0.3 s, only if used

    with _one_sentence(f"hf://{repository} cannot be fetched", repository, revision):
        return Path(snapshot_download(repository, revision=revision, allow_patterns=_PATTERNS))


def push_to_hub(
    model: Pretrained,
    repository: str,
    *,
    readme: str | None = None,
    language: str | None = None,
    license: str | None = None,  # noqa: A002  the hub's word
    private: bool = False,
    revision: str | None = None,
    message: str,
    dtype: Literal["float32", "float16"] = "float32",
) -> str:
    """Upload a model folder with its card; return the commit's address.

    `readme` is the body of the card instead of one that is made of the config.
    """
    from huggingface_hub import HfApi  # noqa: PLC0415  0.3 s, only if used

    if repository.count("/") != 1:
        raise ConfigError(f"the repository is {repository!r}; expected owner/name")
    with TemporaryDirectory() as work:
        folder = Path(work) / "model"
        write_native(model, folder, dtype)
        card = model_card(model, repository, readme=readme, language=language, license=license)
        (folder / README).write_text(card, encoding="utf-8")
        with _one_sentence(f"{repository} cannot be uploaded", repository, revision):
            api = HfApi()
            api.create_repo(repository, private=private, exist_ok=True)
            if revision is not None:
                api.create_branch(repository, branch=revision, exist_ok=True)
            commit = api.upload_folder(
                repo_id=repository, folder_path=folder, commit_message=message, revision=revision
            )
    return commit.commit_url


@contextmanager
def _one_sentence(what: str, repository: str, revision: str | None) -> Iterator[None]:
    """Turn the many ways in which the hub fails into one sentence each."""
    from huggingface_hub import errors  # noqa: PLC0415  0.3 s, only if used

    try:
        yield
    except errors.HFValidationError as error:
        raise FormatError(f"{what}: {_first_line(error)}") from None
    except errors.GatedRepoError:
        raise FormatError(
            f"{what}: its owner grants access to it; ask on its page, and log in (hf auth login)"
        ) from None
    except errors.RepositoryNotFoundError:
        raise FormatError(
            f"{what}: there is no such repository, or it is private; check the name {repository}, "
            "or log in (hf auth login)"
        ) from None
    except errors.RevisionNotFoundError:
        raise FormatError(f"{what}: it has no revision {revision!r}; name another") from None
    except (errors.LocalTokenNotFoundError, errors.HfHubHTTPError) as error:
        response = getattr(error, "response", None)
        status = 401 if response is None else response.status_code
        if status in (401, 403):
            raise FormatError(
                f"{what}: you are not logged in, or may not do that; log in with a token that may "
                "(hf auth login)"
            ) from None
        raise FormatError(f"{what}: {_first_line(error)}") from None
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled):
        raise FormatError(
            f"{what}: the hub cannot be reached, and it is not in the cache; connect and try again"
        ) from None
    except errors.HTTPError:  # type: ignore[attr-defined]  # its HTTP library's: no connection
        raise FormatError(f"{what}: the hub cannot be reached; connect and try again") from None
    except OSError as error:
        raise FormatError(f"{what}: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
