"""One program at a time writes to an output, and a lock leaves nothing behind."""

from pathlib import Path

import pytest

from elmore.errors import ConfigError
from elmore.locks import LOCK, locked, locked_folder


def test_the_second_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    lock, out = tmp_path / "a/.out.lock", tmp_path / "a/out"
    for _ in range(2):
        with locked(lock, out):
            with (
                pytest.raises(ConfigError, match=r"another program is writing to .*/a/out; wait"),
                locked(lock, out),
            ):
                pytest.fail("it was locked twice")
            assert lock.exists()
        assert list((tmp_path / "a").iterdir()) == []


def test_an_error_ends_it_too(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), locked_folder(tmp_path / "out"):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_what_a_kill_leaves_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / LOCK).touch()
    with locked_folder(tmp_path / "out"):
        (tmp_path / "out/file").touch()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["file"]


def test_a_lock_that_its_holder_removes_while_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, opened = tmp_path / LOCK, Path.open
    n_opened = 0

    def remove_the_first(self: Path, mode: str) -> object:
        nonlocal n_opened
        n_opened += 1
        file = opened(self, mode)
        if n_opened == 1:
            self.unlink()
        return file

    monkeypatch.setattr(Path, "open", remove_the_first)
    with locked(lock, tmp_path):
        assert lock.exists()  # the file that is held is the one that others find
    assert n_opened == 2


def test_only_a_folder_of_ours_is_removed(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with locked_folder(tmp_path / "empty"):
        pass
    assert (tmp_path / "empty").is_dir()
    (tmp_path / "file").touch()
    with (
        pytest.raises(ConfigError, match="file is a file; a folder is to be written there"),
        locked_folder(tmp_path / "file"),
    ):
        pytest.fail("a file is no folder")
