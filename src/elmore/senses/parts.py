"""Blocks of a corpus in, one index of occurrences out: a part for each block, then all merged.

A part has the files of an index (index_file.py) under its own name. Merging gives each word the
number of its first occurrence in the corpus, keeps the first `max_per_word` occurrences of all, and
writes the files of an index as `build_index` does; the parts are removed when index.json is there.
The search of a large index is learned from all of it, when it is first used (search.py).
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from elmore.checksums import checksum_bytes, describe_file
from elmore.corpus.blocks import BLOCK_BYTES, BlockPlan, plan_blocks, text_checksum
from elmore.corpus.files import describe_text
from elmore.corpus.lines import MAX_LINE_BYTES
from elmore.corpus.parts import PartRecord, PartsFolder, part_name, publish, read_parts
from elmore.embed import Elmo
from elmore.embed.block_job import BlockJob
from elmore.embed.layers import layers_dim
from elmore.errors import ConfigError, DataError, FormatError
from elmore.folders import json_bytes, new_file, sync, write_json
from elmore.senses.blocks import GrowingFile
from elmore.senses.build import IndexBuilder, check_same, new_index_file
from elmore.senses.index_file import (
    CHECKSUMS,
    ENDS,
    FACTS,
    OCCURRENCES,
    SENTENCES,
    WORDS,
    Facts,
    IndexConfig,
    IndexFile,
    file_sizes,
    read_facts,
    vectors_file,
)
from elmore.stores import AnyPath, as_path, as_paths
from elmore.text import normalize

Ints = npt.NDArray[np.int64]


class IndexJob(BlockJob):
    """The index of a corpus that is wanted, and the folder of its parts."""

    def __init__(
        self, elmo: Elmo, plan: BlockPlan, folder: PartsFolder, content: IndexFile
    ) -> None:
        super().__init__(elmo, plan, folder)
        self.content = content
        """What index.json says before anything is indexed."""
        self._counts: dict[str, int] = {}  # of the parts that `is_enough` has seen

    @classmethod
    def begin(
        cls,
        elmo: Elmo,
        texts: Sequence[str | AnyPath],
        out: str | AnyPath,
        config: IndexConfig,
        *,
        text_field: str = "text",
        block_bytes: int = BLOCK_BYTES,
        max_line_bytes: int = MAX_LINE_BYTES,
    ) -> "IndexJob":
        """Begin the folder `out`, or take up one that was begun with the same."""
        paths, root = as_paths(texts), as_path(out)
        plan = plan_blocks(
            paths, text_field=text_field, block_bytes=block_bytes, max_line_bytes=max_line_bytes
        )
        source = [{**describe_text(path), "field": text_field} for path in paths]
        content = new_index_file(elmo, config, source)
        job = {
            **elmo.fingerprint(), "calibration": content.model.calibration, **asdict(config),
            "text_field": text_field, "block_bytes": block_bytes,
        }  # fmt: skip
        return cls(elmo, plan, PartsFolder.begin(root, "index", job, plan), content)

    def run(self, number: int) -> PartRecord:
        """Index a block."""
        return index_block(self, number)

    def finish(self) -> IndexFile:
        """Merge the parts into an index, and remove them."""
        root = self.folder.root
        records = [self.folder.record(number) for number in range(self.n_blocks)]
        if not any(record is None or record.counts["n_occurrences"] for record in records):
            self.folder.remove()
            raise DataError(
                f"{root} holds no occurrence: no word that was asked for is in the text; words are "
                "case-sensitive"
            )
        if isinstance(root, Path):
            content = merge_parts(self, root)
            write_json(root / FACTS, content)
        else:
            with TemporaryDirectory(prefix="elmore-") as work:
                content = merge_parts(self, Path(work))
                for path in sorted(Path(work).iterdir()):
                    publish(path, root / path.name)
            (root / FACTS).write_bytes(json_bytes(content))
        self.folder.remove()
        return content

    def is_enough(self, number: int) -> bool:
        """Whether each word that is wanted has all the occurrences that it may have."""
        if self.n_wanted is None:
            return False
        part = _Part(self, number)
        numbers = part.occurrences[:, 0]
        counts = np.bincount(numbers, minlength=len(part.words)).tolist()
        for word, count in zip(part.words, counts, strict=True):
            self._counts[word] = self._counts.get(word, 0) + count
        return self.is_full(list(self._counts.values()))

    @property
    def n_wanted(self) -> int | None:
        """How many words are wanted, where they may have no more than so many occurrences."""
        config = self.content.config
        if config.words is None or config.max_per_word is None:
            return None
        return len({normalize(word, self.elmo.model.normalization) for word in config.words})

    def is_full(self, counts: Sequence[int]) -> bool:
        """Whether words with so many occurrences each are all that is wanted."""
        most = self.content.config.max_per_word
        return len(counts) == self.n_wanted and most is not None and min(counts) >= most


def finished_index(
    elmo: Elmo, texts: Sequence[str | AnyPath], out: str | AnyPath, config: IndexConfig,
    *, text_field: str = "text",
) -> IndexFile | None:  # fmt: skip
    """Return what index.json says of an index that is there; refuse one of something else."""
    root = as_path(out)
    found = read_facts(root)
    if found is None:
        return None
    source = [{**describe_text(path), "field": text_field} for path in as_paths(texts)]
    check_same(found, new_index_file(elmo, config, source), root)
    if not found.facts.is_whole:
        raise ConfigError(
            f"{root} was begun by build_index or an earlier version, and is not finished; remove "
            "it, or choose another --out"
        )
    if (manifest := read_parts(root)) is not None:  # it was killed while it removed them
        PartsFolder(root, manifest).remove()
    return found


def index_block(job: IndexJob, number: int) -> PartRecord:
    """Write the occurrences of a block as a part, unless it is there and whole."""
    folder, content = job.folder, job.content
    texts = job.reader.read(number)
    text = text_checksum(texts)
    if (finished := folder.finished(number, text)) is not None:
        return finished
    lines = [
        line for one in texts for line in one.split("\n") if line and not line.isspace()
    ]  # as read_texts gives them
    facts = Facts()
    with folder.work() as work:
        with ExitStack() as stack:
            part = replace(content, facts=facts, files=None)
            for _ in IndexBuilder(job.elmo, work, part, stack).read(iter(lines)):
                pass
        files = {
            f"{part_name(number)}.{name}": work / name
            for name in file_sizes(facts, content.config.layers, content.dim)
        }
        counts = {
            "n_lines": facts.n_lines,
            "n_sentences": facts.n_sentences,
            "n_occurrences": facts.n_occurrences,
        }
        return folder.enter(number, files, text=text, counts=counts)


class _Part:
    """The files of a part, verified, in memory."""

    def __init__(self, job: IndexJob, number: int) -> None:
        record = job.folder.record(number)
        if record is None:
            raise DataError(f"{job.folder.root} lacks {part_name(number)}; index its block first")
        self._folder, self._number, self.record = job.folder, number, record
        self.words = self._read(WORDS).decode("utf-8").split("\n")[:-1]
        self.occurrences = np.frombuffer(self._read(OCCURRENCES), "<i4").reshape(-1, 3)
        """(N, 3): word, sentence, place."""

    def sentences(self, wanted: Ints) -> tuple[bytes, Ints]:
        """Return some sentences, and how many bytes each has."""
        content = self._read(SENTENCES)
        ends = np.frombuffer(self._read(ENDS), "<i8")
        starts = np.concatenate([[0], ends[:-1]])
        lengths = (ends - starts)[wanted]
        if len(wanted) == len(ends):
            return content, lengths
        chosen = zip(starts[wanted].tolist(), ends[wanted].tolist(), strict=True)
        return b"".join(content[start:end] for start, end in chosen), lengths

    def vectors(self, name: str, dim: int) -> npt.NDArray[np.float16]:
        """Return the vectors of a layer, (N, D)."""
        return np.frombuffer(self._read(name), "<f2").reshape(-1, dim)

    def _read(self, name: str) -> bytes:
        name = f"{part_name(self._number)}.{name}"
        path, expected = self._folder.path(name), self.record.files.get(name)
        with path.open("rb") as file:
            content = file.read()
        if expected is None or checksum_bytes(content) != expected.xxh3:
            raise FormatError(
                f"{path} is damaged: its checksum does not match; remove it to have it made again"
            )
        return content


def merge_parts(job: IndexJob, target: Path) -> IndexFile:
    """Write the files of an index from the parts of its blocks; return what index.json is to say.

    Memory holds one part and the list of words.
    """
    with ExitStack() as stack:
        merged = _Merged(job.content, target, stack)
        for number in range(job.n_blocks):
            merged.add(_Part(job, number))
            if job.is_full(merged.kept_of.tolist()):
                break
    return merged.finish()


class _Merged:
    """The files of an index, to which parts are added."""

    def __init__(self, content: IndexFile, target: Path, stack: ExitStack) -> None:
        self.content, self.target = content, target
        self.facts = Facts()
        self.numbers: dict[str, int] = {}
        self.kept_of = np.zeros(0, np.int64)
        """How many occurrences of each word are kept."""
        self.files: dict[str, GrowingFile] = {}
        for name in file_sizes(self.facts, content.config.layers, content.dim):
            self.files[name] = GrowingFile(target / name, 0, None)
            stack.enter_context(self.files[name].file)

    def add(self, part: _Part) -> None:
        """Add the occurrences of a part that are among the first of their words."""
        facts, files, config = self.facts, self.files, self.content.config
        words = self._numbered(part.words)[part.occurrences[:, 0]]
        keep = np.ones(len(words), bool)
        if config.max_per_word is not None:
            keep = self.kept_of[words] + _rank(words) < config.max_per_word
        self.kept_of += np.bincount(words[keep], minlength=len(self.kept_of))
        used, sentence = np.unique(part.occurrences[keep, 1], return_inverse=True)
        content, lengths = part.sentences(used)
        places = part.occurrences[keep, 2]
        rows = np.stack([words[keep], facts.n_sentences + sentence, places], axis=1)
        files[OCCURRENCES].write(rows.astype("<i4").tobytes())
        files[SENTENCES].write(content)
        files[ENDS].write((facts.sentence_bytes + np.cumsum(lengths)).astype("<i8").tobytes())
        for layer in config.layers:
            name = vectors_file(layer)
            vectors = part.vectors(name, layers_dim(layer, self.content.dim))
            files[name].write(vectors[keep].tobytes())
        facts.n_lines += part.record.counts["n_lines"]
        facts.n_sentences += len(used)
        facts.n_occurrences += len(rows)
        facts.sentence_bytes += len(content)

    def _numbered(self, words: list[str]) -> Ints:
        """Return the numbers of words in the whole index; new words are added."""
        new = [word for word in words if word not in self.numbers]
        first = len(self.numbers)
        self.numbers.update((word, first + place) for place, word in enumerate(new))
        self.kept_of = np.concatenate([self.kept_of, np.zeros(len(new), np.int64)])
        lines = "".join(f"{word}\n" for word in new).encode("utf-8")
        self.files[WORDS].write(lines)
        self.facts.word_bytes += len(lines)
        self.facts.n_words += len(new)
        return np.array([self.numbers[word] for word in words], np.int64)

    def finish(self) -> IndexFile:
        """See the files, which are closed, to the disk; return what index.json is to say."""
        self.facts.is_whole = True
        for name in self.files:
            sync(self.target / name)
        with new_file(self.target / CHECKSUMS) as beside:
            blocks = [file.checksums() for file in self.files.values()]
            np.concatenate(blocks).astype("<u8").tofile(beside)
        records = {name: file.record() for name, file in self.files.items()}
        records[CHECKSUMS] = describe_file(self.target / CHECKSUMS)
        return replace(self.content, facts=self.facts, files=records)


def _rank(words: Ints) -> Ints:
    """Return how many occurrences of the same word come before each."""
    order = np.argsort(words, kind="stable")
    ordered = words[order]
    ranks = np.empty(len(words), np.int64)
    ranks[order] = np.arange(len(words)) - np.searchsorted(ordered, ordered)
    return ranks
