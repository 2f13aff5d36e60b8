"""The doctor counts what is there, and its advice is about what it found."""

import random
from collections import Counter
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from elmore.corpus.prepare import prepare
from elmore.doctor.corpus_stats import DuplicateLines, Sample, n_tokens, read_corpus_stats
from elmore.doctor.cost import TrainingState
from elmore.doctor.diagnosis import Diagnosis, examine
from elmore.errors import ConfigError, DataError
from elmore.pretrain.distributed import ProcessGroup
from elmore.pretrain.loop import Trainer
from elmore.pretrain.start import new_bilm
from tests.pretrain.small_runs import small


def look(path: Path, **changes: object) -> Diagnosis:
    return examine([path], small(**changes), measure_s=0.0)


def advice(path: Path, **changes: object) -> str:
    return "\n".join(look(path, **changes).advice)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Three hundred sentences of fifty words, the first ones more often."""
    rng = random.Random(1)
    sentences = [
        [f"w{int(50 * rng.random() ** 2)}" for _ in range(rng.randrange(3, 12))] for _ in range(300)
    ]
    path = tmp_path / "text.txt"
    path.write_text("".join(f"{' '.join(words)}\n" for words in sentences))
    return path


def test_it_says_how_many_words_have_a_static_vector(text: Path, tmp_path: Path) -> None:
    counts = Counter(text.read_text().split())
    static = tmp_path / "vectors.txt"
    static.write_text("".join(f"w{k} {k} 1 2\n" for k in range(10, 60)))
    found = look(text, static=str(static), held_out=0.0)
    n_known = sum(count for word, count in counts.items() if int(word[1:]) >= 10)
    assert found.vocabulary.static is not None
    assert found.vocabulary.static.n_words == sum(int(word[1:]) >= 10 for word in counts)
    assert found.vocabulary.static.share == pytest.approx(n_known / counts.total())
    assert "of the text's words have a static vector: --static skipgram" in "\n".join(found.advice)
    assert look(text).vocabulary.static is None
    with pytest.raises(ConfigError, match="there is no file or folder"):
        look(text, static=str(tmp_path / "nowhere"))


def test_it_counts_what_prepare_prepares(text: Path, tmp_path: Path) -> None:
    recipe = small(max_words=30)
    corpus = prepare([text], tmp_path / "corpus", recipe.corpus)
    found = look(text, max_words=30)
    assert found.text.n_lines == corpus.manifest["n_lines"] == 300
    assert found.text.n_sentences == 300
    assert found.text.n_words == corpus.training.n_words + corpus.held_out.n_words
    assert found.text.n_training_words == corpus.training.n_words
    assert found.text.n_distinct_words == corpus.manifest["n_distinct_words"]
    assert found.text.file_bytes == {str(text): text.stat().st_size}
    assert found.vocabulary.n_rows == len(corpus.vocab) == 30
    unknown_rate = corpus.training.n_unknown / corpus.training.n_words
    assert found.vocabulary.unknown_rate == pytest.approx(unknown_rate)
    assert found.vocabulary.coverage == {found.text.n_distinct_words: pytest.approx(1.0)}
    shards = sum(path.stat().st_size for path in (tmp_path / "corpus").glob("*.shard"))
    assert found.disk.corpus == pytest.approx(shards, rel=0.1)


def test_it_makes_the_updates_that_training_makes(text: Path, tmp_path: Path) -> None:
    recipe = small(n_epochs=2.5, accumulate=2)
    corpus = prepare([text], tmp_path / "corpus", recipe.corpus)
    bilm = new_bilm(recipe, corpus.vocab, None)
    trainer = Trainer(bilm, corpus, recipe.training, tmp_path, ProcessGroup())
    found = look(text, n_epochs=2.5, accumulate=2)
    assert found.n_windows == trainer.forward.n_windows
    assert found.n_updates == trainer.n_updates
    assert found.n_parameters == sum(p.numel() for p in bilm.parameters())
    time = found.time
    assert time is not None
    assert time.training_s > found.n_updates * time.update_s > 0
    assert time.tokens_per_second == pytest.approx(found.n_updates * 40 / time.training_s)
    assert 2.5 * time.epoch_s == pytest.approx(time.training_s, rel=0.05)
    assert 0 < time.evaluation_share < 1
    assert 0 < time.checkpoint_share < 1


@pytest.mark.parametrize("optimizer", ["adagrad", "adamw"])
def test_the_state_is_that_of_training(text: Path, tmp_path: Path, optimizer: str) -> None:
    recipe = small(optimizer=optimizer, frozen=("token_encoder",))
    corpus = prepare([text], tmp_path / "corpus", recipe.corpus)
    bilm = new_bilm(recipe, corpus.vocab, None)
    trainer = Trainer(bilm, corpus, recipe.training, tmp_path, ProcessGroup())
    kept = TrainingState.of(recipe, len(corpus.vocab))
    assert kept.weights == sum(p.nbytes for p in bilm.parameters())
    assert kept.gradients == trainer.step.gradients.values.nbytes
    assert kept.optimizer == sum(tensor.nbytes for _, tensor in trainer.optimizer.state())
    states = (trainer.state.forward, trainer.state.backward)
    assert kept.states == sum(state.h.nbytes + state.c.nbytes for state in states)
    buffers = [
        value
        for stack in trainer.step.stacks
        for layer in stack.layers
        for value in vars(layer).values()
        if isinstance(value, torch.Tensor)
    ]
    assert kept.buffers == sum(buffer.nbytes for buffer in buffers)


def test_words_that_are_truncated(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    # ten bytes are read: three syllables and one byte of the fourth
    path.write_text("가나다 가나다라 가나다라 abcdefghij abcdefghijk 가\n" * 20)
    for spelling, n_split in (("bytes", 0), ("jamo", 0), ("bilm-tf", 1)):
        found = look(path, max_characters=12, held_out=0.0, spelling=spelling)
        cut = found.text.spelling
        assert (cut.max_bytes, cut.n_distinct, cut.n_words) == (10, 2, 60)
        assert cut.n_distinct_split == n_split
        said = "\n".join(found.advice)
        assert "more than 10 bytes and are truncated" in said
        assert ("truncated, many of them inside a character" in said) == (n_split > 0)


@given(st.lists(st.integers(0, 30), max_size=60))
def test_duplicate_lines_are_exact_while_they_are_few(numbers: list[int]) -> None:
    seen = DuplicateLines(max_lines=31)
    for number in numbers:
        seen.add(f"line {number}")
    assert seen.n_zeros == 0
    n_repeated = len(numbers) - len(Counter(numbers))
    assert seen.share * len(numbers) == pytest.approx(n_repeated)


def test_duplicate_lines_are_estimated_when_they_are_many() -> None:
    seen = DuplicateLines(max_lines=2000)
    for number in range(30_000):
        seen.add(f"line {number % 24_000}")
        assert len(seen._hashes) <= 2000
    assert seen.n_zeros > 0
    assert seen.share == pytest.approx(0.2, abs=0.02)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=200))
def test_a_sample_is_spread_and_bounded(lengths: list[int]) -> None:
    sample = Sample(max_tokens=50)
    sentences = [b" ".join([b"%d" % k] * n) for k, n in enumerate(lengths)]
    for sentence in sentences:
        sample.add(sentence)
    assert sum(map(n_tokens, sample.sentences)) <= 50
    assert sample.sentences in [sentences[:: 2**k] for k in range(9)]


def test_how_many_words_cover_a_share(text: Path, tmp_path: Path) -> None:
    found = read_corpus_stats([text], small().corpus, tmp_path, encoder=small().token_encoder)
    for share in (0.1, 0.5, 0.9, 1.0):
        n_words = found.words_to_cover(share)
        assert found.words.coverage(n_words) >= share - 1e-9
        assert found.words.coverage(n_words - 1) < share


def test_advice_on_the_batch(text: Path) -> None:
    found = look(text, batch_size=600)
    assert (found.n_windows, found.n_updates, found.time) == (0, 0, None)
    assert "training cannot begin. Take --batch-size" in found.advice[0]
    assert "an epoch has only" in advice(text, batch_size=64)
    assert "an update takes 999 of them" in advice(text, accumulate=999)
    assert "--batch-size" not in advice(text)


def test_advice_on_words(text: Path) -> None:
    assert "as it has 7 words: --max-words" in advice(text, max_words=10)
    assert "lower --min-count" in advice(text, min_count=40)
    assert "unknown" not in advice(text)


def test_advice_on_lines(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("".join(f"line {k % 60}, and so on, number {k % 60}.\n" for k in range(120)))
    found = look(path)
    assert found.text.repeated_lines == 0.5
    assert found.text.is_repeated_exact
    said = "\n".join(found.advice)
    assert "50 % of the lines are duplicates" in said
    assert "--tokenizer english" in said
    assert "--split-sentences" not in said
    path.write_text("".join(f"{k} " + "here is a word , " * 20 + "\n" for k in range(9)))
    said = advice(path, tokenizer="english")
    assert "--split-sentences" in said
    assert "tokenized already: --tokenizer whitespace" in said
    assert "are duplicates" not in said
    path.write_text("".join(f"나는 학교에 {k} 번 갔다, 그리고 왔다\n" for k in range(60)))
    for tokenizer in ("english", "whitespace"):
        assert "% of the words are Korean: --tokenizer korean" in advice(path, tokenizer=tokenizer)
    assert "--tokenizer" not in advice(path, tokenizer="korean-eojeol")
    path.write_text("".join(f"我 去 了 {k} 次\n" for k in range(60)))
    assert "are one Chinese or Japanese character" in advice(path, tokenizer="english")


def test_advice_on_the_network(text: Path) -> None:
    assert "take --recipe" not in advice(text)
    assert "few for 1,024 cells" in advice(text, cell_dim=1024)
    assert "--n-epochs 5" in advice(text, n_epochs=1.0)
    assert "--patience 5 stops early" in advice(text, n_epochs=50.0)
    assert "softmax is sampled: each batch scores 10 of" in advice(text)
    assert "softmax is full" in advice(text, n_samples=2000)


def test_advice_on_memory(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elmore.doctor.diagnosis.machine_memory", lambda: 2**28)
    found = look(text, cell_dim=1024)
    assert found.time is None
    assert "needs more memory than this machine" in found.advice[0]
    assert "--recipe small-cpu" in found.advice[0]


def test_long_updates_are_reckoned_from_short_ones(text: Path) -> None:
    found = look(text, unroll_steps=50)
    assert found.time is not None
    assert found.time.update_s > 0


def test_it_refuses_what_training_refuses(text: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.txt"
    empty.write_text("\n \n")
    with pytest.raises(DataError, match="the text has no word to learn from"):
        look(empty)
    with pytest.raises(DataError, match="does not exist"):
        look(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="min_count is 10000, but no word occurs more than"):
        look(text, min_count=10_000)
    with pytest.raises(ConfigError, match="n_samples"):
        look(text, softmax="sampled", n_samples=100)
    with pytest.raises(ConfigError, match="n_processes is 0"):
        examine([text], small(), n_processes=0)


def test_one_line_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("only one line\n")
    found = look(path, batch_size=1, unroll_steps=2)
    assert found.time is not None
    assert found.time.evaluation_share == 0
    assert look(path, batch_size=1).time is None
