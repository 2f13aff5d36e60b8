"""An `Elmo` in, plain data for a pickle out, and back.

One that came from `from_pretrained`, and whose folder holds the same weights now, is pickled as its
address and the hash of its weights: a few hundred bytes. Any other, made in memory or with weights
that changed, carries the files of a model folder. Loading either runs no code of the pickle's own
beyond `restore`. A tokenizer that is not elmore's is pickled as it is, and so are cached word
vectors; the word cache itself starts empty.
"""

from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from elmore.engine.mix import Mix
from elmore.engine.word_cache import WordVectors
from elmore.errors import ElmoreError, FormatError
from elmore.formats import read_pretrained, write_native
from elmore.text import Tokenizer, Vocab
from elmore.text.normalize import without_normalizing

if TYPE_CHECKING:
    from elmore.embed.elmo import Elmo


def address_of(name_or_path: str | Path, vocab: str | Path | None) -> tuple[str, str | None]:
    """Return where a model and its vocabulary are, from whatever folder one looks."""
    is_folder = Path(name_or_path).is_dir()
    return (
        str(Path(name_or_path).resolve() if is_folder else name_or_path),
        str(Path(vocab).resolve()) if vocab else None,
    )


def pickled_state(elmo: "Elmo") -> dict[str, Any]:
    """Return all that `restore` needs, as plain data."""
    fixed = elmo.cache.fixed
    state: dict[str, Any] = {
        "tokenizer": _tokenizer_state(elmo.tokenizer),
        "word_vectors": fixed and (fixed.vocab.words, fixed.vectors),
        "options": elmo._options,
        "source": elmo.source,
        "mix": asdict(elmo.mix),
    }
    found = elmo.model.fingerprint()
    if elmo._address is not None and _hash_at(elmo) == found:
        return {**state, "address": elmo._address, "hash": found}
    with TemporaryDirectory() as work:
        folder = Path(work) / "model"
        write_native(elmo.model, folder)
        return {**state, "files": {path.name: path.read_bytes() for path in folder.iterdir()}}


def restore(cls: "type[Elmo]", state: dict[str, Any]) -> "Elmo":
    """Return the `Elmo` that a pickle describes; refuse an address that holds other weights."""
    if "files" in state:
        with TemporaryDirectory() as work:
            for name, content in state["files"].items():
                (Path(work) / Path(name).name).write_bytes(content)
            model = read_pretrained(work)
    else:
        source, vocab = state["address"]
        model = read_pretrained(source, vocab and Path(vocab))
        if model.fingerprint() != state["hash"]:
            raise FormatError(
                f"{source} holds other weights than when this Elmo was pickled; pickle it again, "
                "or put the model back that was there"
            )
    fixed = state["word_vectors"]
    made = cls(
        model,
        tokenizer=state["tokenizer"],
        word_vectors=fixed and WordVectors(Vocab(fixed[0]), fixed[1]),
        **state["options"],
    )
    made.mix = Mix(**state["mix"])
    made.source, made._address = state["source"], state.get("address")
    return made


def _tokenizer_state(tokenizer: Tokenizer) -> str | Tokenizer:
    """Return the name of one of elmore's own, which may hold what cannot be pickled."""
    tokenizer = without_normalizing(tokenizer)  # the model that is loaded says how
    return tokenizer.name if type(tokenizer).__module__.startswith("elmore.") else tokenizer


def _hash_at(elmo: "Elmo") -> str | None:
    """Return the hash of the weights at the address of an `Elmo`, read once; None: there are none.

    The weights in memory may be changed in ways that nothing can see, so that the folder is read.
    """
    if elmo._hash_at_address is None:
        assert elmo._address is not None
        source, vocab = elmo._address
        try:
            found = read_pretrained(source, Path(vocab) if vocab else None).fingerprint()
        except (ElmoreError, OSError):
            return None
        elmo._hash_at_address = found
    return elmo._hash_at_address


def copied(elmo: "Elmo") -> "Elmo":
    """Return an independent `Elmo` that gives the same vectors."""
    made = type(elmo)(
        elmo.model,
        tokenizer=_tokenizer_state(elmo.tokenizer),
        word_vectors=elmo.cache.fixed,
        **elmo._options,
    )
    made.mix = elmo.mix
    made.source, made._address = elmo.source, elmo._address
    return made
