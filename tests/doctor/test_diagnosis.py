"""The doctor counts what is there, and its advice is about what it found."""

from collections import Counter
from pathlib import Path

import pytest

from elmore.corpus.manifest import read_manifest
from elmore.corpus.prepare import prepare
from elmore.doctor.diagnosis import Diagnosis, examine
from elmore.errors import ConfigError, DataError
from elmore.pretrain.distributed import ProcessGroup
from elmore.pretrain.initial_network import new_model
from elmore.pretrain.trainer import Trainer
from tests.pretrain.small_runs import small


def look(path: Path, **changes: object) -> Diagnosis:
    return examine([path], small(**changes), measure_s=0.0)


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
    assert found.text.n_lines == read_manifest(corpus.folder).n_lines == 300
    assert found.text.n_sentences == 300
    assert found.text.n_words == corpus.training.n_words + corpus.held_out.n_words
    assert found.text.n_training_words == corpus.training.n_words
    assert found.text.n_distinct_words == read_manifest(corpus.folder).n_distinct_words
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
    model = new_model(recipe, corpus.vocab, None)
    trainer = Trainer(model, corpus, recipe.training, tmp_path, ProcessGroup())
    found = look(text, n_epochs=2.5, accumulate=2)
    assert found.n_windows == trainer.forward.n_windows
    assert found.n_updates == trainer.n_updates
    assert found.n_parameters == sum(array.size for array in model.arrays.values())
    time = found.time
    assert time is not None
    assert time.training_s > found.n_updates * time.update_s > 0
    assert time.tokens_per_second == pytest.approx(found.n_updates * 40 / time.training_s)
    assert 2.5 * time.epoch_s == pytest.approx(time.training_s, rel=0.05)
    assert 0 < time.evaluation_share < 1
    assert 0 < time.checkpoint_share < 1


def test_words_that_are_truncated(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    # ten bytes are read: three syllables and one byte of the fourth
    path.write_text("가나다 가나다라 가나다라 abcdefghij abcdefghijk 가\n" * 20)
    for encoding, n_split in (("bytes", 0), ("jamo", 0), ("bilm-tf", 1)):
        found = look(path, max_characters=12, held_out=0.0, char_encoding=encoding)
        cut = found.text.spelling
        assert (cut.max_bytes, cut.n_distinct, cut.n_words) == (10, 2, 60)
        assert cut.n_distinct_split == n_split
        said = "\n".join(found.advice)
        assert "more than 10 bytes and are truncated" in said
        assert ("truncated, many of them inside a character" in said) == (n_split > 0)


def test_long_updates_are_extrapolated_from_short_ones(text: Path) -> None:
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
