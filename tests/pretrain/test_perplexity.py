"""Perplexity is what the textbook network and a softmax say of each sentence by itself."""

import json
import math
import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from elmore import BiLM
from elmore.bilm_config import BiLMConfig, CharCnnConfig, LstmConfig, TokenEncoderConfig
from elmore.cli.main import run as run_elmore
from elmore.corpus.config import CorpusConfig
from elmore.corpus.prepare import prepare
from elmore.corpus.tokenizing import draw_held_out
from elmore.errors import DataError, FormatError
from elmore.formats import Pretrained, write_native
from elmore.pretrain.perplexity import NOTHING, Score, score_texts
from elmore.text import Vocab
from elmore.text.chars import byte_ids

WORDS = [f"w{k}" for k in range(30)]
VOCAB = Vocab(["</S>", "w0", "<UNK>", "<S>", *WORDS[1:]])  # in no order that could be guessed


def model(n_words: int | None = len(VOCAB)) -> Pretrained:
    torch.manual_seed(5)
    config = BiLMConfig(
        TokenEncoderConfig(CharCnnConfig(4, ((1, 8), (2, 8)), 1, "relu", max_characters=12)),
        LstmConfig(2, 12, 6),
        n_words,
    )
    bilm = BiLM(config).eval()
    with torch.no_grad():
        for parameter in bilm.parameters():
            parameter.mul_(2)  # so that words are told apart
    return Pretrained(bilm.config, bilm.arrays, "whitespace", None if n_words is None else VOCAB)


def texts(n: int = 40) -> list[list[str]]:
    rng = random.Random(1)
    names = [*WORDS, "outside", "ausser", "<UNK>"]
    found = [[rng.choice(names) for _ in range(rng.choice([1, 2, 5, 12]))] for _ in range(n)]
    return [*found, ["w1"] * 70, ["밖"]]


def textbook(found: Pretrained, text: list[str]) -> Score:
    bilm = BiLM.from_arrays(found.config, found.arrays)
    softmax = bilm.softmax
    assert softmax is not None
    tokens = ["<S>", *text, "</S>"]
    char_ids = torch.from_numpy(byte_ids(tokens, 12)).long()
    with torch.no_grad():
        top = bilm(char_ids[None]).layers[-1, 0]
        logits = [F.linear(part, softmax.weight, softmax.bias) for part in top.chunk(2, dim=1)]
    forward, backward = (F.log_softmax(part.double(), dim=1) for part in logits)
    rows = [VOCAB.words.index(word if word in VOCAB else "<UNK>") for word in tokens]
    return Score(
        n_predictions=len(text) + 1,
        n_unknown=sum(word not in VOCAB or word == "<UNK>" for word in text),
        n_words=len(text),
        forward_nll=-sum(forward[k, rows[k + 1]].item() for k in range(len(rows) - 1)),
        backward_nll=-sum(backward[k, rows[k - 1]].item() for k in range(1, len(rows))),
    )


def check_close(found: Score, expected: Score) -> None:
    assert (found.n_predictions, found.n_unknown, found.n_words) == (
        expected.n_predictions, expected.n_unknown, expected.n_words,
    )  # fmt: skip
    assert found.forward_nll == pytest.approx(expected.forward_nll, rel=1e-5)
    assert found.backward_nll == pytest.approx(expected.backward_nll, rel=1e-5)


def test_equal_to_the_textbook() -> None:
    found = model()
    scores = list(score_texts(found, texts()))
    expected = [textbook(found, text) for text in texts()]
    for score, wanted in zip(scores, expected, strict=True):
        check_close(score, wanted)
    assert abs(scores[0].forward_nll - scores[0].backward_nll) > 0.1  # or both could be one
    total = sum(scores, NOTHING)
    n = sum(len(text) + 1 for text in texts())
    nll = [
        sum(getattr(score, f"{side}_nll") for score in expected) for side in ("forward", "backward")
    ]
    assert total.forward == pytest.approx(math.exp(nll[0] / n), rel=1e-5)
    assert total.backward == pytest.approx(math.exp(nll[1] / n), rel=1e-5)
    assert total.mean == pytest.approx(math.exp(sum(nll) / 2 / n), rel=1e-5)
    assert total.mean == pytest.approx(math.sqrt(total.forward * total.backward), rel=1e-9)
    unknown = sum(word not in WORDS for text in texts() for word in text)
    assert total.unknown_rate == pytest.approx(unknown / (n - len(texts())))


def test_marks_in_the_text_mark_nothing() -> None:
    """They are unknown words, as they were when the model was trained."""
    found = model()
    with_marks = next(iter(score_texts(found, [["w1", "<S>", "w2", "</S>", "w3"]])))
    unknown = next(iter(score_texts(found, [["w1", "<UNK>", "w2", "<UNK>", "w3"]])))
    assert with_marks == unknown
    assert with_marks.n_unknown == 2


@pytest.mark.parametrize(
    "limits",
    [
        {"pretrain.perplexity._SENTENCES_AT_ONCE": 3},
        {"engine.softmax.MAX_LOGITS": 99},
    ],
)
def test_neither_order_nor_batches_matter(
    limits: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = model()
    expected = list(score_texts(found, texts()))
    for name, value in limits.items():
        monkeypatch.setattr(f"elmore.{name}", value)
    order = list(range(len(expected)))
    random.Random(2).shuffle(order)
    shuffled = texts()
    for k, score in zip(order, score_texts(found, [shuffled[k] for k in order]), strict=True):
        check_close(score, expected[k])


def test_a_model_without_softmax(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = model(n_words=None)
    with pytest.raises(FormatError, match="the model has no softmax, so it gives words no"):
        next(score_texts(found, texts()))
    write_native(found, tmp_path / "model")
    (tmp_path / "text.txt").write_text("w1 w2\n")
    assert run_elmore(["perplexity", str(tmp_path / "model"), str(tmp_path / "text.txt")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("elmore: the model has no softmax")
    assert captured.err.count("\n") == 1


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = model()
    write_native(found, tmp_path / "model")
    path = tmp_path / "text.txt"
    path.write_text("\n\n".join(" ".join(text) for text in texts()))
    total = sum(score_texts(found, texts()), NOTHING)
    expected = {
        "model": str(tmp_path / "model"),
        "forward_perplexity": total.forward,
        "backward_perplexity": total.backward,
        "mean_perplexity": total.mean,
        "predictions": total.n_predictions,
        "words": total.n_words,
        "unknown_rate": total.unknown_rate,
    }
    assert run_elmore(["perplexity", str(tmp_path / "model"), str(path)]) == 0
    (record,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert record == expected

    assert run_elmore(["perplexity", str(tmp_path / "model"), str(path), "--per-sentence"]) == 0
    *sentences, record = map(json.loads, capsys.readouterr().out.splitlines())
    assert record == expected
    assert [sentence["sentence"] for sentence in sentences] == list(range(len(texts())))
    for sentence, score in zip(sentences, score_texts(found, texts()), strict=True):
        assert sentence["words"] == score.n_words
        assert sentence["forward_perplexity"] == score.forward
        assert sentence["backward_perplexity"] == score.backward

    path.write_text("w1 w2. w3 w4.\n")
    for split, n_predictions in (([], 5), (["--split-sentences", "en"], 6)):
        assert run_elmore(["perplexity", str(tmp_path / "model"), str(path), *split]) == 0
        assert json.loads(capsys.readouterr().out)["predictions"] == n_predictions

    path.write_text(" \n")
    assert run_elmore(["perplexity", str(tmp_path / "model"), str(path)]) == 2
    assert "there is no word in the text" in capsys.readouterr().err


def test_the_held_out_text_of_a_corpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_native(model(), tmp_path / "model")
    lines = [" ".join(text) for text in texts(200)]
    (tmp_path / "text.txt").write_text("".join(f"{line}\n" for line in lines))
    config = CorpusConfig("whitespace", held_out=0.3)
    prepare([tmp_path / "text.txt"], tmp_path / "corpus", config, vocab=VOCAB)
    assert run_elmore(["perplexity", str(tmp_path / "model"), str(tmp_path / "corpus")]) == 0
    found = json.loads(capsys.readouterr().out)
    held_out = [line.split() for line, is_held_out in draw_held_out(lines, 0.3) if is_held_out]
    expected = sum(score_texts(model(), held_out), NOTHING)
    assert found["predictions"] == expected.n_predictions
    assert found["forward_perplexity"] == pytest.approx(expected.forward)
    assert found["backward_perplexity"] == pytest.approx(expected.backward)
    assert found["unknown_rate"] == expected.unknown_rate

    for flag in ("--tokenizer", "--split-sentences"):
        arguments = [str(tmp_path / "model"), str(tmp_path / "corpus"), flag, "english"]
        assert run_elmore(["perplexity", *arguments]) == 2
        assert "is tokenized and split already" in capsys.readouterr().err
    assert run_elmore(["perplexity", str(tmp_path / "model"), str(tmp_path)]) == 2
    assert "is a folder; name the files in it" in capsys.readouterr().err
    prepare([tmp_path / "text.txt"], tmp_path / "other", config)
    assert run_elmore(["perplexity", str(tmp_path / "model"), str(tmp_path / "other")]) == 2
    assert "was prepared with another vocabulary" in capsys.readouterr().err
    nothing = replace(config, held_out=0.0)
    prepare([tmp_path / "text.txt"], tmp_path / "nothing", nothing, vocab=VOCAB)
    assert run_elmore(["perplexity", str(tmp_path / "model"), str(tmp_path / "nothing")]) == 2
    assert "has no held-out text" in capsys.readouterr().err


def test_a_text_that_is_not_tokenized() -> None:
    with pytest.raises(DataError, match="got the text 'w1 w2'; expected a list of tokens"):
        sum(score_texts(model(), ["w1 w2"]), NOTHING)
