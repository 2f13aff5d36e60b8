"""ELMo in float64 NumPy, slow and obvious: one word at a time, one time step at a time.

In: a parsed options.json and the published HDF5 weights (full dataset path -> array).
Out: every layer of the biLM, the language model's log-probabilities, and the scalar mix.
Letters: B sentences, T tokens, L layers, D = 2p, p projection, c cell, d character dim, F filters.
"""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np

Array = np.ndarray
Weights = dict[str, Array]
State = list[list[tuple[Array, Array]]]  # [direction][layer] -> (cell (c,), recurrent h (p,))

BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PADDING = 256, 257, 258, 259, 260
MARKS = {"<S>": [BEGIN_SENTENCE], "</S>": [END_SENTENCE]}


def char_ids(word: str, max_characters: int) -> list[int]:
    """Unshifted character ids of a word, `max_characters` of them."""
    characters = MARKS.get(word)
    if characters is None:
        # A cut may fall inside a character; lone surrogates have no bytes and vanish.
        characters = list(word.encode("utf-8", errors="ignore"))[: max_characters - 2]
    ids = [BEGIN_WORD, *characters, END_WORD]
    return ids + [PADDING] * (max_characters - len(ids))


def sigmoid(x: Array) -> Array:
    return 0.5 * (1 + np.tanh(x / 2))  # the same function as 1 / (1 + exp(-x)), never overflowing


def relu(x: Array) -> Array:
    return np.maximum(x, 0)


def log_softmax(x: Array) -> Array:
    x = x - x.max()
    return x - np.log(np.exp(x).sum())


def clip(x: Array, limit: float | None) -> Array:
    return x if limit is None else np.clip(x, -limit, limit)


def word_index(vocab: list[str], word: str) -> int:
    return vocab.index(word if word in vocab else "<UNK>")


class Oracle:
    """A biLM. Word-input models (no `char_cnn` in options) need `vocab`: row i is word i."""

    def __init__(self, options: dict, weights: Weights, vocab: list[str] | None = None):
        self.lstm: dict[str, Any] = options["lstm"]
        self.char_cnn: dict[str, Any] | None = options.get("char_cnn")
        self.weights = {name: np.asarray(w, np.float64) for name, w in weights.items()}
        if self.char_cnn is None and vocab is None:
            raise ValueError("options have no char_cnn: a word-input model needs vocab=[...]")
        self.vocab = vocab

    def token_vector(self, word: str) -> Array:
        """The context-free vector of a word, (p,)."""
        if self.char_cnn is None:
            return self.weights["embedding"][word_index(self.vocab, word)]
        x = self._convolve(char_ids(word, self.char_cnn["max_characters_per_token"]))
        for k in range(self.char_cnn.get("n_highway") or 0):
            x = self._highway(x, k)
        if "CNN_proj/W_proj" in self.weights:  # absent if F == p
            x = x @ self.weights["CNN_proj/W_proj"] + self.weights["CNN_proj/b_proj"]
        return x

    def _convolve(self, ids: list[int]) -> Array:
        activation = {"relu": relu, "tanh": np.tanh}[self.char_cnn["activation"]]
        # char_embed has no row for the padding token, so the unshifted ids index it as stored.
        characters = np.stack([self.weights["char_embed"][i] for i in ids])
        pooled = []
        for i, (width, _) in enumerate(self.char_cnn["filters"]):
            W, b = self.weights[f"CNN/W_cnn_{i}"][0], self.weights[f"CNN/b_cnn_{i}"]  # W (w, d, n)
            positions = range(len(ids) - width + 1)  # VALID, padding characters and all
            values = [np.tensordot(characters[t : t + width], W, axes=2) + b for t in positions]
            pooled.append(activation(np.max(values, axis=0)))  # max first, activation second
        return np.concatenate(pooled)

    def _highway(self, x: Array, k: int) -> Array:
        W_carry, b_carry, W_transform, b_transform = (
            self.weights[f"CNN_high_{k}/{name}"]
            for name in ("W_carry", "b_carry", "W_transform", "b_transform")
        )
        g = sigmoid(x @ W_carry + b_carry)  # named carry, yet it gates the transform
        return g * relu(x @ W_transform + b_transform) + (1 - g) * x  # relu even where CNN is tanh

    def _step(self, cell: str, x: Array, c: Array, h: Array) -> tuple[Array, Array]:
        """One LSTM step: the new (c, h)."""
        gates = np.concatenate([x, h]) @ self.weights[f"{cell}/W_0"] + self.weights[f"{cell}/B"]
        i, j, f, o = np.split(gates, 4)  # TensorFlow's order; j is the candidate
        c = sigmoid(f + 1.0) * c + sigmoid(i) * np.tanh(j)  # the forget bias is not in B
        c = clip(c, self.lstm.get("cell_clip"))
        h = sigmoid(o) * np.tanh(c)
        if f"{cell}/W_P_0" in self.weights:  # TensorFlow clips h only where it is projected
            h = clip(h @ self.weights[f"{cell}/W_P_0"], self.lstm.get("proj_clip"))
        return c, h

    def _zero_state(self) -> State:
        c, h = np.zeros(self.lstm["dim"]), np.zeros(self.lstm["projection_dim"])
        return [[(c, h) for _ in range(self.lstm["n_layers"])] for _ in range(2)]

    def layers(self, tokens: list[str], state: State | None = None) -> tuple[Array, State]:
        """All layers (L+1, T+2, 2p), sentence marks included, and the state after the sentence."""
        if state is None:
            state = self._zero_state()
        e = np.stack([self.token_vector(word) for word in ["<S>", *tokens, "</S>"]])
        directions, new_state = [], []
        for direction in range(2):  # RNN_0 reads forward, RNN_1 backward; they never meet
            inputs = e if direction == 0 else e[::-1]
            outputs, finals = [inputs], []
            for layer in range(self.lstm["n_layers"]):
                cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
                c, h = state[direction][layer]
                hs = []
                for x in outputs[-1]:
                    c, h = self._step(cell, x, c, h)
                    skip = self.lstm.get("use_skip_connections") and layer > 0
                    hs.append(h + x if skip else h)  # h itself recurs unsummed
                outputs.append(np.stack(hs))
                finals.append((c, h))
            result = np.stack(outputs)
            directions.append(result if direction == 0 else result[:, ::-1])
            new_state.append(finals)
        return np.concatenate(directions, axis=-1), new_state

    def log_probs(
        self,
        tokens: list[str],
        vocab: list[str],
        softmax_W: Array,  # noqa: N803
        softmax_b: Array,
    ) -> tuple[Array, Array]:
        """Natural-log probability of each word given its left, and its right: (T,), (T,)."""
        top = self.layers(tokens)[0][-1]
        p = self.lstm["projection_dim"]
        W, b = np.asarray(softmax_W, np.float64), np.asarray(softmax_b, np.float64)
        forward, backward = [], []
        for t, word in enumerate(tokens, start=1):  # position 0 is <S>
            k = word_index(vocab, word)
            forward.append(log_softmax(W @ top[t - 1, :p] + b)[k])
            backward.append(log_softmax(W @ top[t + 1, p:] + b)[k])
        return np.array(forward), np.array(backward)


def mix(
    layers: Array, w: Array, gamma: float, norm: str | None = None, mask: Array | None = None
) -> Array:
    """gamma * sum_j softmax(w)_j h_j: (L+1, T, D) -> (T, D), or (B, L+1, T, D) -> (B, T, D).

    norm: None; "token", over each token's D; "bilm-tf" or "allennlp", over every true position of
    `mask` (B, T) in the batch at once. For parity "bilm-tf" wants layers without sentence marks,
    "allennlp" with them. What stands outside the mask is meaningless.
    """
    layers = np.asarray(layers, np.float64)
    total = 0.0
    for j, s in enumerate(np.exp(log_softmax(np.asarray(w, np.float64)))):
        total = total + s * _normalise(layers[..., j, :, :], norm, mask)
    return gamma * total


def _normalise(h: Array, norm: str | None, mask: Array | None) -> Array:
    """One layer h (..., T, D) with mean 0 and variance 1."""
    if norm is None:
        return h
    if norm == "token":
        mean, var = h.mean(-1, keepdims=True), h.var(-1, keepdims=True)
        return (h - mean) / np.sqrt(var + 1e-12)
    if norm not in ("bilm-tf", "allennlp"):
        raise ValueError(f"norm is {norm!r}; expected None, 'token', 'bilm-tf' or 'allennlp'")
    real = h if mask is None else h[np.asarray(mask, bool)]
    return (h - real.mean()) / np.sqrt(real.var() + {"bilm-tf": 1e-12, "allennlp": 1e-13}[norm])


def random_model(
    seed: int,
    *,
    projection_dim: int,
    activation: str,
    n_highway: int,
    filters: list[list[int]],
    char_dim: int,
    max_characters: int = 50,
    **lstm: Any,
) -> tuple[dict, Weights]:
    """Options and float32 weights of a character model; `lstm` is what `_random_lstm` takes."""
    rng = np.random.default_rng(seed)
    options, weights = _random_lstm(rng, projection_dim=projection_dim, **lstm)
    options["char_cnn"] = {
        "embedding": {"dim": char_dim},
        "filters": filters,
        "n_highway": n_highway,
        "activation": activation,
        "max_characters_per_token": max_characters,
        "n_characters": 262,
    }
    weights["char_embed"] = _normal(rng, 261, char_dim, std=1)
    for i, (width, n) in enumerate(filters):
        std = (width * char_dim) ** -0.5
        weights[f"CNN/W_cnn_{i}"] = _normal(rng, 1, width, char_dim, n, std=std)
        weights[f"CNN/b_cnn_{i}"] = _normal(rng, n, std=0.1)
    F = sum(n for _, n in filters)
    for k in range(n_highway):
        for name in ("carry", "transform"):
            weights[f"CNN_high_{k}/W_{name}"] = _normal(rng, F, F, std=F**-0.5)
            weights[f"CNN_high_{k}/b_{name}"] = _normal(rng, F, std=0.5)
    if projection_dim != F:
        weights["CNN_proj/W_proj"] = _normal(rng, F, projection_dim, std=F**-0.5)
        weights["CNN_proj/b_proj"] = _normal(rng, projection_dim, std=0.1)
    return options, weights


def random_word_model(
    seed: int, *, n_words: int, projection_dim: int, **lstm: Any
) -> tuple[dict, Weights]:
    """Options and float32 weights of a word-input model; `lstm` is what `_random_lstm` takes."""
    rng = np.random.default_rng(seed)
    options, weights = _random_lstm(rng, projection_dim=projection_dim, **lstm)
    weights["embedding"] = _normal(rng, n_words, projection_dim, std=1)
    return options, weights


def _random_lstm(
    rng: np.random.Generator,
    *,
    n_layers: int,
    dim: int,
    projection_dim: int,
    skip: bool,
    cell_clip: float | None,
    proj_clip: float | None,
) -> tuple[dict, Weights]:
    """Both directions, so large that clips of 0.3 bite; a clip of None leaves its key out."""
    lstm = {"n_layers": n_layers, "dim": dim, "projection_dim": projection_dim}
    clips = {"cell_clip": cell_clip, "proj_clip": proj_clip}
    lstm |= {name: limit for name, limit in clips.items() if limit is not None}
    lstm["use_skip_connections"] = skip
    weights = {}
    for direction in range(2):
        for layer in range(n_layers):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            std = (2 * projection_dim) ** -0.5
            weights[f"{cell}/W_0"] = _normal(rng, 2 * projection_dim, 4 * dim, std=2 * std)
            weights[f"{cell}/B"] = _normal(rng, 4 * dim, std=0.5)
            if dim != projection_dim:
                weights[f"{cell}/W_P_0"] = _normal(rng, dim, projection_dim, std=2 * dim**-0.5)
    return {"lstm": lstm}, weights


def _normal(rng: np.random.Generator, *shape: int, std: float) -> Array:
    return (std * rng.standard_normal(shape)).astype(np.float32)


def write_model(folder: Path, options: dict, weights: Weights) -> None:
    """Write `options.json` and `weights.hdf5` as published models have them."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "options.json").write_text(json.dumps(options), encoding="utf-8")
    with h5py.File(folder / "weights.hdf5", "w") as file:
        for name, array in weights.items():
            file[name] = array
