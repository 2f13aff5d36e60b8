"""ELMo in spaCy: the component `elmore`, and the frozen architecture `elmore.Tok2Vec.v1`.

spaCy's tokens go in as they are, without the whitespace tokens, which no biLM was trained on and
whose vectors are zeros; sentence by sentence where an earlier component has set the sentence
boundaries, otherwise the whole Doc as one text. One vector per token comes out. The component puts
them into `doc.tensor`, because spaCy keeps that aligned when tokens are merged or a Span becomes a
Doc; hooks make `.vector` and `.similarity` use it. Saved pipelines hold the name of the model and
the hash of its weights, not the weights.

Shapes: T tokens, D dimensions.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from elmore.embed import Elmo
from elmore.embed.layers import Layers, check_layers, layers_dim
from elmore.errors import ConfigError, DataError, FormatError, MissingExtraError

try:
    from spacy.language import Language
    from spacy.pipeline import Pipe
    from spacy.tokens import Doc, Span, Token
    from spacy.util import minibatch, registry
    from thinc.api import Model
except ImportError:
    raise MissingExtraError("elmore.integrations.spacy", "spacy") from None

Vectors = npt.NDArray[np.float32]

_MAX_CACHED_BYTES = 256 * 2**20


class DocEncoder:
    """Docs in, the vectors of their tokens out, (T, D) for each.

    "all" layers are concatenated. With `standardize`, layers have mean 0 and standard deviation 1,
    if the model has a calibration; a mix stays as it is.
    """

    def __init__(
        self, model: str, layers: Layers, *, standardize: bool = False, max_cached_bytes: int = 0
    ) -> None:
        self.model = model
        self.elmo = Elmo.from_pretrained(model)
        check_layers(layers, self.elmo.n_layers)
        self.layers = layers
        n_layers = self.elmo.n_layers if layers == "all" else 1
        self.dim = n_layers * layers_dim(layers, self.elmo.dim)
        self._standardize = standardize and layers != "mix"
        self.hash = self.elmo.model.fingerprint()
        self._cache: dict[tuple[str, ...], Vectors] = {}
        self._cacheable_bytes = max_cached_bytes

    def __call__(self, docs: Iterable[Doc]) -> list[Vectors]:
        """Return the vectors of each Doc; those of whitespace tokens are zeros."""
        docs = list(docs)
        for doc in docs:
            if not isinstance(doc, Doc):
                raise DataError(f"got a {type(doc).__name__}; expected a Doc, such as nlp(text)")
        places = [_sentences(doc) for doc in docs]
        sentences = [
            [tuple(doc[i].text for i in sentence) for sentence in found]
            for doc, found in zip(docs, places, strict=True)
        ]
        encoded = self._encode({tokens for found in sentences for tokens in found})
        made = []
        for doc, found, texts in zip(docs, places, sentences, strict=True):
            vectors = np.zeros((len(doc), self.dim), np.float32)
            for sentence, tokens in zip(found, texts, strict=True):
                vectors[sentence] = encoded[tokens]
            made.append(vectors)
        return made

    def check_hash(self, saved: str) -> None:
        """Refuse weights that are not those of the pipeline that was saved."""
        if saved != self.hash:
            raise FormatError(
                f"{self.model} holds other weights than when this pipeline was saved; put the "
                "model back that was there, or train the pipeline again"
            )

    def _encode(self, sentences: set[tuple[str, ...]]) -> dict[tuple[str, ...], Vectors]:
        known = {tokens: self._cache[tokens] for tokens in sentences & self._cache.keys()}
        new = sorted(sentences - known.keys())
        found = self.elmo.encode_tokens(new, layers=self.layers)
        encoded = {
            tokens: self._vectors(text.vectors) for tokens, text in zip(new, found, strict=True)
        }
        # First come, first kept: epochs over a large corpus would flush a cache of recent ones.
        for tokens, vectors in encoded.items():
            if vectors.nbytes <= self._cacheable_bytes:
                self._cacheable_bytes -= vectors.nbytes
                self._cache[tokens] = vectors
        return known | encoded

    def _vectors(self, found: Vectors) -> Vectors:
        """Return the vectors of a sentence as they are asked for, (T, D)."""
        calibration = self.elmo.model.calibration
        if self._standardize and calibration is not None:
            found = calibration.standardize(found, self.layers)  # type: ignore[arg-type]
        return np.concatenate(found, axis=1) if self.layers == "all" else found


def _sentences(doc: Doc) -> list[list[int]]:
    """Return the places of the words of each sentence."""
    spans = doc.sents if doc.has_annotation("SENT_START") else [doc]
    return [[token.i for token in span if not token.is_space] for span in spans]


# --- the component --------------------------------------------------------------------------------


class ElmoComponent(Pipe):
    """Fills `doc.tensor`, and sets the hooks of `set_hooks`."""

    def __init__(self, encoder: DocEncoder, name: str) -> None:
        self.encoder = encoder
        self.name = name

    def __call__(self, doc: Doc) -> Doc:
        """Give one Doc its vectors."""
        return self._fill([doc])[0]

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Give Docs their vectors, `batch_size` of them at once."""
        for docs in minibatch(stream, size=batch_size):  # type: ignore[no-untyped-call]
            try:
                self._fill(docs)
            except Exception as error:
                self.get_error_handler()(self.name, self, docs, error)
            else:
                yield from docs

    def _fill(self, docs: list[Doc]) -> list[Doc]:
        for doc, vectors in zip(docs, self.encoder(docs), strict=True):
            doc.tensor = vectors  # type: ignore[assignment]  # spaCy's stub has float64
            set_hooks(doc)
        return docs

    def to_bytes(self, **_: Any) -> bytes:
        """Return the hash of the weights; the rest is in the pipeline's config."""
        return self.encoder.hash.encode()

    def from_bytes(self, data: bytes, **_: Any) -> "ElmoComponent":
        """Check that the weights are the same."""
        self.encoder.check_hash(data.decode(errors="replace"))
        return self

    def to_disk(self, path: str | Path, **_: Any) -> None:
        """Write the hash of the weights; the rest is in the pipeline's config."""
        Path(path).write_bytes(self.to_bytes())

    def from_disk(self, path: str | Path, **_: Any) -> "ElmoComponent":
        """Check that the weights are the same."""
        return self.from_bytes(Path(path).read_bytes())


@Language.factory(
    "elmore",
    assigns=["doc.tensor", "token._.elmore"],
    default_config={"model": "en", "layers": "mix"},
)
def make_elmore(nlp: Language, name: str, model: str, layers: str | int) -> ElmoComponent:
    """Make the component: `model` is a bundled name or a model folder, `layers` as in `Elmo`."""
    if layers == "all":
        raise ConfigError("layers is 'all'; a token has one vector: choose one, such as 'mix'")
    return ElmoComponent(DocEncoder(model, layers), name)  # type: ignore[arg-type]


# --- vectors and similarity -----------------------------------------------------------------------


def set_hooks(doc: Doc) -> None:
    """Make `.vector`, `.has_vector` and `.similarity` of a Doc and its parts those of its tensor.

    Without hooks, spaCy prefers the vocabulary's vectors, and equal spellings have the similarity
    1.0. The component calls this; serializing a Doc loses the hooks, so call it for a Doc that was
    read from bytes, or came from `nlp.pipe(n_process=2)`.
    """
    for hooks in (doc.user_hooks, doc.user_token_hooks, doc.user_span_hooks):
        hooks.update(vector=_vector, has_vector=_has_vector, similarity=_similarity)
    # Those of tokens and spans are computed from .vector; spaCy keeps a Doc's.
    doc.user_hooks["vector_norm"] = _norm


def _vector(item: Doc | Span | Token) -> Vectors:
    """Return a token's vector, (D,), or the mean of those of a Span or Doc without whitespace."""
    doc = item.doc
    if len(doc.tensor) != len(doc):
        raise DataError(
            "this Doc has no ELMo vectors, perhaps because a DocBin does not keep them; give it "
            'them by nlp.get_pipe("elmore")(doc)'
        )
    if isinstance(item, Token):
        vector: Vectors = doc.tensor[item.i]
        return vector
    words = [token.i for token in item if not token.is_space]
    return doc.tensor[words].mean(axis=0) if words else np.zeros(doc.tensor.shape[-1], np.float32)


def _has_vector(item: Doc | Span | Token) -> bool:
    return bool(_vector(item).any())


def _norm(item: Doc) -> float:
    return float(np.linalg.norm(_vector(item)))


def _similarity(a: Doc | Span | Token, b: Any) -> float:
    """Return the cosine; 0 where one of them has no words."""
    if not isinstance(b, Doc | Span | Token):
        raise DataError(
            f"a {type(b).__name__} has no sentence, and so no ELMo vector; compare with a Token, "
            "a Span or a Doc"
        )
    u, v = _vector(a), _vector(b)
    if u.shape != v.shape:
        raise DataError(
            f"the vectors have {len(u)} and {len(v)} dimensions; compare Docs of one pipeline"
        )
    norms = float(np.linalg.norm(u) * np.linalg.norm(v))
    return float(u @ v) / norms if norms else 0.0


Token.set_extension("elmore", getter=_vector, force=True)


# --- the architecture -----------------------------------------------------------------------------


@registry.architectures("elmore.Tok2Vec.v1")  # type: ignore[untyped-decorator]
def elmo_tok2vec(
    model: str, layers: str | int = "all", standardize: bool = True
) -> Model[list[Doc], list[Any]]:
    """Return a frozen layer: Docs in, the vectors of their tokens out, (T, D) each.

    It takes no gradient, so the vectors of a sentence are computed once and cached. By default it
    gives all layers side by side, so that what is trained on it can weigh them.
    """
    encoder = DocEncoder(
        model,
        layers,  # type: ignore[arg-type]
        standardize=standardize,
        max_cached_bytes=_MAX_CACHED_BYTES,
    )
    return Model(
        "elmore_tok2vec",
        _forward,
        dims={"nO": encoder.dim},
        # Of these, thinc saves the hash alone: it leaves out what it cannot serialize.
        attrs={"encoder": encoder, "model_hash": encoder.hash},
    )


def _forward(model: Model[list[Doc], list[Any]], docs: list[Doc], is_train: bool) -> Any:
    encoder: DocEncoder = model.attrs["encoder"]
    encoder.check_hash(model.attrs["model_hash"])
    vectors = [model.ops.asarray(found) for found in encoder(docs)]  # type: ignore[arg-type]
    return vectors, lambda gradients: []
