"""The folder of an index in, what became of checking each of its files out."""

from collections.abc import Iterator
from pathlib import Path

from elmore.checksums import CheckedFile, verify_files
from elmore.errors import ElmoreError
from elmore.senses.index import OccurrenceIndex
from elmore.senses.index_file import FACTS, file_sizes, read_facts
from elmore.senses.search import read_search


def verify_index(folder: Path) -> Iterator[CheckedFile]:
    """Check every file of an index: against its checksum if it has one, and by loading it."""
    content = read_facts(folder)
    assert content is not None  # its format was read
    found: list[CheckedFile] = []
    if content.facts.is_whole:
        files = content.files or {}
        found += verify_files(folder, files)
        names = file_sizes(content.facts, content.config.layers, content.dim)
        found += [CheckedFile(name, False) for name in names if name not in files]
    problem = None
    if not any(one.problem for one in found):
        try:
            _ = OccurrenceIndex.load(folder).words
        except ElmoreError as error:
            problem = str(error)
    yield CheckedFile(FACTS, content.checksum is not None, problem)
    yield from found
    for path in sorted(folder.glob("search-*.json")):
        try:
            said = read_search(path)
        except ElmoreError as error:
            yield CheckedFile(path.name, True, str(error))
        else:
            yield CheckedFile(path.name, said.checksum is not None)
            yield from verify_files(folder, said.files or {})
