"""What goes into a prepared corpus comes out of it: words, sentences, characters."""

import io
import json
import random
import subprocess
import sys
import unicodedata
from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmore.bilm_config import CharCnnConfig, CharEncoding, TokenEncoderConfig
from elmore.corpus import tokenizing, word_ids
from elmore.corpus.config import CorpusConfig
from elmore.corpus.prepare import prepare
from elmore.corpus.shards import Corpus, Split
from elmore.errors import ConfigError, DataError
from elmore.text import IdEncoder, Vocab, split_sentences, tokenizer_by_name

MARKS = ["<S>", "</S>", "<UNK>"]
UNK = MARKS[2]
PLAIN = CorpusConfig(tokenizer="whitespace", held_out=0)


def words_of(corpus: Corpus) -> list[str]:
    """Read the word of each id from the files, without `char_ids`."""
    words = list(corpus.vocab)
    for shard in corpus.training.shards + corpus.held_out.shards:
        assert shard.first_outside == len(words)
        ends = np.frombuffer(
            shard.path.read_bytes(), "<i8", shard.n_outside, offset=8 * shard.n_sentences
        )
        spelled = shard.path.read_bytes()[
            8 * (shard.n_sentences + shard.n_outside) + 4 * shard.n_words :
        ]
        words += [spelled[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)]
    return words


def sentences_of(split: Split, words: list[str]) -> list[list[str]]:
    sentences = []
    for shard in split.shards:
        assert (shard.ids.shape, shard.ids.dtype) == ((shard.n_words,), np.int32)
        assert (shard.ends.shape, shard.ends.dtype) == ((shard.n_sentences,), np.int64)
        assert isinstance(shard.ids, np.memmap)
        assert isinstance(shard.ends, np.memmap)
        for ids in np.split(shard.ids, shard.ends)[:-1]:
            sentences.append([words[i] for i in ids])
        assert shard.ends[-1] == shard.n_words
        shard.close()
    return sentences


def write(folder: Path, lines: list[str]) -> Path:
    path = folder / "text.txt"
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


LINES = st.lists(
    st.one_of(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r")),
        st.text("ab <>SU/NK.'한글 ", max_size=30),
        st.lists(st.sampled_from([*MARKS, "a", "b", "말", "x" * 300])).map(" ".join),
    ),
    min_size=1,
    max_size=25,
)


CONFIGS = st.builds(
    CorpusConfig,
    tokenizer=st.sampled_from(["whitespace", "english"]),
    split_sentences=st.sampled_from([None, "en", "ko"]),
    min_count=st.integers(1, 3),
    max_words=st.integers(4, 12),
    held_out=st.sampled_from([0.0, 0.3]),
)


@settings(deadline=None, max_examples=150)
@given(LINES, CONFIGS, st.sampled_from([3, 9, 50, 400]), st.sampled_from(["bytes", "jamo"]))
def test_round_trip(
    lines: list[str], config: CorpusConfig, max_characters: int, encoding: CharEncoding
) -> None:
    language, min_count = config.split_sentences, config.min_count
    tokenize = tokenizer_by_name(config.tokenizer)
    with TemporaryDirectory() as temporary, pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(word_ids, "SHARD_WORDS", 7)
        monkeypatch.setattr(tokenizing, "_PIECE_CHARACTERS", 20)
        folder = Path(temporary)
        drawn = tokenizing.draw_held_out(
            [line for line in lines if line and not line.isspace()], config.held_out
        )
        expected: dict[bool, list[list[str]]] = {False: [], True: []}
        for raw, is_held_out in drawn:
            line = unicodedata.normalize("NFC", raw)
            spans = split_sentences(line, language) if language else [(0, len(line))]
            tokens = [[token.text for token in tokenize(line[a:b])] for a, b in spans]
            expected[is_held_out] += [
                [UNK if word in MARKS else word for word in words] for words in tokens if words
            ]
        counts = Counter(word for words in expected[False] for word in words if word != UNK)
        path = write(folder, lines)
        if not counts or max(counts.values()) < min_count:
            with pytest.raises(DataError if not counts else ConfigError):
                prepare([path], folder / "corpus", config)
            assert list(folder.iterdir()) == [path]
            return
        corpus = prepare([path], folder / "corpus", config)

        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        known = [word for word in ranked if counts[word] >= min_count][: config.max_words - 3]
        assert list(corpus.vocab) == MARKS + known
        words = words_of(corpus)
        for split, sentences in ((corpus.training, False), (corpus.held_out, True)):
            assert sentences_of(split, words) == expected[sentences]
            flat = [word for words in expected[sentences] for word in words]
            assert split.n_words == len(flat)
            assert split.n_sentences == len(expected[sentences])
            assert split.n_unknown == sum(word not in known for word in flat)
            assert all(shard.n_words >= 7 for shard in split.shards[:-1])
        ids = np.random.default_rng(1).permutation(np.arange(len(words)).repeat(2))
        chars = CharCnnConfig(
            2, ((1, 2),), 0, "relu", max_characters=max_characters, char_encoding=encoding
        )
        encoder = IdEncoder(TokenEncoderConfig(chars))
        spelled = corpus.token_ids(ids, encoder)
        assert spelled.dtype == np.int16
        assert (spelled == encoder.encode([words[i] for i in ids])).all()


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Two thousand sentences of words that are frequent and rare."""
    rng = random.Random(1)
    lines = [
        " ".join(f"단어{int(rng.paretovariate(0.5)) % 10_000}" for _ in range(rng.randrange(1, 20)))
        for _ in range(2000)
    ]
    return write(tmp_path, lines)


@pytest.mark.slow
def test_processes_change_nothing(
    tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_ids, "SHARD_WORDS", 3000)
    monkeypatch.setattr(tokenizing, "_PIECE_CHARACTERS", 5000)
    config = CorpusConfig("english", "NFC", "ko", 2, 500, 0.1)
    one = prepare([text], tmp_path / "one", config)
    prepare([text], tmp_path / "two", config, n_processes=2)
    assert len(one.training.shards) > 3
    assert contents(tmp_path / "one") == contents(tmp_path / "two")

    text.write_bytes(text.read_bytes() + b"\xff")
    with pytest.raises(DataError, match="is not UTF-8: line 2001"):
        prepare([text], tmp_path / "three", config, n_processes=2)
    assert len(list(tmp_path.iterdir())) == 3


def test_a_finished_folder_is_used_again(tmp_path: Path, text: Path) -> None:
    told = []
    first = prepare([text], tmp_path / "corpus", PLAIN, on_progress=lambda *step: told.append(step))
    n_words = first.training.n_words
    assert told == [("tokenize", n_words), ("number", n_words)]
    before = [path.stat().st_mtime_ns for path in sorted((tmp_path / "corpus").iterdir())]

    def fail(stage: str, n_words: int) -> None:
        raise AssertionError("worked again")

    again = prepare([text], tmp_path / "corpus", PLAIN, on_progress=fail)
    assert again.vocab.words == first.vocab.words
    assert before == [path.stat().st_mtime_ns for path in sorted((tmp_path / "corpus").iterdir())]
    assert sorted(tmp_path.iterdir()) == [tmp_path / "corpus", text]


def test_a_folder_of_another_text_or_configuration_is_refused(tmp_path: Path, text: Path) -> None:
    folder = tmp_path / "corpus"
    corpus = prepare([text], folder, PLAIN)
    with pytest.raises(ConfigError, match=r"\(min_count, max_words differ\); remove it or choose"):
        prepare([text], folder, CorpusConfig("whitespace", "NFC", None, 2, 100, 0))
    with pytest.raises(ConfigError, match=r"\(given_vocab differ\)"):
        prepare([text], folder, PLAIN, vocab=corpus.vocab)
    content = text.read_bytes()
    text.write_bytes(content[:-2] + b"0\n")
    with pytest.raises(ConfigError, match=r"\(texts differ\)"):
        prepare([text], folder, PLAIN)
    text.write_bytes(content)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(ConfigError, match="exists already and is not empty"):
        prepare([text], tmp_path / "other", PLAIN)


def test_an_interrupted_run_leaves_nothing_and_is_begun_again(tmp_path: Path, text: Path) -> None:
    def interrupt(stage: str, n_words: int) -> None:
        if stage == "number":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare([text], tmp_path / "corpus", PLAIN, on_progress=interrupt)
    assert list(tmp_path.iterdir()) == [text]
    (tmp_path / "corpus.killed.part").mkdir()  # what a kill leaves
    assert prepare([text], tmp_path / "corpus", PLAIN).training.n_sentences == 2000


def test_a_full_disk_leaves_nothing(tmp_path: Path, text: Path) -> None:
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            prepare([text], tmp_path / "corpus", PLAIN)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.iterdir()) == [text]


def test_a_given_vocabulary_takes_the_place_of_the_counted_one(tmp_path: Path) -> None:
    path = write(tmp_path, ["a b c <S> a"])
    vocab = Vocab(["</S>", "b", "<UNK>", "<S>", "z"])
    corpus = prepare([path], tmp_path / "corpus", PLAIN, vocab=vocab)
    assert corpus.vocab.words == vocab.words
    assert corpus.unknown == 2
    assert corpus.training.shards[0].ids.tolist() == [5, 1, 6, 2, 5]
    assert corpus.training.n_unknown == 4
    prepare([path], tmp_path / "corpus", PLAIN, vocab=vocab)
    with pytest.raises(DataError, match="the vocabulary lacks <S>, <UNK>"):
        prepare([path], tmp_path / "other", PLAIN, vocab=Vocab(["</S>"]))


def test_standard_input_is_read_only_where_it_must_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("하나 둘\n셋\n".encode())))
    corpus = prepare([Path("-")], tmp_path / "corpus", PLAIN)
    assert sorted(corpus.vocab.words[3:]) == ["둘", "셋", "하나"]
    monkeypatch.setattr(sys, "stdin", None)
    prepare([Path("-")], tmp_path / "corpus", PLAIN)
    with pytest.raises(ConfigError, match="held_out differ"):
        prepare([Path("-")], tmp_path / "corpus", CorpusConfig("whitespace"))


def test_what_cannot_be_prepared_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, ["", " "])
    with pytest.raises(DataError, match="the text has no word to learn from"):
        prepare([path], tmp_path / "corpus", PLAIN)
    path = write(tmp_path, ["a b a"])
    with pytest.raises(ConfigError, match="min_count is 3, but no word occurs more than 2 times"):
        prepare([path], tmp_path / "corpus", CorpusConfig("whitespace", min_count=3))
    with pytest.raises(ConfigError, match="no tokenizer is called 'none'"):
        prepare([path], tmp_path / "corpus", CorpusConfig("none"))
    with pytest.raises(ConfigError, match="n_processes is 0"):
        prepare([path], tmp_path / "corpus", PLAIN, n_processes=0)
    assert list(tmp_path.iterdir()) == [path]


def test_manifest(tmp_path: Path) -> None:
    path = write(tmp_path, ["a b a", "", "c"])
    prepare([path], tmp_path / "corpus", CorpusConfig("whitespace", max_words=5))
    manifest = json.loads((tmp_path / "corpus/manifest.json").read_text())
    assert manifest["format"] == "elmore-corpus-1"
    assert manifest["config"]["max_words"] == 5
    assert [(text["name"], text["size"]) for text in manifest["texts"]] == [("text.txt", 9)]
    assert (manifest["n_lines"], manifest["n_distinct_words"]) == (2, 2)
    assert manifest["training"]["n_words"] == 3
    assert manifest["held_out"]["n_unknown"] == 1
    assert set(manifest["files"]) == set(contents(tmp_path / "corpus")) - {"manifest.json"}


MEMORY = """
import sys
from functools import partial
from pathlib import Path

import numpy as np

import elmore.corpus.prepare as preparing
from elmore.corpus import word_ids
from elmore.corpus.config import CorpusConfig
from elmore.pretrain.trainer import Trainer
from elmore.corpus.manifest import read_manifest
from elmore.pretrain.distributed import ProcessGroup
from elmore.pretrain.recipes import read_recipe
from elmore.pretrain.initial_network import new_model

word_ids.SHARD_WORDS = 2**17
preparing.WordCounter = partial(preparing.WordCounter, max_in_memory=30_000)
folder, n_lines = Path(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(1)
with (folder / "text.txt").open("w") as file:
    for _ in range(n_lines):
        file.write(" ".join(map(str, (10_000_000 ** rng.random(20)).astype(int))) + "\\n")
corpus = preparing.prepare([folder / "text.txt"], folder / "corpus", CorpusConfig("whitespace"))
recipe = read_recipe("tiny", {"batch_size": 64, "n_epochs": 1.0})
model = new_model(recipe, corpus.vocab, None)
trainer = Trainer(model, corpus, recipe.training, folder, ProcessGroup())
for number in range(30):  # from all over the text
    trainer.update = number * trainer.n_updates // 30
    trainer._make_update(None, lambda report: None, stop=False)
assert read_manifest(corpus.folder).n_distinct_words > 2 * 30_000
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak memory from /proc")
def test_memory_of_preparing_and_training_does_not_grow_with_the_text(tmp_path: Path) -> None:
    peaks_kb = []
    for n_lines in (20_000, 100_000):
        folder = tmp_path / str(n_lines)
        folder.mkdir()
        command = [sys.executable, "-c", MEMORY, str(folder), str(n_lines)]
        peaks_kb.append(int(subprocess.check_output(command)))
    assert peaks_kb[1] <= 1.1 * peaks_kb[0]


def test_text_in_parts_is_prepared_as_one(tmp_path: Path) -> None:
    parts = unicodedata.normalize("NFD", "사과 를 먹 었 다")
    path = write(tmp_path, [parts])
    assert "사과" in prepare([path], tmp_path / "whole", PLAIN).vocab
    as_it_is = replace(PLAIN, normalization=None)
    assert parts.split(" ")[0] in prepare([path], tmp_path / "parts", as_it_is).vocab
