"""The oracle against bilm-tf's own golden vectors, and against itself where it could be wrong."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from .elmo import Oracle, char_ids, mix, random_model, random_word_model, write_model

MODEL = Path(__file__).resolve().parents[3] / "shared/fixtures/bilm-tf/tests/fixtures/model"
needs_fixture = pytest.mark.skipif(
    not MODEL.is_dir(), reason="bilm-tf's golden model is not in shared/ beside the repository"
)
SMALL = {
    "n_layers": 2,
    "dim": 12,
    "projection_dim": 6,
    "skip": True,
    "cell_clip": None,
    "proj_clip": None,
    "activation": "relu",
    "n_highway": 1,
    "filters": [[1, 4], [2, 4], [3, 8]],
    "char_dim": 3,
}
SENTENCE = ["The", "cat", "한국어", "sat", "."]


def read_weights(path: Path) -> dict[str, np.ndarray]:
    weights = {}

    def visit(name: str, item: h5py.Group | h5py.Dataset) -> None:
        if isinstance(item, h5py.Dataset):
            weights[name] = item[...]

    with h5py.File(path) as file:
        file.visititems(visit)
    return weights


def golden_differences(*, carry: bool) -> np.ndarray:
    """max |oracle - golden| of each sentence, (3 streams, 10 sentences)."""
    options = json.loads((MODEL / "options.json").read_text())
    oracle = Oracle(options, read_weights(MODEL / "lm_weights.hdf5"))
    streams = json.loads((MODEL / "lm_embeddings_sentences.json").read_text())
    differences = []
    for row, sentences in enumerate(streams):
        state = None
        with h5py.File(MODEL / f"lm_embeddings_{row}.hdf5") as file:
            for i, sentence in enumerate(sentences):
                # The top layer without sentence marks, as (direction, T, p).
                golden = np.concatenate(file[str(i)][...], axis=-1)
                layers, state = oracle.layers(sentence.split(), state if carry else None)
                assert golden.shape == layers[-1, 1:-1].shape
                differences.append(np.abs(layers[-1, 1:-1] - golden).max())
    return np.reshape(differences, (len(streams), -1))


@needs_fixture
def test_carried_state_gives_the_golden_vectors() -> None:
    differences = golden_differences(carry=True)
    assert differences.shape == (3, 10)
    assert differences.max() <= 1e-5


@needs_fixture
def test_a_state_reset_per_sentence_does_not() -> None:
    differences = golden_differences(carry=False)
    assert differences[:, 0].max() <= 1e-5
    assert differences[:, 1:].min() > 0.1


def test_char_ids_are_utf8_bytes_between_marks() -> None:
    assert char_ids("<S>", 5) == [258, 256, 259, 260, 260]
    assert char_ids("</S>", 5) == [258, 257, 259, 260, 260]
    assert char_ids("a\ud800b", 5) == [258, 97, 98, 259, 260]
    assert char_ids("한국", 6) == [258, 0xED, 0x95, 0x9C, 0xEA, 259]  # cut inside a syllable


@pytest.mark.parametrize("clips", [{"cell_clip": 0.3}, {"proj_clip": 0.3}])
def test_each_clip_bites(clips: dict[str, float]) -> None:
    free, _ = Oracle(*random_model(0, **SMALL)).layers(SENTENCE)
    clipped, _ = Oracle(*random_model(0, **SMALL | clips)).layers(SENTENCE)
    np.testing.assert_array_equal(clipped[0], free[0])
    assert (np.abs(clipped - free)[1:].max(axis=(1, 2)) > 0.1).all()


def test_clips_bite_together_and_bound_the_state() -> None:
    model = SMALL | {"cell_clip": 0.3, "proj_clip": 0.3}
    layers, state = Oracle(*random_model(0, **model)).layers(SENTENCE)
    states = [pair for direction in state for pair in direction]
    assert max(np.abs(c).max() for c, _ in states) == 0.3
    assert np.abs(layers[1]).max() == 0.3
    assert np.abs(layers[2]).max() > 0.3  # the skip connection is added after the clip


def test_proj_clip_needs_a_projection() -> None:
    square = SMALL | {"dim": 6}
    options, weights = random_model(0, **square | {"proj_clip": 0.3})
    assert not any(name.endswith("W_P_0") for name in weights)
    clipped, _ = Oracle(options, weights).layers(SENTENCE)
    free, _ = Oracle(*random_model(0, **square)).layers(SENTENCE)
    np.testing.assert_array_equal(clipped, free)


def test_no_cnn_projection_where_filters_fill_the_token_vector() -> None:
    options, weights = random_model(0, **SMALL | {"filters": [[1, 2], [2, 4]]})
    assert "CNN_proj/W_proj" not in weights
    assert Oracle(options, weights).token_vector("cat").shape == (6,)


def test_skip_adds_the_input_and_leaves_the_recurrence_alone() -> None:
    with_skip, state = Oracle(*random_model(0, **SMALL)).layers(SENTENCE)
    without, plain_state = Oracle(*random_model(0, **SMALL | {"skip": False})).layers(SENTENCE)
    np.testing.assert_allclose(with_skip[2], without[2] + without[1], rtol=0, atol=1e-14)
    np.testing.assert_array_equal(state[0][1][1], plain_state[0][1][1])


def test_each_direction_sees_only_its_side() -> None:
    oracle = Oracle(*random_model(0, **SMALL))
    (one, _), (two, _) = oracle.layers(SENTENCE), oracle.layers([*SENTENCE[:-1], "?"])
    changed = np.abs(one - two)[1:].max(axis=0) > 1e-9  # positions x 2p
    assert not changed[:5, :6].any()
    assert changed[5:, :6].any(axis=1).all()
    assert changed[:6, 6:].any(axis=1).all()
    assert not changed[6, 6:].any()


def test_a_carried_state_is_the_state_of_one_long_sentence() -> None:
    oracle = Oracle(*random_model(0, **SMALL))
    _, state = oracle.layers(["a", "b"])
    second, _ = oracle.layers(["c"], state)
    whole, _ = oracle.layers(["a", "b", "</S>", "<S>", "c"])  # the same inputs, marks as words
    np.testing.assert_allclose(second[:, :, :6], whole[:, 4:, :6], rtol=0, atol=1e-14)
    again, _ = oracle.layers(["c"], state)
    np.testing.assert_array_equal(again, second)  # the state handed in was not changed


def test_log_probs_predict_each_word_from_its_own_side() -> None:
    vocab = ["<S>", "</S>", "<UNK>", "The", "cat", "sat", "."]
    lstm = {name: SMALL[name] for name in ("n_layers", "dim", "projection_dim", "skip")}
    options, weights = random_word_model(0, n_words=len(vocab), cell_clip=3, proj_clip=3, **lstm)
    oracle = Oracle(options, weights, vocab)
    rng = np.random.default_rng(0)
    W, b = rng.standard_normal((len(vocab), 6)), rng.standard_normal(len(vocab))
    forward, backward = zip(
        *(oracle.log_probs(["The", word, "sat"], vocab, W, b) for word in vocab), strict=True
    )
    np.testing.assert_allclose(np.exp([f[1] for f in forward]).sum(), 1, rtol=1e-12)
    np.testing.assert_allclose(np.exp([b[1] for b in backward]).sum(), 1, rtol=1e-12)
    assert len({round(f[0], 9) for f in forward}) == 1  # the first word sees only <S>
    assert len({round(b[2], 9) for b in backward}) == 1  # the last word sees only </S>
    unknown = oracle.log_probs(["The", "dog", "sat"], vocab, W, b)
    np.testing.assert_array_equal(unknown, (forward[2], backward[2]))


def test_mix_weights_layers_and_normalises_as_named() -> None:
    layers = np.random.default_rng(0).normal(2, 3, (2, 3, 4, 8))  # B, L+1, T, D
    w = np.log([1, 2, 5])
    expected = 2 * (0.125 * layers[0, 0] + 0.25 * layers[0, 1] + 0.625 * layers[0, 2])
    np.testing.assert_allclose(mix(layers[0], w, 2), expected, rtol=1e-12)

    by_token = mix(layers[:, 1:2], [0.0], 1, norm="token")
    np.testing.assert_allclose(by_token.mean(-1), 0, atol=1e-12)
    np.testing.assert_allclose(by_token.std(-1), 1, rtol=1e-9)

    mask = np.array([[True] * 4, [True, False, False, False]])
    for norm in ("bilm-tf", "allennlp"):
        by_batch = mix(layers[:, 1:2], [0.0], 1, norm=norm, mask=mask)
        np.testing.assert_allclose(by_batch[mask].mean(), 0, atol=1e-12)
        np.testing.assert_allclose(by_batch[mask].std(), 1, rtol=1e-9)
        assert abs(mix(layers[:, 1:2], [0.0], 1, norm=norm) - by_batch).max() > 1e-3
    tiny = 1e-6 * layers  # so small that eps tells
    old, new = (mix(tiny, w, 1, norm=norm, mask=mask) for norm in ("bilm-tf", "allennlp"))
    assert np.abs(old - new).max() > 1e-3


def test_absent_options_mean_none() -> None:
    options, weights = random_model(0, **SMALL | {"skip": False, "n_highway": 0})
    assert not {"cell_clip", "proj_clip"} & options["lstm"].keys()
    explicit, _ = Oracle(options, weights).layers(SENTENCE)
    del options["lstm"]["use_skip_connections"], options["char_cnn"]["n_highway"]
    absent, _ = Oracle(options, weights).layers(SENTENCE)
    np.testing.assert_array_equal(absent, explicit)


def test_written_model_reads_back(tmp_path: Path) -> None:
    options, weights = random_model(0, **SMALL)
    write_model(tmp_path, options, weights)
    assert json.loads((tmp_path / "options.json").read_text()) == options
    found = read_weights(tmp_path / "weights.hdf5")
    assert found.keys() == weights.keys()
    assert all(np.array_equal(found[name], weights[name]) for name in weights)
