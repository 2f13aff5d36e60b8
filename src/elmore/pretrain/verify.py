"""The folder of a training run in, the state of each of its files out: for `elmore verify`."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from elmore.checksums import CheckedFile
from elmore.corpus.shards import verify_corpus
from elmore.errors import ElmoreError
from elmore.formats import verify_native
from elmore.metadata import convert_metadata
from elmore.pretrain.checkpoint import read_checkpoint
from elmore.pretrain.recipes import read_run, recipe_from
from elmore.pretrain.run import CORPUS, MODEL, RUN
from elmore.pretrain.static_start import STATIC
from elmore.pretrain.trainer import BEST, LAST, BestFacts, LastFacts
from elmore.static import StaticVectors


def verify_run(folder: Path) -> Iterator[CheckedFile]:
    """Check every file of a run that has a checksum or that resuming reads."""
    run = read_run(folder / RUN)
    recipe_from(run.recipe, str(folder / RUN))
    yield CheckedFile(RUN, run.checksum is not None)
    for name, facts in ((LAST, LastFacts), (BEST, BestFacts)):
        if (folder / name).exists():
            yield _verify_checkpoint(folder / name, facts)
    for name, verify in ((CORPUS, verify_corpus), (MODEL, verify_native)):
        if (folder / name).is_dir():
            yield from _inside(name, verify(folder / name))
    if (folder / STATIC).is_dir():
        problem = None
        try:
            StaticVectors.load(folder / STATIC)
        except ElmoreError as error:
            problem = str(error)
        yield CheckedFile(STATIC, False, problem)


def _verify_checkpoint(path: Path, facts: type) -> CheckedFile:
    try:
        checkpoint = read_checkpoint(path)
        convert_metadata(checkpoint.facts, facts, path)
    except ElmoreError as error:
        return CheckedFile(path.name, True, str(error))
    return CheckedFile(path.name, checkpoint.has_checksum)


def _inside(folder: str, files: Iterable[CheckedFile]) -> Iterator[CheckedFile]:
    try:
        for file in files:
            yield file._replace(name=f"{folder}/{file.name}")
    except ElmoreError as error:  # its metadata cannot be read
        yield CheckedFile(folder, False, str(error))
