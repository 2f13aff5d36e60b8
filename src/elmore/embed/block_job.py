"""What is wanted of the blocks of a corpus, and the folder of their parts: of vectors or an index.

A job can be pickled and sent to workers, which run its blocks in any order. A block has the same
bytes wherever it is computed, and a worker whose model or options are not those that the folder was
begun with is refused.
"""

from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Any

from elmore.corpus.blocks import BlockPlan, BlockReader
from elmore.corpus.parts import PartRecord, PartsFolder
from elmore.embed.elmo import Elmo
from elmore.errors import ConfigError
from elmore.folders import as_json
from elmore.stores import AnyPath


class BlockJob(ABC):
    """Work on the blocks of a corpus."""

    def __init__(self, elmo: Elmo, plan: BlockPlan, folder: PartsFolder) -> None:
        self.elmo, self.plan, self.folder = elmo, plan, folder
        self._reader: BlockReader | None = None

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return len(self.plan.blocks)

    @property
    def reader(self) -> BlockReader:
        """What reads the text of blocks, in this process."""
        if self._reader is None:
            self._check_worker()
            self._reader = BlockReader(self.plan)
        return self._reader

    @abstractmethod
    def run(self, number: int) -> PartRecord:
        """Make the part of a block, unless it is there and whole."""

    @abstractmethod
    def finish(self) -> Any:
        """Put the parts together, once all blocks are done."""

    def is_enough(self, number: int) -> bool:
        """Whether the parts up to this one, which are all finished, make the others needless."""
        return False

    def __getstate__(self) -> dict[str, Any]:
        """Return what a worker needs, which opens files itself and is in another folder."""
        plan = replace(self.plan, paths=tuple(map(_absolute, self.plan.paths)))
        folder = PartsFolder(_absolute(self.folder.root), self.folder.manifest)
        return {**self.__dict__, "_reader": None, "plan": plan, "folder": folder}

    def _check_worker(self) -> None:
        begun = self.folder.manifest.job
        for name, value in as_json(self.elmo.fingerprint()).items():
            if begun.get(name) != value:
                raise ConfigError(
                    f"this worker has another {name} ({value}) than the work was begun with "
                    f"({begun.get(name)}), so its vectors would differ; install the same on all "
                    "machines"
                )


def _absolute(path: AnyPath) -> AnyPath:
    return path.absolute() if isinstance(path, Path) else path
