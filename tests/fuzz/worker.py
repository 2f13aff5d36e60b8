"""Damages files and reads them, in a process of its own, a line of JSON for each: [target, case,
outcome, message]. A reader that crashes, hangs or eats memory takes only this process with it.

Outcomes: refused (an ElmoreError), same, other (damage that nothing could tell), and the failures
traceback, believed, slow, memory.
"""

import json
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any
from zlib import crc32

from elmore.errors import ElmoreError
from tests.fuzz.mutations import mutate
from tests.fuzz.readers import READERS, Reader

MAX_SECONDS, MAX_GROWTH = 10, 2**30  # bytes


class _TooSlowError(BaseException):
    pass


def _stop(*_: object) -> None:
    raise _TooSlowError


def targets() -> list[tuple[str, str]]:
    """Return each reader with each of its files."""
    return [(name, file) for name, reader in READERS.items() for file in reader.files]


def damaged_file(name: str, file: str, case: int, whole: bytes) -> bytes:
    """Return the damaged file that a case is, always the same."""
    rng = random.Random(crc32(f"{name} {file} {case}".encode()))
    return mutate(whole, rng, is_json=file.endswith(".json"))


def outcome_of(reader: Reader, folder: Path, expected: Any, *, checked: bool) -> tuple[str, str]:
    """Read a folder that is damaged and say what came of it."""
    before, began = _peak(), time.monotonic()
    signal.alarm(MAX_SECONDS)
    try:
        found = reader.read(folder)
        outcome = "same" if found == expected else "believed" if checked else "other"
        message = ""
    except ElmoreError as error:
        message = str(error)
        is_sentence = "\n" not in message and len(message) < 1000
        outcome = "refused" if is_sentence else "traceback"
    except _TooSlowError:
        outcome, message = "slow", f"over {MAX_SECONDS} s"
    except Exception as error:
        outcome, message = "traceback", f"{type(error).__name__}: {error}"[:300]
    finally:
        signal.alarm(0)
    if _peak() - before > MAX_GROWTH:
        outcome, message = "memory", f"{(_peak() - before) / 2**20:.0f} MB more"
    if time.monotonic() - began > MAX_SECONDS:
        outcome = "slow"
    return outcome, message


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(first: int, last: int, only: str) -> None:
    """Run the cases `first` to `last` - 1 of each target; `only` is in the reader's name."""
    signal.signal(signal.SIGALRM, _stop)
    warnings.simplefilter("error")
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + 3 * MAX_GROWTH, resource.RLIM_INFINITY))
    with tempfile.TemporaryDirectory() as work:
        for name, file in targets():
            if only not in name:
                continue
            reader = READERS[name]
            folder = Path(work) / "folder"
            folder.mkdir()
            reader.make(folder)
            expected, whole = reader.read(folder), (folder / file).read_bytes()
            for case in range(first, last):
                content = damaged_file(name, file, case, whole)
                if content == whole:
                    continue
                sys.stdout.write(json.dumps([f"{name}: {file}", case, "begun", ""]) + "\n")
                sys.stdout.flush()
                (folder / file).write_bytes(content)
                checked = file in reader.checked
                result = outcome_of(reader, folder, expected, checked=checked)
                sys.stdout.write(json.dumps([f"{name}: {file}", case, *result]) + "\n")
            shutil.rmtree(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
