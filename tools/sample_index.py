"""Build the sample indexes of `elmore serve` with the bundled models: corpora in, folders out.

    python tools/sample_index.py ../shared/data/corpora

Which sentences are taken is decided by their hashes alone, so the same corpora and models give the
same files. Run it again whenever a bundled model changes: an index holds its vectors.
"""

import argparse
import hashlib
import heapq
import lzma
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elmore import Elmo
from elmore.corpus.sentence_reader import SentenceReader
from elmore.senses.build import build_index
from elmore.senses.index import OccurrenceIndex
from elmore.senses.index_file import IndexConfig
from elmore.text.sentences import split_sentences

SAMPLES = Path(__file__).resolve().parents[1] / "src/elmore/serve/samples"
MAX_BYTES = 5_000_000

_BOTH = (
    "bank bar bow capital cell chamber club column court current drive field figure ground key "
    "lead mass match mine party plane plant play record ring seal spring star train volume"
)
"""Words of the encyclopedia and of the books, whose change of meaning can be seen."""
_ENCYCLOPEDIA = "bass bat crane organ palm pitch tank"
_KOREAN = (
    "감정 경기 공 기사 김 눈 다리 대사 말 발 밤 배 병 부정 사과 사기 상 성 수도 시장 신문 양식 "
    "역 연기 은행 의사 이상 인도 장기 전기 절 주식 지구 차"
)


@dataclass(frozen=True)
class Sample:
    """What one index is made of."""

    name: str
    model: str
    corpus: str
    source: str
    """Named in the index, with the licence of its sentences."""
    words: tuple[str, ...]
    n_per_word: int
    lengths: tuple[int, int] = (50, 170)
    """The shortest and the longest sentence, in characters."""


_WORDS = {"both": tuple(_BOTH.split()), "encyclopedia": tuple(_ENCYCLOPEDIA.split())}
ALL = (
    Sample("en-wiki", "en", "enwiki", "English Wikipedia (2015), CC BY-SA 3.0",
           _WORDS["both"] + _WORDS["encyclopedia"], 54),
    Sample("en-books", "en", "books", "137 English books, public domain", _WORDS["both"], 40),
    Sample("ko-wiki", "ko", "kowiki", "Korean Wikipedia (2022), CC BY-SA 3.0",
           tuple(_KOREAN.split()), 54, lengths=(24, 80)),
)  # fmt: skip


def main() -> int:
    """Build all samples, and refuse more than the package may hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("corpora", type=Path, help="the folder of the .txt.xz files")
    parser.add_argument("--out", type=Path, default=SAMPLES)
    arguments = parser.parse_args()
    n_bytes = 0
    for sample in ALL:
        folder = build(sample, arguments.corpora, arguments.out)
        n_bytes += sum(path.stat().st_size for path in folder.iterdir())
    if n_bytes > MAX_BYTES:
        print(f"{n_bytes:,} bytes in all; expected at most {MAX_BYTES:,}: take fewer occurrences")
        return 2
    print(f"{n_bytes:,} bytes in all")
    return 0


def build(sample: Sample, corpora: Path, out: Path) -> Path:
    """Build one index in place of what was there."""
    elmo = Elmo.from_pretrained(sample.model)
    chosen = _choose(sample, elmo, corpora / f"{sample.corpus}.txt.xz")
    config = IndexConfig(
        layers=(elmo.n_layers - 1, "expected"), words=sample.words, max_per_word=sample.n_per_word
    )
    folder = out / sample.name
    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary) / sample.name
        build_index(elmo, chosen, made, config, source=[{"name": sample.source}])
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(made, folder)
    index = OccurrenceIndex.load(folder)
    rare = [word for word in sample.words if len(index.rows(word)) < sample.n_per_word]
    print(f"{sample.name}: {len(index):,} occurrences of {len(index.words)} words", flush=True)
    if rare:
        print(f"  fewer than {sample.n_per_word} occurrences: {', '.join(rare)}", flush=True)
    return folder


def _choose(sample: Sample, elmo: Elmo, corpus: Path) -> list[str]:
    """Return sentences with enough occurrences of each word: those with the smallest hashes."""
    reader = SentenceReader(elmo.tokenizer, elmo.model.normalization, None)
    heaps: dict[str, list[tuple[int, str]]] = {word: [] for word in sample.words}
    for sentence in _sentences(sample, corpus):
        item = (-int.from_bytes(hashlib.sha256(sentence.encode()).digest()[:8], "big"), sentence)
        wanted = [
            word
            for word, heap in heaps.items()
            if word in sentence
            and (len(heap) < sample.n_per_word or item > heap[0])
            and item not in heap
        ]
        if not wanted:
            continue
        tokens = {token for words in reader.sentences([sentence]) for token in words}
        for word in tokens.intersection(wanted):
            heapq.heappush(heaps[word], item)
            if len(heaps[word]) > sample.n_per_word:
                heapq.heappop(heaps[word])
    return [text for _, text in sorted({item for heap in heaps.values() for item in heap})]


def _sentences(sample: Sample, corpus: Path) -> Iterator[str]:
    """Give the sentences of a corpus that may hold a word and are not too short or too long."""
    edge = r"\b" if sample.model == "en" else ""  # Korean particles follow without a space
    pattern = re.compile(f"{edge}(?:{'|'.join(sample.words)}){edge}")
    least, most = sample.lengths
    with lzma.open(corpus, "rt", encoding="utf-8") as lines:
        for line in filter(pattern.search, lines):
            for start, end in split_sentences(line, sample.model):
                sentence = line[start:end]
                if least <= len(sentence) <= most and pattern.search(sentence):
                    yield sentence


if __name__ == "__main__":
    sys.exit(main())
