"""Files and folders are there whole or not at all, and nothing that is not ours is touched."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from elmore.errors import ConfigError
from elmore.folders import (
    begin_job,
    check_new,
    new_file,
    new_folder,
    new_output,
    remove_unfinished,
    write_json,
)
from elmore.formats import read_pretrained, write_native
from elmore.locks import lock_of


def leave_unfinished(path: Path, n_files: int = 0) -> Path:
    """Leave what a program leaves that is killed while it makes a folder."""
    left = path.with_name(f"{path.name}.kil_led1.part")
    (left / "new").mkdir(parents=True)
    (left / "elmore-unfinished").touch()
    (left / "new/one").write_text("1")
    for number in range(n_files):  # in whatever order the file system lists them
        (left / str(number)).write_text("1")
    return left


@pytest.fixture
def umask() -> Iterator[int]:
    before = os.umask(0o077)
    yield 0o077
    os.umask(before)


def test_an_interrupted_file_leaves_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    with pytest.raises(UnicodeEncodeError), new_file(path) as beside:
        beside.write_text("half\ud800", encoding="utf-8")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    assert path.read_text() == "before"


def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("mine")
    (tmp_path / "a.json.part").symlink_to(tmp_path / "target")
    write_json(tmp_path / "a.json", {"a": 1})
    assert (tmp_path / "target").read_text() == "mine"
    assert not (tmp_path / "a.json").is_symlink()


def test_all_is_on_the_disk_before_it_is_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []

    def sync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    monkeypatch.setattr(os, "fsync", sync)
    with new_folder(tmp_path / "out") as folder:
        (folder / "one").write_text("1")
        assert synced == []
    assert synced == ["one", "new", tmp_path.name]
    synced.clear()
    with new_file(tmp_path / "file") as beside:
        beside.write_text("1")
    assert synced == ["file.part", tmp_path.name]


def test_what_killed_programs_left(tmp_path: Path) -> None:
    leave_unfinished(tmp_path / "out")
    mine = [tmp_path / "out.mine.part", tmp_path / "out.abcdefgh.part"]
    for folder in mine:
        folder.mkdir()
        (folder / "thesis").write_text("mine")
    (tmp_path / "out.empty.part").mkdir()
    mine.append(tmp_path / "out.empty.part")
    remove_unfinished(tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == sorted(mine)
    leave_unfinished(tmp_path / "out")
    with new_folder(tmp_path / "out") as made:
        assert sorted(tmp_path.iterdir()) == sorted([*mine, made.parent])
    assert sorted(tmp_path.iterdir()) == sorted([*mine, tmp_path / "out"])


def test_what_a_living_program_makes_is_left_alone(tmp_path: Path) -> None:
    with new_folder(tmp_path / "out") as made:
        (made / "one").write_text("1")
        remove_unfinished(tmp_path / "out")
    assert (tmp_path / "out/one").read_text() == "1"


def test_a_program_that_was_killed_when_it_had_renamed(tmp_path: Path) -> None:
    leave_unfinished(tmp_path / "out")
    lock_of(tmp_path / "out").touch()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/one").write_text("1")
    with pytest.raises(ConfigError, match="exists already and is not empty; choose another name"):
        check_new(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_in_a_thousand_folders(tmp_path: Path) -> None:
    out = Path(tmp_path, *"a" * 1000, "out")
    with new_folder(out) as made:
        (made / "one").write_text("1")
    assert (out / "one").read_text() == "1"
    (out / "one").unlink()
    for folder in (out, *out.parents[:1000]):  # pytest would recurse
        folder.rmdir()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("n_removed", range(10))
def test_a_removal_may_be_interrupted_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_removed: int
) -> None:
    left = leave_unfinished(tmp_path / "out", n_files=6)
    n_left = n_removed

    def interrupted(remove: Callable[..., None]) -> Callable[..., None]:
        def removing(*arguments: Any, **options: Any) -> None:
            nonlocal n_left
            if n_left == 0:
                raise KeyboardInterrupt
            n_left -= 1
            remove(*arguments, **options)

        return removing

    with monkeypatch.context() as patched:
        patched.setattr(os, "unlink", interrupted(os.unlink))
        patched.setattr(os, "rmdir", interrupted(os.rmdir))
        with pytest.raises(KeyboardInterrupt):
            remove_unfinished(tmp_path / "out")
    assert list(tmp_path.iterdir()) == [left]
    remove_unfinished(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_a_program_that_was_killed_at_once(tmp_path: Path) -> None:
    (tmp_path / "out.abc_1def.part").mkdir()
    (tmp_path / "out.mine.part").mkdir()
    (tmp_path / "out.mine.part/notes.txt").write_text("mine")
    remove_unfinished(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out.mine.part"]


def test_files_are_as_private_as_their_user_wants(
    tmp_path: Path, tiny_model: Path, umask: int
) -> None:
    write_native(read_pretrained(tiny_model), tmp_path / "model")
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert modes.pop("model") == 0o700
    assert set(modes.values()) == {0o600}
    os.umask(0o022)
    write_native(read_pretrained(tiny_model), tmp_path / "open")
    assert (tmp_path / "open").stat().st_mode & 0o777 == 0o755
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "open").iterdir()} == {0o644}


def test_a_job_is_resumed_by_its_like_only(tmp_path: Path) -> None:
    job = tmp_path / "job.json"
    content = {"format": "x-1", "size": (1, 2), "model": "a"}
    for _ in range(2):
        begin_job(job, content)
    before = job.read_bytes()
    with pytest.raises(ConfigError, match=r"another run \(model changed\); run the same as before"):
        begin_job(job, {**content, "model": "b"})
    assert job.read_bytes() == before
    for other in ('{"format": "y-1"}', "[1]", "no JSON"):
        job.write_text(other)
        with pytest.raises(ConfigError, match="something else is in it; move that"):
            begin_job(job, content)
        assert job.read_text() == other


def test_an_output_among_the_files_of_a_user(tmp_path: Path) -> None:
    page = tmp_path / "new" / "page.html"
    with new_output(page) as beside:
        beside.write_text("first")
    assert [path.name for path in page.parent.iterdir()] == ["page.html"]
    mine = page.with_name("page.html.part")
    mine.write_text("mine")
    leave_unfinished(page)
    with pytest.raises(UnicodeEncodeError), new_output(page) as beside:
        beside.write_text("half\ud800", encoding="utf-8")
    assert (page.read_text(), mine.read_text()) == ("first", "mine")
    assert sorted(page.parent.iterdir()) == [page, mine]
    link = page.with_name("link.html")
    link.symlink_to(mine)
    with new_output(link) as beside:
        beside.write_text("page")
    assert (link.is_symlink(), mine.read_text()) == (False, "mine")


def test_an_output_replaces_only_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a file; choose"), new_output(tmp_path):
        pass
    page = tmp_path / "page.html"
    with (
        new_output(page),
        pytest.raises(ConfigError, match="another program is writing"),
        new_output(page),
    ):
        pass
