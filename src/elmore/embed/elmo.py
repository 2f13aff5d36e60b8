"""Texts in, arrays out: `Elmo`, the network for everyone who wants vectors, without gradients."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from elmore.bilm_config import BiLMConfig, DType
from elmore.checks import one_of
from elmore.corpus.sentence_reader import SentenceReader
from elmore.embed.cached_words import read_cached_words
from elmore.embed.encode import encode_pooled, encode_words
from elmore.embed.fill import Filler, Sides, Substitutes
from elmore.embed.fingerprint import fingerprint
from elmore.embed.layers import Layers
from elmore.embed.networks import EngineName, network_of, torch_bilm, with_weights_of
from elmore.embed.pickled import address_of, copied, pickled_state, restore
from elmore.embed.pooling import Pooling
from elmore.embed.progress import text_bar
from elmore.embed.results import Output, TokenIds, TokenVectors, WordScores
from elmore.embed.session import Session
from elmore.embed.similarity import cosines
from elmore.embed.texts import Texts, TokenizedText, choose_tokenizer, tokenize
from elmore.embed.token_ids import padded_ids
from elmore.embed.word_scores import score_words
from elmore.engine.mix import Mix
from elmore.engine.network import Network
from elmore.engine.precision import PrecisionName
from elmore.engine.reader import Reader
from elmore.engine.softmax import Softmax
from elmore.engine.word_cache import WordCache, WordVectors
from elmore.errors import ConfigError, DataError
from elmore.formats import (
    Pretrained,
    push_to_hub,
    read_pretrained,
    with_revision,
    write_native,
)
from elmore.text import Tokenizer, normalize

if TYPE_CHECKING:
    from elmore.model.bilm import BiLM
    from elmore.model.mix import ScalarMix


class Elmo:
    """A pretrained biLM that turns text into vectors: deterministic, in any batch, in any order.

    `mix` is the mean of the layers to begin with; assign another `Mix`, or the `ScalarMix` that a
    task has learned, and `layers="mix"` uses it. It is not saved with the model.
    """

    def __init__(
        self,
        model: Pretrained,
        *,
        tokenizer: str | Tokenizer | None = None,
        word_vectors: WordVectors | None = None,
        cache_words: int = 65_536,
        max_batch_tokens: int = 4096,
        engine: EngineName = "auto",
        precision: PrecisionName = "float32",
        device: str = "cpu",
    ) -> None:
        if not isinstance(model, Pretrained):
            raise ConfigError(
                f"Elmo takes a loaded model, and got {model!r}; to load one, call "
                f"Elmo.from_pretrained({str(model)!r})"
            )
        self.model = model
        self.device = str(device)
        network = network_of(model, engine, precision, self.device)
        self.engine = "fast" if isinstance(network, Network) else f"textbook on {self.device}"
        """What runs the network: fast, or textbook on a device."""
        self.precision = network.precision
        """Of the matrix products."""
        self.tokenizer = choose_tokenizer(model, tokenizer)
        self.cache = WordCache(model.config.lstm.projection_dim, cache_words, word_vectors)
        """The word cache: its size, hits and misses."""
        self.reader = Reader(network, model.encoder, self.cache, max_batch_tokens=max_batch_tokens)
        self.mix = Mix.uniform(self.n_layers)
        self.source: str | None = None
        """What `from_pretrained` was given."""
        # For pickles (pickled.py): where the model and its vocabulary are, and their hash there.
        self._address: tuple[str, str | None] | None = None
        self._hash_at_address: str | None = None
        self._options: dict[str, Any] = {
            "cache_words": cache_words, "max_batch_tokens": max_batch_tokens, "engine": engine,
            "precision": precision, "device": self.device,
        }  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        return restore, (type(self), pickled_state(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> "Elmo":
        memo[id(self)] = made = copied(self)
        return made

    def __sklearn_clone__(self) -> "Elmo":
        return self  # the weights are frozen: estimators may share them

    def __repr__(self) -> str:
        return (
            f"Elmo({self.n_layers} layers of {self.dim}, tokenizer {self.tokenizer.name!r}, "
            f"{len(self.cache):,} cached words)"
        )

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | Path,
        *,
        revision: str | None = None,
        tokenizer: str | Tokenizer | None = None,
        vocab: str | Path | None = None,
        word_vectors: str | Path | None = None,
        cache_words: int = 65_536,
        max_batch_tokens: int = 4096,
        engine: EngineName = "auto",
        precision: PrecisionName = "float32",
        device: str = "cpu",
        verify: bool = True,
    ) -> "Elmo":
        """Load a model: a bundled name, an elmore or published model folder, or `hf://owner/name`.

        `revision` is a branch, a tag or a commit of a model on the hub; `hf://owner/name@revision`
        says the same. `tokenizer` is for raw strings, instead of the model's own. `vocab` names the
        vocabulary of a published model whose folder has none. `word_vectors` is an HDF5 of cached
        token vectors, a row for each word of the vocabulary; other words are encoded from their
        characters. `cache_words` is the size of the word cache, `max_batch_tokens` that of a batch.
        `engine` is "fast" (the default on a CPU) or "textbook", the plain PyTorch network, which
        also runs on another `device`; both give the same vectors, to 2e-6. `precision` is
        "float32", "bfloat16" (faster on processors that have it, to a cosine of 0.999) or "auto"
        (bfloat16 where the processor has it). Files must match the checksums of an elmore model
        folder, unless `verify` is false.
        """
        name_or_path = with_revision(name_or_path, revision)
        model = read_pretrained(name_or_path, Path(vocab) if vocab else None, verify=verify)
        cached = None
        if word_vectors is not None:
            cached = read_cached_words(Path(word_vectors), model, name_or_path)
        made = cls(
            model,
            tokenizer=tokenizer,
            word_vectors=cached,
            cache_words=cache_words,
            max_batch_tokens=max_batch_tokens,
            engine=engine,
            precision=precision,
            device=device,
        )
        made.source = str(name_or_path)
        made._address = address_of(name_or_path, vocab)
        return made

    def save_pretrained(self, folder: str | Path, *, dtype: DType = "float32") -> None:
        """Write the model as an elmore model folder; `dtype` is what its weights are stored in."""
        one_of(DType, dtype=dtype)
        write_native(self.model, Path(folder), dtype)

    def push_to_hub(
        self,
        repository: str,
        *,
        language: str | None = None,
        license: str | None = None,  # noqa: A002  the hub's word
        private: bool = False,
        revision: str | None = None,
        message: str = "Upload an elmore model",
        dtype: DType = "float32",
    ) -> str:
        """Upload the model with a model card to the Hugging Face hub; return the commit's address.

        `repository` is "owner/name", made if there is none, and `private` is for a new one.
        `language` ("en") and `license` ("cc-by-sa-4.0") go to the card; `revision` is the branch.
        You must be logged in (`hf auth login`, or HF_TOKEN).
        """
        one_of(DType, dtype=dtype)
        return push_to_hub(
            self.model,
            repository,
            language=language,
            license=license,
            private=private,
            revision=revision,
            message=message,
            dtype=dtype,
        )

    @property
    def mix(self) -> Mix:
        """The mix of `layers="mix"`: of a `ScalarMix` that was assigned what it had learned."""
        return self._mix

    @mix.setter
    def mix(self, mix: "Mix | ScalarMix") -> None:
        frozen = mix if isinstance(mix, Mix) else Mix.of(mix)
        if frozen.n_layers != self.n_layers:
            raise ConfigError(f"the mix has {len(frozen.s)} weights, for {self.n_layers} layers")
        self._mix = frozen

    @cached_property
    def bilm(self) -> "BiLM":
        """The network in PyTorch, a copy, frozen; give it to an `ElmoLayer` to train a task on."""
        return torch_bilm(self.model)

    def with_bilm(self, bilm: "BiLM") -> "Elmo":
        """Return an `Elmo` like this one with the weights of a network that was fine-tuned."""
        made = type(self)(
            with_weights_of(self.model, bilm), tokenizer=self.tokenizer, **self._options
        )
        made.mix = self.mix
        return made

    @cached_property
    def softmax(self) -> Softmax | None:
        """The output layer; None for a model without one."""
        return Softmax(self.model.arrays) if "softmax.weight" in self.model.arrays else None

    @property
    def config(self) -> BiLMConfig:
        """The shape of the network."""
        return self.model.config

    def fingerprint(self) -> dict[str, str]:
        """Return all that decides the vectors to the last bit, apart from the text."""
        return fingerprint(self)

    @property
    def dim(self) -> int:
        """Dimensions of a token's vector."""
        return self.config.dim

    @property
    def n_layers(self) -> int:
        """Layers: the context-free token layer and each LSTM layer."""
        return self.config.lstm.n_layers + 1

    def encode_tokens(
        self,
        texts: Texts,
        *,
        layers: Layers | Sequence[Layers] = "mix",
        keep_sentence_marks: bool = False,
        standardize: bool = False,
        output: Output = "numpy",
        dtype: DType = "float32",
        show_progress: bool = False,
    ) -> list[TokenVectors]:
        """Return one vector per word of each text.

        Texts are strings or lists of tokens: ["The", "bank"] is two texts, [["The", "bank"]] one.
        `layers` is "mix" (their weighted mean), "all", "top", or a number from 0, the context-free
        layer, upwards; or the states that predict each word, which have not read it: "context",
        the forward state before it beside the backward state after it, and "expected", their sum,
        half as wide. A list of these gives a dictionary of vectors, from one forward pass. A
        sentence mark that is kept has zeros for the side on which there is nothing. `standardize`
        makes mean and deviation of each dimension 0 and 1 by the model's calibration, so that
        cosines spread out; there is none for "mix". `show_progress` draws a progress bar on
        standard error.
        """
        tokenized = self._tokenize(texts)
        with text_bar(tokenized, shown=show_progress) as on_progress:
            return encode_words(
                self,
                tokenized,
                layers=layers,
                keep_sentence_marks=keep_sentence_marks,
                standardize=standardize,
                output=output,
                dtype=dtype,
                on_progress=on_progress,
            )

    def encode(
        self,
        texts: Texts,
        *,
        pooling: Pooling = "mean",
        layers: Layers = "mix",
        output: Output = "numpy",
        dtype: DType = "float32",
        show_progress: bool = False,
    ) -> Any:
        """Return one vector per text, (texts, D); for layers="all" (texts, L + 1, D).

        Only the text's own words are pooled: no padding, no sentence marks. A text without words
        gets zeros. `show_progress` draws a progress bar on standard error.
        """
        tokenized = self._tokenize(texts)
        with text_bar(tokenized, shown=show_progress) as on_progress:
            return encode_pooled(
                self,
                tokenized,
                pooling=pooling,
                layers=layers,
                output=output,
                dtype=dtype,
                on_progress=on_progress,
            )

    def similarity(
        self, a: Texts, b: Texts, *, pooling: Pooling = "mean", layers: Layers = "mix"
    ) -> npt.NDArray[np.float32]:
        """Return the cosine of each text of `a` with each of `b`, (A, B), by pooled vectors.

        A text without words has the cosine 0 with every other.
        """
        if layers == "all":
            raise ConfigError("layers is 'all'; similarity needs one vector per text: choose one")
        first, second = (self.encode(x, pooling=pooling, layers=layers) for x in (a, b))
        return cosines(first, second)

    def scores(self, texts: Texts) -> list[WordScores]:
        """Return the log-probability of each word by the full softmax, in both directions."""
        return score_words(self, self._tokenize(texts))

    def session(self) -> Session:
        """Return a session, which carries the LSTM state from one batch into the next."""
        return Session(self)

    def word_vectors(self, words: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the context-free vectors of words, (words, D / 2): half of layer 0."""
        if isinstance(words, str):
            raise DataError(f"got one string; give a list of words, such as [{words!r}]")
        words = [normalize(word, self.model.normalization) for word in words]
        distinct = {word: row for row, word in enumerate(dict.fromkeys(words))}
        vectors = self.reader.token_vectors(list(distinct))
        found: npt.NDArray[np.float32] = vectors[[distinct[word] for word in words]]
        return found

    def ids(self, texts: Texts) -> TokenIds:
        """Return texts as the padded batch of ids that `ElmoLayer` and `BiLM` read."""
        return padded_ids(self.model.encoder, self._tokenize(texts), self.device)

    def fill(
        self,
        texts: str | Texts,
        *,
        word: str | int | None = None,
        sides: Sides = "both",
        n: int = 10,
    ) -> list[Substitutes]:
        """Return the `n` most probable words for each blank (`___`) of one or more texts.

        With `word`, a token of each text or its number from 0, that place is filled instead: these
        are the word's substitutes. `sides` is "both", "left" (the words before the place alone) or
        "right". The model needs its softmax.
        """
        return Filler(self).fill([texts] if isinstance(texts, str) else texts, word, sides, n)

    def _tokenize(self, texts: Texts) -> list[TokenizedText]:
        return tokenize(texts, self.tokenizer, self.model.normalization)

    def sentence_reader(self, split_sentences: str | None = None) -> SentenceReader:
        """Return what turns lines into sentences of words as the model reads them.

        `split_sentences` is the language by whose rules lines are split; None: a line is a
        sentence.
        """
        return SentenceReader(self.tokenizer, self.model.normalization, split_sentences)
