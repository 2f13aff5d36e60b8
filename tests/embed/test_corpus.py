"""A corpus comes out as from `Elmo`, and the same to the last byte after an interruption."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from elmore import Elmo
from elmore.embed import CorpusOptions, embed_corpus
from elmore.engine.word_cache import WordVectors
from elmore.errors import ConfigError, DataError, FormatError, MissingExtraError
from elmore.formats import read_pretrained
from elmore.text import Vocab
from tests.oracle.elmo import random_model, write_model


def write_corpus(path: Path, n_lines: int) -> Path:
    rng = random.Random(0)
    lines = [
        " ".join(rng.choice(("the", "bank", "of", "river", "은행", ".")) for _ in range(n))
        for n in (rng.choice([0, 1, 5, 9, 20]) for _ in range(n_lines))
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def nothing(*_: int) -> None:
    pass


def test_finished_blocks_are_not_made_again(tiny_model: Path, tmp_path: Path) -> None:
    lines = write_corpus(tmp_path / "corpus.txt", 60).read_text().splitlines()
    options = CorpusOptions(block_numbers=40 * 12)

    def stop_late(n_texts: int, n_tokens: int) -> None:
        nonlocal n_read
        n_read += n_texts
        if n_read > 30:
            raise KeyboardInterrupt

    n_read = 0
    elmo = Elmo.from_pretrained(tiny_model)
    with pytest.raises(KeyboardInterrupt):
        embed_corpus(elmo, lines, tmp_path / "out.npz", options, stop_late)
    assert not (tmp_path / "out.npz").exists()
    again = Elmo.from_pretrained(tiny_model)
    n_looked_up = again.cache.misses + again.cache.hits
    steps: list[int] = []
    embed_corpus(
        again, lines, tmp_path / "out.npz", options, lambda n_texts, _: steps.append(n_texts)
    )
    assert sum(steps) == 60
    assert max(steps) > 1, "no block was taken over whole"
    fresh = Elmo.from_pretrained(tiny_model)
    embed_corpus(fresh, lines, tmp_path / "fresh.npz", options, nothing)
    n_looked_up = again.cache.misses + again.cache.hits - n_looked_up
    assert n_looked_up < fresh.cache.misses + fresh.cache.hits
    assert (tmp_path / "out.npz").read_bytes() == (tmp_path / "fresh.npz").read_bytes()


def test_vectors_are_those_of_elmo(tiny_model: Path, tmp_path: Path) -> None:
    lines = write_corpus(tmp_path / "corpus.txt", 40).read_text().splitlines()
    elmo = Elmo.from_pretrained(tiny_model)
    options = CorpusOptions(block_numbers=40 * 12)
    embed_corpus(elmo, lines, tmp_path / "out.npz", options, nothing)
    with np.load(tmp_path / "out.npz") as found:
        for number, text in enumerate(elmo.encode_tokens(lines)):
            np.testing.assert_array_equal(found[str(number)], text.vectors)
            assert tuple(found[f"{number}.tokens"]) == text.tokens


def test_another_run_is_not_mixed_in(tiny_model: Path, tmp_path: Path) -> None:
    lines = write_corpus(tmp_path / "corpus.txt", 60).read_text().splitlines()
    out, options = tmp_path / "out.npz", CorpusOptions(block_numbers=40 * 12)

    def stop(n_texts: int, n_tokens: int) -> None:
        if (out.parent / "out.npz.blocks/000001.npz").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed_corpus(Elmo.from_pretrained(tiny_model), lines, out, options, stop)
    blocks = {path: path.read_bytes() for path in (tmp_path / "out.npz.blocks").iterdir()}
    with pytest.raises(DataError, match="made from other text"):
        embed_corpus(Elmo.from_pretrained(tiny_model), ["x", *lines], out, options, nothing)
    other = CorpusOptions(layers="top", block_numbers=40 * 12)
    with pytest.raises(ConfigError, match=r"work of another run \(layers changed\)"):
        embed_corpus(Elmo.from_pretrained(tiny_model), lines, out, other, nothing)
    word_vectors = WordVectors(Vocab(["bank"]), torch.zeros(1, 6))
    with pytest.raises(ConfigError, match=r"work of another run \(known words changed\)"):
        embed_corpus(
            Elmo(read_pretrained(tiny_model), word_vectors=word_vectors),
            lines,
            out,
            options,
            nothing,
        )
    write_model(tmp_path / "other", *random_model(
        2, n_layers=2, dim=12, projection_dim=6, skip=True, cell_clip=0.5, proj_clip=0.5,
        activation="relu", n_highway=1, filters=[[1, 4], [2, 6], [3, 8]], char_dim=5,
    ))  # fmt: skip
    with pytest.raises(ConfigError, match=r"work of another run \(model changed\)"):
        embed_corpus(Elmo.from_pretrained(tmp_path / "other"), lines, out, options, nothing)
    assert {path: path.read_bytes() for path in (tmp_path / "out.npz.blocks").iterdir()} == blocks
    (tmp_path / "out.npz.blocks/000000.npz").write_bytes(b"")
    with pytest.raises(FormatError, match=r"000000\.npz is damaged"):
        embed_corpus(Elmo.from_pretrained(tiny_model), lines, out, options, nothing)


def test_texts_that_differ_only_in_where_they_end(tiny_model: Path, tmp_path: Path) -> None:
    out, options = tmp_path / "out.npz", CorpusOptions(block_numbers=40 * 12)
    elmo = Elmo.from_pretrained(tiny_model)

    def stop(n_texts: int, n_tokens: int) -> None:
        if (out.parent / "out.npz.blocks/000000.npz").exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed_corpus(elmo, ["a\nb", "c"] * 60, out, options, stop)
    with pytest.raises(DataError, match="made from other text"):
        embed_corpus(elmo, ["a", "b\nc"] * 60, out, options, nothing)


def test_a_second_run_is_refused_while_the_first_writes(tiny_model: Path, tmp_path: Path) -> None:
    lines = write_corpus(tmp_path / "corpus.txt", 60).read_text().splitlines()
    out, options = tmp_path / "out.npz", CorpusOptions(block_numbers=40 * 12)
    n_refused = 0

    def another(n_texts: int, n_tokens: int) -> None:
        nonlocal n_refused
        with pytest.raises(ConfigError, match="another program is writing to"):
            embed_corpus(Elmo.from_pretrained(tiny_model), ["x"], out, options, nothing)
        n_refused += 1

    embed_corpus(Elmo.from_pretrained(tiny_model), lines, out, options, another)
    embed_corpus(Elmo.from_pretrained(tiny_model), lines, tmp_path / "alone.npz", options, nothing)
    assert n_refused > 1
    assert out.read_bytes() == (tmp_path / "alone.npz").read_bytes()
    assert len(list(tmp_path.iterdir())) == 3


def test_a_missing_library_is_told_at_once(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elmore.embed.writers.find_spec", lambda name: None)
    elmo = Elmo.from_pretrained(tiny_model)
    with pytest.raises(MissingExtraError, match=r"pip install 'elmore\[parquet\]'"):
        embed_corpus(elmo, ["a"], tmp_path / "out.parquet", CorpusOptions(), nothing)
    assert elmo.cache.misses == 0
    assert list(tmp_path.iterdir()) == []


def test_sentences_of_a_line_are_texts(tiny_model: Path, tmp_path: Path) -> None:
    options = CorpusOptions(split_sentences="en")
    lines = ["It rained. We stayed.", "", "The end."]
    embed_corpus(Elmo.from_pretrained(tiny_model), lines, tmp_path / "out.npz", options, nothing)
    with np.load(tmp_path / "out.npz") as found:
        assert [" ".join(found[f"{i}.tokens"]) for i in range(3)] == [
            "It rained .",
            "We stayed .",
            "The end .",
        ]


def test_a_corpus_of_blank_lines_has_no_sentence(tiny_model: Path, tmp_path: Path) -> None:
    options = CorpusOptions(split_sentences="en")
    for n_lines in (0, 3):
        out = tmp_path / f"{n_lines}.jsonl"
        size = embed_corpus(Elmo.from_pretrained(tiny_model), [""] * n_lines, out, options, nothing)
        assert (size.n_texts, out.read_bytes()) == (0, b"")


@pytest.mark.parametrize(("layers", "dim"), [("expected", 6), ("context", 12)])
def test_the_states_that_predict_words(
    tiny_model: Path, tmp_path: Path, layers: Any, dim: int
) -> None:
    pq = pytest.importorskip("pyarrow.parquet", reason="needs elmore[parquet]")
    elmo = Elmo.from_pretrained(tiny_model, tokenizer="whitespace")
    lines = ["the river bank", "", "은행"]
    options = CorpusOptions(layers=layers, block_numbers=dim)
    embed_corpus(elmo, lines, tmp_path / "out.parquet", options, nothing)
    found = np.array(pq.read_table(tmp_path / "out.parquet")["vector"].to_pylist())
    wanted = [text.vectors for text in elmo.encode_tokens(lines, layers=layers)]
    assert found.shape == (4, dim)
    np.testing.assert_array_equal(found, np.concatenate(wanted))
