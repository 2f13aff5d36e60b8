"""Sentences in, arrays out: `Elmo`, the face of the network for everyone who wants vectors."""

import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from elmore.embed.cache import KnownWords, WordCache
from elmore.embed.fill import Filler, Sides, Substitutes
from elmore.embed.pooling import (
    Layers,
    Pooling,
    check_layers,
    layers_dim,
    pool,
    select_layers,
)
from elmore.embed.precision import PrecisionName
from elmore.embed.progress import text_bar
from elmore.embed.reader import CarriedState, EngineName, Reader
from elmore.embed.results import (
    DType,
    Output,
    Scores,
    TokenIds,
    TokenVectors,
    check_word,
    converter,
)
from elmore.embed.session import Session
from elmore.embed.texts import Texts, TokenizedText, tokenize, with_marks
from elmore.engine import has_bfloat16
from elmore.errors import ConfigError, DataError, ElmoreWarning
from elmore.formats import Calibration, Pretrained, read_pretrained, read_word_vectors, write_native
from elmore.model import BiLM, BiLMConfig, ScalarMix, context_states
from elmore.text import (
    BEGIN_SENTENCE,
    END_SENTENCE,
    Tokenizer,
    normalize,
    normalizing,
    tokenizer_by_name,
)
from elmore.text.korean import KoreanTokenizer, KoreanVocabularyTokenizer, has_mecab


class Elmo:
    """A pretrained biLM that turns text into vectors: deterministic, in any batch, in any order.

    `mix` is the mean of the layers to begin with; assign another `ScalarMix`, such as one that a
    task has learned, and `layers="mix"` uses it. It is not saved with the model.
    """

    def __init__(
        self,
        model: Pretrained,
        *,
        tokenizer: str | Tokenizer | None = None,
        known: KnownWords | None = None,
        cache_words: int = 65_536,
        max_batch_tokens: int = 4096,
        engine: EngineName = "auto",
        precision: PrecisionName = "float32",
        device: str | torch.device = "cpu",
    ) -> None:
        if not isinstance(model, Pretrained):
            raise ConfigError(
                f"Elmo takes a loaded model, and got {model!r}; to load one, call "
                f"Elmo.from_pretrained({str(model)!r})"
            )
        try:
            model.bilm.requires_grad_(False).to(device)
        except (AssertionError, RuntimeError) as error:  # torch has both for a device that is not
            raise ConfigError(f"the model cannot be put on {device}: {error}") from None
        self.model = model
        if tokenizer is None:
            tokenizer = _tokenizer_of(model)
        if isinstance(tokenizer, str):
            tokenizer = tokenizer_by_name(tokenizer, model.vocab)
        self.tokenizer = normalizing(tokenizer, model.normalization)
        self.reader = Reader(
            model,
            max_batch_tokens=max_batch_tokens,
            cache_words=cache_words,
            known=known,
            engine=engine,
            precision=precision,
        )
        self.mix = ScalarMix(self.n_layers)
        self.source: str | None = None
        """What `from_pretrained` was given."""

    def __sklearn_clone__(self) -> "Elmo":
        return self  # the weights are frozen: estimators may share them

    def __repr__(self) -> str:
        return (
            f"Elmo({self.n_layers} layers of {self.dim}, tokenizer {self.tokenizer.name!r}, "
            f"{len(self.cache):,} words known)"
        )

    @classmethod
    def from_pretrained(
        cls,
        name_or_path: str | Path,
        *,
        tokenizer: str | Tokenizer | None = None,
        vocab: str | Path | None = None,
        word_vectors: str | Path | None = None,
        cache_words: int = 65_536,
        max_batch_tokens: int = 4096,
        engine: EngineName = "auto",
        precision: PrecisionName = "float32",
        device: str | torch.device = "cpu",
    ) -> "Elmo":
        """Load a model: a bundled name, a folder of ours or a published one, or `hf://owner/name`.

        `tokenizer` is for raw strings, instead of the model's own. `vocab` names the vocabulary of
        a published model whose folder has none. `word_vectors` is an HDF5 of cached token vectors,
        a row for each word of the vocabulary; other words are read by their letters.
        `cache_words` bounds how many words are remembered once they are spelled, `max_batch_tokens`
        how much is read at once. `engine` is "fast" (the default on a CPU) or "textbook", the
        network as it is written down; both give the same vectors. `precision` is "float32",
        "bfloat16" (faster on processors that have it, to a cosine of 0.999) or "auto" (bfloat16
        where the processor has it).
        """
        model = read_pretrained(name_or_path, Path(vocab) if vocab else None)
        known = None
        if word_vectors is not None:
            if model.vocab is None:
                raise ConfigError(
                    f"{word_vectors} has a row for each word of a vocabulary, and {name_or_path} "
                    "has none; name it with vocab= (--vocab)"
                )
            dim = model.bilm.config.lstm.projection_dim
            rows = read_word_vectors(Path(word_vectors), model.vocab, dim)
            known = KnownWords(model.vocab, torch.from_numpy(rows).to(device))
        made = cls(
            model,
            tokenizer=tokenizer,
            known=known,
            cache_words=cache_words,
            max_batch_tokens=max_batch_tokens,
            engine=engine,
            precision=precision,
            device=device,
        )
        made.source = str(name_or_path)
        return made

    def save_pretrained(self, folder: str | Path, *, dtype: DType = "float32") -> None:
        """Write the model as a folder of ours, complete in itself; `dtype` is of the weights."""
        check_word("dtype", dtype, DType)
        write_native(self.model, Path(folder), dtype)

    @property
    def mix(self) -> ScalarMix:
        """The mix of `layers="mix"`: a frozen copy of what was assigned, without its dropout."""
        return self._mix

    @mix.setter
    def mix(self, mix: ScalarMix) -> None:
        if len(mix.w) != self.n_layers + mix.context_layer:
            raise ConfigError(f"the mix has {len(mix.w)} weights, for {self.n_layers} layers")
        self._mix = deepcopy(mix).requires_grad_(False).to(self.reader.device).eval()

    @property
    def bilm(self) -> BiLM:
        """The network, frozen; give it to an `ElmoLayer` to train a task on it."""
        return self.model.bilm

    @property
    def config(self) -> BiLMConfig:
        """The shape of the network."""
        return self.model.bilm.config

    def fingerprint(self) -> dict[str, str]:
        """Return all that decides the vectors to the last bit, apart from the text."""
        mix = {name: tensor.tolist() for name, tensor in self.mix.state_dict().items()}
        return {
            "model": self.model.fingerprint(),
            "known words": self.cache.fingerprint(),
            "tokenizer": self.tokenizer.name,
            "normalization": str(self.model.normalization),
            "mix": f"{mix}, norm {self.mix.norm}",
            "engine": f"{'fast' if self.reader.is_fast else 'textbook'} on {self.reader.device}",
            "precision": f"{self.reader.precision}, in hardware: {has_bfloat16()}",
            "batch": f"{self.reader.max_batch_tokens} tokens, {self.cache.max_words} words",
            "torch": f"{torch.__version__}, {torch.get_num_threads()} threads",
        }

    @property
    def cache(self) -> WordCache:
        """The words that were spelled: how many, and how often they were met again."""
        return self.reader.cache

    @property
    def dim(self) -> int:
        """Numbers in a token's vector."""
        return self.config.dim

    @property
    def n_layers(self) -> int:
        """Layers of vectors: the token layer and each LSTM layer."""
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
        half as wide. A list of these gives a dictionary of vectors, from one reading. A sentence
        mark that is kept has zeros for the side on which there is nothing. `standardize` takes
        the model's calibration off, so that cosines spread out; there is none for "mix".
        `show_progress` draws a bar on standard error.
        """
        with text_bar(texts, shown=show_progress) as done:
            return self._encode_tokens(
                texts,
                layers=layers,
                keep_sentence_marks=keep_sentence_marks,
                standardize=standardize,
                output=output,
                dtype=dtype,
                done=done,
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
        gets zeros. `show_progress` draws a bar on standard error.
        """
        with text_bar(texts, shown=show_progress) as done:
            return self._encode(
                texts, pooling=pooling, layers=layers, output=output, dtype=dtype, done=done
            )

    def similarity(
        self, a: Texts, b: Texts, *, pooling: Pooling = "mean", layers: Layers = "mix"
    ) -> npt.NDArray[np.float32]:
        """Return the cosine of each text of `a` with each of `b`, (A, B), by pooled vectors.

        A text without words has the cosine 0 with every other.
        """
        if layers == "all":
            raise ConfigError("layers is 'all'; similarity needs one vector per text: choose one")
        sides = []
        for texts in (a, b):
            vectors = self.encode(texts, pooling=pooling, layers=layers)
            norms = np.linalg.norm(vectors, axis=1, keepdims=True)
            sides.append(vectors / np.where(norms == 0, 1, norms))
        cosines: npt.NDArray[np.float32] = sides[0] @ sides[1].T
        return cosines

    def _encode(
        self,
        texts: Texts,
        *,
        pooling: Pooling,
        layers: Layers,
        output: Output,
        dtype: DType,
        done: Callable[[int], None],
    ) -> Any:
        """Do what is public elsewhere; `done` is told the tokens of each text when it is read."""
        check_word("pooling", pooling, Pooling)
        check_layers(layers, self.n_layers)
        convert = converter(output, dtype)
        tokenized = self._tokenize(texts)
        dim = layers_dim(layers, self.dim)
        shape = (self.n_layers, dim) if layers == "all" else (dim,)
        pooled = torch.zeros(len(tokenized), *shape, device=self.reader.device)
        for i, everything in self.reader.read([text.tokens for text in tokenized]):
            pooled[i] = pool(select_layers(everything, layers, self.mix), pooling)
            done(len(tokenized[i].tokens))
        return convert(pooled)

    def scores(self, texts: Texts) -> list[Scores]:
        """Return the log-probability of each word by the full softmax, in both directions."""
        softmax, vocab = self.bilm.softmax, self.model.vocab
        if softmax is None or vocab is None:
            raise ConfigError(
                "this model came without its softmax, so it cannot score words; "
                "put the published softmax HDF5 and vocabulary into its folder"
            )
        tokenized = self._tokenize(texts)
        found: dict[int, Scores] = {}
        n_rows = max(1, 2**24 // len(vocab))  # 64 MB of logits at a time
        for i, everything in self.reader.read([text.tokens for text in tokenized]):
            tokens = tokenized[i].tokens
            words = torch.from_numpy(vocab.encode(tokens)).to(everything.device)
            before, after = context_states(everything[-1])[1:-1].chunk(2, dim=1)
            by_direction = [
                torch.cat(
                    [
                        softmax(states[start : start + n_rows], words[start : start + n_rows])
                        for start in range(0, len(words), n_rows)
                    ]
                    or [everything.new_zeros(0)]
                ).numpy(force=True)
                for states in (before, after)
            ]
            known = np.array([word in vocab for word in tokens], dtype=bool)
            found[i] = Scores(tokens, by_direction[0], by_direction[1], known)
        return [found[i] for i in range(len(tokenized))]

    def session(self) -> Session:
        """Return a session, which carries the LSTM state from one batch into the next."""
        return Session(self)

    def word_vectors(self, words: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the context-free vectors of words, (words, D / 2): half of layer 0."""
        words = [normalize(word, self.model.normalization) for word in words]
        distinct = {word: row for row, word in enumerate(dict.fromkeys(words))}
        vectors = self.reader.token_vectors(list(distinct))
        return vectors[[distinct[word] for word in words]].numpy(force=True)

    def ids(self, texts: Texts) -> TokenIds:
        """Return texts as the padded batch of ids that `ElmoLayer` and `BiLM` read."""
        marked = [[BEGIN_SENTENCE, *text.tokens, END_SENTENCE] for text in self._tokenize(texts)]
        if not marked:
            raise DataError("there is no text; a batch needs at least one")
        rows = [torch.from_numpy(self.reader.encoder.encode(words)) for words in marked]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        lengths = torch.tensor([len(row) for row in rows])
        mask = torch.arange(ids.shape[1]) < lengths[:, None]
        return TokenIds(ids.to(self.reader.device), mask.to(self.reader.device))

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

    def _calibration(self) -> Calibration:
        if self.model.calibration is None:
            raise ConfigError(
                "this model has no calibration to standardize its vectors by; "
                "make one: elmore calibrate MODEL TEXT --out FOLDER"
            )
        return self.model.calibration

    def _tokenize(self, texts: Texts) -> list[TokenizedText]:
        return tokenize(texts, self.tokenizer, self.model.normalization)

    def _encode_tokens(
        self,
        texts: Texts,
        *,
        layers: Layers | Sequence[Layers],
        keep_sentence_marks: bool,
        output: Output,
        dtype: DType,
        standardize: bool = False,
        carried: CarriedState | None = None,
        done: Callable[[int], None] = lambda n_tokens: None,
    ) -> list[TokenVectors]:
        """Do what is public elsewhere; `done` is told the tokens of each text when it is read."""
        several = isinstance(layers, Sequence) and not isinstance(layers, str)
        wanted: list[Any] = list(layers) if several else [layers]  # type: ignore[arg-type]
        for which in wanted:
            check_layers(which, self.n_layers)
        convert = converter(output, dtype)
        calibration = self._calibration() if standardize else None
        tokenized = self._tokenize(texts)
        found: dict[int, TokenVectors] = {}
        for i, everything in self.reader.read([text.tokens for text in tokenized], carried):
            text = with_marks(tokenized[i]) if keep_sentence_marks else tokenized[i]
            vectors = {}
            for which in wanted:
                chosen = select_layers(
                    everything, which, self.mix, keep_sentence_marks=keep_sentence_marks
                )
                if calibration is not None:
                    chosen = calibration.standardize(chosen, which)
                vectors[which] = convert(chosen)
            found[i] = TokenVectors(
                text.tokens, vectors if several else vectors[layers], text.spans
            )
            done(len(text.tokens))
        return [found[i] for i in range(len(tokenized))]


def _tokenizer_of(model: Pretrained) -> str:
    """Return the name of a model's own tokenizer, or of what comes nearest to it here."""
    if model.tokenizer != KoreanTokenizer.name or has_mecab() or model.vocab is None:
        return model.tokenizer
    warnings.warn(
        "MeCab is not installed, so Korean is cut by the model's vocabulary, which is almost the "
        "same; pip install 'elmore[ko]' cuts it as in training",
        ElmoreWarning,
        stacklevel=4,
    )
    return KoreanVocabularyTokenizer.name
