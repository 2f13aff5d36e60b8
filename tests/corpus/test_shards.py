"""A corpus that was changed or damaged is refused."""

import json
from pathlib import Path

import pytest

from elmore.corpus.config import CorpusConfig
from elmore.corpus.prepare import prepare
from elmore.corpus.shards import Corpus
from elmore.errors import FormatError

PLAIN = CorpusConfig(tokenizer="whitespace", held_out=0)


def test_damage_is_found(tmp_path: Path) -> None:
    text, folder = tmp_path / "text.txt", tmp_path / "corpus"
    text.write_text("하나 둘\n셋 둘\n", encoding="utf-8")
    prepare([text], folder, PLAIN)
    shard = folder / "train-00000.shard"
    content = shard.read_bytes()
    shard.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    Corpus.load(folder)
    with pytest.raises(FormatError, match=r"train-00000\.shard is not as it was written; remove"):
        prepare([text], folder, PLAIN)
    shard.write_bytes(content[:-1])
    with pytest.raises(FormatError, match=rf"has {len(content) - 1} bytes, expected"):
        Corpus.load(folder)
    shard.unlink()
    with pytest.raises(FormatError, match="has no bytes, expected"):
        Corpus.load(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    for wrong, message in (
        ({**manifest, "format": "other"}, "format is 'other'; this version reads"),
        ({"format": "elmore-corpus-1"}, "is not as it was written"),
    ):
        (folder / "manifest.json").write_text(json.dumps(wrong))
        with pytest.raises(FormatError, match=message):
            Corpus.load(folder)
    (folder / "manifest.json").unlink()
    with pytest.raises(FormatError, match=r"has no manifest\.json; expected a prepared corpus"):
        Corpus.load(folder)
