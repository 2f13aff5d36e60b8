"""How a run reads its text becomes part of the model: normalization, case, tokenizer, spelling."""

import json
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest

from elmore import Elmo
from elmore.cli.main import run as run_elmore
from elmore.corpus.config import CorpusConfig
from elmore.corpus.prepare import prepare
from elmore.corpus.shards import Corpus
from elmore.doctor.corpus_stats import read_corpus_stats
from elmore.errors import ConfigError, MissingExtraError
from elmore.formats import read_pretrained
from elmore.formats.model_card import model_card
from elmore.pretrain.initial_network import Start, recipe_of_start
from elmore.pretrain.run import pretrain
from elmore.tasks import Classifier
from tests.pretrain.small_runs import small, small_flags, write_text

SENTENCES = ["사과를 먹었다.", "그는 사과했다.", "나는 배를 먹었다.", "배를 탔다."]


def write_korean(path: Path) -> Path:
    path.write_text("".join(f"{sentence}\n" for sentence in SENTENCES * 10), encoding="utf-8")
    return path


@pytest.mark.parametrize(("flags", "stored"), [([], "NFC"), (["--normalization", "none"], None)])
def test_normalization_is_stored(tmp_path: Path, flags: list[str], stored: str | None) -> None:
    text = write_text(tmp_path / "text.txt")
    out = ["--out", str(tmp_path / "run")]
    assert run_elmore(["pretrain", str(text), *out, *small_flags(n_epochs=0.1), *flags]) == 0
    config = json.loads((tmp_path / "run/model/config.json").read_text())
    assert config["normalization"] == stored
    assert config["training"]["texts"] == ["text.txt"]
    start = Start(read_pretrained(tmp_path / "run/model"))
    assert recipe_of_start("tiny", {}, start).corpus.normalization == stored


def test_a_korean_model_in_jamo(tmp_path: Path) -> None:
    text = write_korean(tmp_path / "text.txt")
    recipe = small(char_encoding="jamo", tokenizer="korean-eojeol", max_characters=20)
    pretrain([text], tmp_path / "run", recipe)
    fast, textbook = (
        Elmo.from_pretrained(tmp_path / "run/model", engine=engine)
        for engine in ("fast", "textbook")
    )
    assert fast.config.token_encoder.chars.n_characters == 330
    whole, parts, other = (
        fast.encode_tokens([text])[0]
        for text in (
            "사과를 먹었다.",
            unicodedata.normalize("NFD", "사과를 먹었다."),
            "배를 먹었다.",
        )
    )
    assert whole.tokens == ("사과를", "먹었다", ".")
    np.testing.assert_array_equal(whole.vectors, parts.vectors)
    assert not np.allclose(whole.vectors, other.vectors)
    expected = textbook.encode_tokens(["사과를 먹었다."])[0].vectors
    np.testing.assert_allclose(whole.vectors, expected, atol=1e-5)
    np.testing.assert_array_equal(
        fast.word_vectors(["사과"]), fast.word_vectors([unicodedata.normalize("NFD", "사과")])
    )
    assert fast.fingerprint()["normalization"] == "NFC"


def test_lower_case_is_for_training_lines_alone(tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The Bank\n" * 200)
    config = CorpusConfig("whitespace", held_out=0.2, lowercase=0.999)
    corpus = prepare([text], tmp_path / "corpus", config)
    assert set(corpus.vocab) == {"<S>", "</S>", "<UNK>", "the", "bank"}
    assert corpus.held_out.n_unknown == corpus.held_out.n_words > 0
    found = read_corpus_stats([text], config, tmp_path, encoder=small().token_encoder)
    assert set(found.vocab) == set(corpus.vocab)


def test_a_missing_extra_is_found_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mecab", None)
    text = write_korean(tmp_path / "text.txt")
    with pytest.raises(MissingExtraError, match=r"elmore\[ko\]"):
        prepare([text], tmp_path / "corpus", CorpusConfig("korean"), n_processes=2)
    assert list(tmp_path.iterdir()) == [text]


def test_korean_morphemes_are_prepared_by_two_processes(tmp_path: Path) -> None:
    pytest.importorskip("mecab", reason="morphemes need elmore[ko]")
    text = write_korean(tmp_path / "text.txt")
    corpus = prepare([text], tmp_path / "corpus", CorpusConfig("korean"), n_processes=2)
    assert {"사과", "를", "먹", "었", "다"} <= set(corpus.vocab)


def test_an_uncased_model_reads_no_capitals_anywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The Bank of SEOUL opened .\nthe River bank .\n" * 40)
    out, flags = tmp_path / "run", ["--normalization", "uncased", "--held-out", "0.2"]
    assert run_elmore(["pretrain", str(text), "--out", str(out), *small_flags(), *flags]) == 0
    config = CorpusConfig("whitespace", normalization="uncased", held_out=0.2)
    stats = read_corpus_stats([text], config, tmp_path, encoder=small().token_encoder)
    corpus = Corpus.load(out / "corpus")
    assert corpus.held_out.n_words > 0 == corpus.held_out.n_unknown
    small_words = ["the", "bank", "of", "seoul", "opened", "river", "."]
    assert set(stats.vocab) == set(corpus.vocab) == {"<S>", "</S>", "<UNK>", *small_words}

    elmo = Elmo.from_pretrained(out / "model")
    assert elmo.model.normalization == "uncased"
    capitals, small_letters = elmo.encode_tokens(["The BANK", ["the", "bank"]])
    assert capitals.tokens == small_letters.tokens == ("the", "bank")
    np.testing.assert_array_equal(capitals.vectors, small_letters.vectors)
    np.testing.assert_array_equal(elmo.word_vectors(["Bank"]), elmo.word_vectors(["bank"]))
    assert elmo.scores(["The Bank"])[0].known.all()
    assert "| normalization | uncased |" in model_card(elmo.model, "me/mine")
    capsys.readouterr()
    assert run_elmore(["perplexity", str(out / "model"), str(text)]) == 0
    assert json.loads(capsys.readouterr().out)["unknown_rate"] == 0

    labels = ["a", "b"] * 4
    task = Classifier(elmo, n_epochs=1, hidden_dim=4).fit(["The Bank", "a River"] * 4, labels)
    assert task.features_.tokenize("The BANK", 0) == ("the", "bank")
    np.testing.assert_array_equal(
        task.predict_proba(["The BANK", "a river"]), task.predict_proba(["the bank", "A RIVER"])
    )
    (substitute,) = elmo.fill(["The Bank"], word="BANK")
    assert substitute.place == 1


def test_shares_and_forms_that_cannot_be() -> None:
    for share in (1, 2):
        with pytest.raises(
            ConfigError, match=rf"lowercase is {share}; .* normalization to uncased"
        ):
            CorpusConfig(lowercase=share)
    with pytest.raises(ConfigError, match="normalization is uncased, which lowercases all text"):
        CorpusConfig(lowercase=0.3, normalization="uncased")
    with pytest.raises(ConfigError, match="normalization is 'NFD'; expected one of NFC"):
        CorpusConfig(normalization="NFD")
