"""What `Elmo` gives for what it is asked."""

from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmore import Elmo, ElmoLayer, ScalarMix
from elmore.bilm_config import BiLMConfig, LstmConfig, TokenEncoderConfig, WordTableConfig
from elmore.errors import ConfigError, DataError
from elmore.formats import Pretrained
from elmore.model.bilm import BiLM
from elmore.text import Vocab

TEXTS = ["we sat on the river bank .", "", "은행 계좌", "bank"]


def test_layers_are_parts_of_all(tiny_elmo: Elmo) -> None:
    everything = tiny_elmo.encode_tokens(TEXTS, layers="all")
    for which, pick in {"top": 2, 0: 0, 1: 1, 2: 2}.items():
        for one, text in zip(
            tiny_elmo.encode_tokens(TEXTS, layers=which),
            everything,
            strict=True,  # type: ignore[arg-type]
        ):
            np.testing.assert_array_equal(one.vectors, text.vectors[pick])
    for one, text in zip(tiny_elmo.encode_tokens(TEXTS), everything, strict=True):
        np.testing.assert_allclose(one.vectors, text.vectors.mean(axis=0), atol=1e-6)


def test_no_layers(tiny_elmo: Elmo) -> None:
    for encode in (tiny_elmo.encode_tokens, tiny_elmo.session().encode_tokens):
        with pytest.raises(ConfigError, match=r"layers is \[\]; expected at least one"):
            encode(TEXTS, layers=[])


def test_shapes_tokens_and_spans(tiny_elmo: Elmo) -> None:
    found = tiny_elmo.encode_tokens([*TEXTS, ["a", "b c"]])
    assert [text.vectors.shape for text in found] == [(7, 12), (0, 12), (2, 12), (1, 12), (2, 12)]
    assert found[2].tokens == ("은행", "계좌")
    assert found[2].spans == ((0, 2), (3, 5))
    assert found[4].tokens == ("a", "b c")
    assert found[4].spans is None
    assert found[0].vectors.dtype == np.float32


def test_sentence_marks_can_be_kept(tiny_elmo: Elmo) -> None:
    for text, kept, plain in zip(
        TEXTS,
        tiny_elmo.encode_tokens(TEXTS, keep_sentence_marks=True),
        tiny_elmo.encode_tokens(TEXTS),
        strict=True,
    ):
        assert kept.tokens == ("<S>", *text.split(), "</S>")
        assert kept.spans is not None
        assert len(kept.spans) == len(kept.tokens) == len(kept.vectors)
        np.testing.assert_array_equal(kept.vectors[1:-1], plain.vectors)


def test_output_and_dtype(tiny_elmo: Elmo) -> None:
    (plain,) = tiny_elmo.encode_tokens(["a b"])
    (half,) = tiny_elmo.encode_tokens(["a b"], dtype="float16")
    (tensor,) = tiny_elmo.encode_tokens(["a b"], output="torch")
    assert half.vectors.dtype == np.float16
    np.testing.assert_array_equal(half.vectors, plain.vectors.astype(np.float16))
    np.testing.assert_array_equal(tensor.vectors.numpy(), plain.vectors)
    tensor.vectors.sum()  # an ordinary tensor, which a task may train on
    (tensor.vectors * torch.ones(12, requires_grad=True)).sum().backward()


def test_vectors_do_not_hold_their_batch(tiny_elmo: Elmo) -> None:
    for output in ("numpy", "torch"):
        for text in tiny_elmo.encode_tokens(["a", "b c d e f"], layers="top", output=output):  # type: ignore[arg-type]
            size = text.vectors.numel() if output == "torch" else text.vectors.size
            held = (
                text.vectors.untyped_storage().nbytes()
                if output == "torch"
                else (text.vectors if text.vectors.base is None else text.vectors.base).nbytes
            )
            assert held == size * 4


def test_pooling_sees_only_the_words(tiny_elmo: Elmo) -> None:
    vectors = [text.vectors for text in tiny_elmo.encode_tokens(TEXTS)]
    pools: dict[Any, Any] = {
        "mean": lambda x: x.mean(axis=0),
        "max": lambda x: x.max(axis=0),
        "first-last": lambda x: (x[0] + x[-1]) / 2,
    }
    for pooling, function in pools.items():
        expected = np.stack([function(x) if len(x) else np.zeros(12) for x in vectors])
        found = tiny_elmo.encode(TEXTS, pooling=pooling)
        np.testing.assert_allclose(found, expected, atol=1e-6)
    assert tiny_elmo.encode(TEXTS, layers="all").shape == (4, 3, 12)
    assert tiny_elmo.encode([]).shape == (0, 12)


def test_a_learned_mix_is_used(tiny_model: Path) -> None:
    elmo = Elmo.from_pretrained(tiny_model)
    elmo.mix = ScalarMix(3, weights=(0, 1, 3), gamma=2.0, trainable=False)
    (mixed,), (layers,) = elmo.encode_tokens(["a b"]), elmo.encode_tokens(["a b"], layers="all")
    expected = 2.0 * (0.25 * layers.vectors[1] + 0.75 * layers.vectors[2])
    np.testing.assert_allclose(mixed.vectors, expected, atol=1e-6)


def test_an_assigned_mix_is_a_frozen_copy(tiny_model: Path) -> None:
    elmo = Elmo.from_pretrained(tiny_model)
    learned = ScalarMix(3, dropout=0.5).train()
    elmo.mix = learned
    once, again = (elmo.encode_tokens(["a b"], output="torch")[0].vectors for _ in range(2))
    assert torch.equal(once, again)
    assert not once.requires_grad
    assert learned.training
    assert learned.w.requires_grad
    with pytest.raises(ConfigError, match="2 weights, for 3 layers"):
        elmo.mix = ScalarMix(2)


@pytest.mark.parametrize("engine", ["fast", "textbook"])
def test_a_network_that_was_trained_has_vectors_of_its_own(tiny_model: Path, engine: Any) -> None:
    elmo = Elmo.from_pretrained(tiny_model, tokenizer="whitespace", engine=engine, cache_words=9)
    elmo.mix = ScalarMix(3, weights=[0.2, 0.5, 0.3])
    (before,) = elmo.encode_tokens([["a", "b"]], layers="all")
    with torch.no_grad():
        for weight in elmo.bilm.parameters():
            weight.mul_(1.1)
    tuned = elmo.with_bilm(elmo.bilm)
    (after,) = tuned.encode_tokens([["a", "b"]], layers="all")
    assert (np.abs(after.vectors - before.vectors).max(axis=(1, 2)) > 1e-3).all()
    expected = tuned.bilm(*astuple(tuned.ids([["a", "b"]]))).layers[:, 0, 1:-1]
    np.testing.assert_allclose(after.vectors, expected, atol=2e-6)
    assert (tuned.mix, tuned.cache.max_words) == (elmo.mix, 9)
    (same,) = elmo.encode_tokens([["a", "b"]], layers="all")
    np.testing.assert_array_equal(same.vectors, before.vectors)


def test_a_network_of_another_model_is_refused(tiny_elmo: Elmo) -> None:
    lstm = replace(tiny_elmo.config.lstm, n_layers=1)
    with pytest.raises(ConfigError, match="of another shape than the model"):
        tiny_elmo.with_bilm(BiLM(replace(tiny_elmo.config, lstm=lstm)))
    with pytest.raises(ConfigError, match="is of type ElmoLayer; expected a BiLM"):
        tiny_elmo.with_bilm(ElmoLayer(tiny_elmo.bilm))  # type: ignore[arg-type]


def test_no_texts(tiny_elmo: Elmo) -> None:
    assert tiny_elmo.encode_tokens([]) == []
    with pytest.raises(DataError, match="at least one"):
        tiny_elmo.ids([])


def test_ids_are_what_the_network_reads(tiny_elmo: Elmo) -> None:
    batch = tiny_elmo.ids(TEXTS)
    assert batch.ids.shape == (4, 9, 50)
    output = tiny_elmo.bilm(batch.ids, batch.mask)
    (expected,) = tiny_elmo.encode_tokens(TEXTS[:1], layers="all", keep_sentence_marks=True)
    np.testing.assert_allclose(output.layers[:, 0].numpy(), expected.vectors, atol=5e-6)


def test_a_word_outside_a_table_without_unknown_is_named() -> None:
    config = BiLMConfig(TokenEncoderConfig(words=WordTableConfig(3, 2)), LstmConfig(1, 4, 2))
    elmo = Elmo(
        Pretrained(config, BiLM(config).arrays, "whitespace", Vocab(["<S>", "</S>", "bank"]))
    )
    assert elmo.encode_tokens(["bank"])[0].vectors.shape == (1, 4)
    with pytest.raises(DataError, match="'river' is not in the vocabulary"):
        elmo.encode_tokens(["river bank"])


@pytest.mark.parametrize("layers", ["upper", -1, 3, True, None, 1.0])
def test_unknown_layers(tiny_elmo: Elmo, layers: Any) -> None:
    with pytest.raises(
        ConfigError, match="expected mix, all, top, context, expected, or one of 0, 1, 2"
    ):
        tiny_elmo.encode_tokens(["a"], layers=layers)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "jax"}, "expected one of numpy, torch"),
        ({"dtype": "int8"}, "expected one of float32, float16"),
    ],
)
def test_unknown_words(tiny_elmo: Elmo, options: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        tiny_elmo.encode_tokens(["a"], **options)
    with pytest.raises(ConfigError, match="expected one of mean, max, first-last"):
        tiny_elmo.encode(["a"], pooling="sum")  # type: ignore[arg-type]


def test_cached_vectors_need_a_vocabulary(tiny_model: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="name it with vocab="):
        Elmo.from_pretrained(tiny_model, word_vectors=tmp_path / "words.hdf5")


def test_a_name_in_the_place_of_a_model() -> None:
    with pytest.raises(ConfigError, match=r"call Elmo\.from_pretrained\('en'\)"):
        Elmo("en")  # type: ignore[arg-type]


def test_similarity_is_the_cosine_of_pooled_vectors(tiny_elmo: Elmo) -> None:
    a, b = ["the cat", "a dog ran", ""], ["the cat", "rain"]
    found = tiny_elmo.similarity(a, b, pooling="max", layers="top")
    first, second = (tiny_elmo.encode(x, pooling="max", layers="top") for x in (a, b))
    assert found.shape == (3, 2)
    for i, j in np.ndindex(2, 2):
        norms = np.linalg.norm(first[i]) * np.linalg.norm(second[j])
        assert found[i, j] == pytest.approx(first[i] @ second[j] / norms, abs=1e-6)
    assert found[0, 0] == pytest.approx(1)
    assert found[2].tolist() == [0, 0]  # there is no word in it
    with pytest.raises(ConfigError, match="similarity needs one vector per text"):
        tiny_elmo.similarity(a, b, layers="all")


def test_progress_is_shown_only_if_asked(
    tiny_elmo: Elmo, capsys: pytest.CaptureFixture[str]
) -> None:
    for encode in (tiny_elmo.encode, tiny_elmo.encode_tokens):
        quiet = encode(["a b", "c"])
        assert capsys.readouterr() == ("", "")
        shown = encode(["a b", "c"], show_progress=True)
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "encoding" in captured.err
        assert "100%" in captured.err
        assert len(shown) == len(quiet)


def test_one_word_is_no_list_of_words(tiny_elmo: Elmo) -> None:
    with pytest.raises(DataError, match=r"give a list of words, such as \['bank'\]"):
        tiny_elmo.word_vectors("bank")


def test_a_generator_with_progress(tiny_elmo: Elmo) -> None:
    found = tiny_elmo.encode((text for text in ("a b", "c")), show_progress=True)  # type: ignore[arg-type]
    np.testing.assert_array_equal(found, tiny_elmo.encode(["a b", "c"]))
