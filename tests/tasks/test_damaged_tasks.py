"""A damaged task, checkpoint, cache or comparison is refused or computed again, never believed."""

import errno
import json
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from elmore import Elmo
from elmore.errors import ConfigError, FormatError
from elmore.metadata import checksum_of
from elmore.tasks import Classifier, Tagger
from elmore.tasks.fit import LAST
from elmore.tasks.layer_cache import stored_layers
from elmore.tasks.layer_inputs import ElmoInput
from elmore.tasks.saved import verify_task
from tests.tasks.made_examples import SMALL, texts


@pytest.fixture
def folder(tiny_elmo: Elmo, tmp_path: Path) -> Path:
    Classifier(tiny_elmo, tokenizer="whitespace", **SMALL).fit(texts(20)).save(tmp_path / "task")
    return tmp_path / "task"


def change(folder: Path, *, checksums: bool = False, **fields: Any) -> None:
    """Change fields of config.json, and drop its checksums, as earlier versions wrote it."""
    said = json.loads((folder / "config.json").read_text())
    settings = fields.pop("settings", {})
    said = {**said, **fields, "settings": {**said["settings"], **settings}}
    if not checksums:
        said.pop("files"), said.pop("checksum")
    (folder / "config.json").write_text(json.dumps(said))


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)


def test_one_flipped_bit(folder: Path) -> None:
    flip(folder / "model.safetensors")
    with pytest.raises(FormatError, match=r"model.safetensors is damaged: its checksum is"):
        Classifier.load(folder)
    assert [one.name for one in verify_task(folder) if one.problem] == ["model.safetensors"]
    assert len(Classifier.load(folder, verify=False).predict(["good film"])) == 1


def test_a_task_of_an_earlier_version(folder: Path) -> None:
    wanted = Classifier.load(folder).predict_proba(["good film"])
    change(folder)
    np.testing.assert_array_equal(Classifier.load(folder).predict_proba(["good film"]), wanted)
    assert {(one.has_checksum, one.problem) for one in verify_task(folder)} == {(False, None)}
    change_settings = json.loads((folder / "config.json").read_text())
    del change_settings["settings"]["context_layer"]  # a setting that came later
    (folder / "config.json").write_text(json.dumps(change_settings))
    np.testing.assert_array_equal(Classifier.load(folder).predict_proba(["good film"]), wanted)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"settings": {"hidden_dim": 2**31}},
            "settings.hidden_dim is 2147483648; expected",
        ),
        ({"settings": {"hidden_dim": 4096}}, "has shape"),
        ({"settings": {"hidden_dim": "8"}}, "settings.hidden_dim is '8'; expected a whole number"),
        ({"settings": {"dropout": 2}}, "settings.dropout is 2"),
        ({"settings": {"where": "above"}}, "settings.where is 'above'; expected one of"),
        ({"settings": {"colour": 1}}, "unknown field settings.colour"),
        ({"labels": ["a"] * 2}, "labels has a label twice"),
        ({"labels": [str(k) for k in range(9000)]}, "a score for each of the 9000 labels"),
        ({"labels": []}, "a score for each of the 0 labels"),
        ({"labels": [0.5] * 2000}, "expected a string"),
        ({"elmo": {"source": 1, "hash": ""}}, "elmo.source is 1; expected"),
        ({"task": "sing"}, "task is 'sing'; expected one of answer, classify, coref, pair, tag"),
        ({"format": "elmore-task-9"}, "elmore-task-9"),
        ({"inputs": [{"kind": "sound", "vectors": None, "options": {}}]}, r"inputs\[0\].kind is"),
        (
            {"inputs": [{"kind": "elmo", "vectors": None, "options": {"source": "hf://a/b"}}]},
            r"inputs\[0\] is no input that is saved",
        ),
        (
            {"inputs": [{"kind": "chars", "vectors": None, "options": {"n_filters": "5"}}]},
            "n_filters is '5'",
        ),
    ],
)
def test_fields_that_cannot_be(folder: Path, fields: dict[str, Any], message: str) -> None:
    change(folder, **fields)
    with pytest.raises(FormatError, match=message):
        Classifier.load(folder)


def test_config_json_has_a_checksum_of_its_own(folder: Path) -> None:
    change(folder, checksums=True, settings={"elmo_dropout": 0.25})
    with pytest.raises(FormatError, match="its checksum does not match its fields"):
        Classifier.load(folder)


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", ".."])
def test_names_that_lead_out_of_the_folder(folder: Path, name: str) -> None:
    said = json.loads((folder / "config.json").read_text())
    said["files"][name] = {"size": 1, "xxh3": "0" * 32}
    said["checksum"] = checksum_of(said)
    (folder / "config.json").write_text(json.dumps(said))
    with pytest.raises(FormatError, match="expected names of files beside it"):
        Classifier.load(folder)


def test_nothing_is_unpickled(folder: Path) -> None:
    change(folder)
    (folder / "model.safetensors").write_bytes(pickle.dumps(print))
    with pytest.raises(FormatError, match="cannot be read"):
        Classifier.load(folder)


def test_nothing_is_downloaded_unasked(
    folder: Path, tiny_elmo: Elmo, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = json.loads((folder / "config.json").read_text())["elmo"]
    change(folder, elmo={**said, "source": "hf://someone/model"})
    asked: list[str] = []
    monkeypatch.setattr(
        Elmo, "from_pretrained", lambda source, **_: asked.append(source) or tiny_elmo
    )
    with pytest.raises(ConfigError, match=r'elmo="hf://someone/model" \(--elmo hf://someone/model'):
        Classifier.load(folder)
    assert asked == []
    Classifier.load(folder, elmo="hf://someone/model")
    assert asked == ["hf://someone/model"]


def test_a_checkpoint_of_another_network(tiny_elmo: Elmo, tmp_path: Path) -> None:
    run = tmp_path / "run"
    Classifier(tiny_elmo, **SMALL).fit(texts(20), folder=run)
    kept = (run / LAST).read_bytes()
    other = tmp_path / "other"
    Tagger(tiny_elmo, **SMALL).fit([["a", "b"]] * 8, [["O", "X"]] * 8, folder=other)
    (run / LAST).write_bytes((other / LAST).read_bytes())
    with pytest.raises(FormatError, match=r"last.safetensors .*remove it to begin this run again"):
        Classifier(tiny_elmo, **SMALL).fit(texts(20), folder=run)
    (run / LAST).write_bytes(kept)
    Classifier(tiny_elmo, **SMALL).fit(texts(20), folder=run)


@pytest.mark.parametrize("damage", ["flipped", "cut", "emptied", "of an earlier version"])
def test_a_damaged_cache_is_computed_again(tiny_elmo: Elmo, tmp_path: Path, damage: str) -> None:
    sentences = [("the", "bank"), ("river",)]
    wanted = np.array(stored_layers(ElmoInput(tiny_elmo), sentences, tmp_path, "float32"))
    np.testing.assert_array_equal(
        stored_layers(ElmoInput(tiny_elmo), sentences, None, "float32"), wanted
    )
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    if damage == "flipped":
        flip(path)
    else:
        cut = {"cut": 30, "emptied": 0, "of an earlier version": len(whole) - 16}[damage]
        path.write_bytes(whole[:cut])
    found = stored_layers(ElmoInput(tiny_elmo), sentences, tmp_path, "float32")
    np.testing.assert_array_equal(found, wanted)
    assert path.read_bytes() == whole


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="not of this system")
@pytest.mark.parametrize("named", [True, False])
def test_a_full_disk(
    *, tiny_elmo: Elmo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", fail)
    monkeypatch.setattr("elmore.tasks.layer_cache._MOST_IN_MEMORY", 0)
    with pytest.raises(OSError, match="No space left"):
        stored_layers(ElmoInput(tiny_elmo), [("a",)], tmp_path if named else None, "float32")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="it needs signals")
def test_a_killed_training_leaves_nothing_in_the_temporary_folder(
    tiny_model: Path, tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    program = f"""
import os, signal
from elmore.tasks import Classifier, fit
from tests.tasks.made_examples import SMALL, texts
def stop(*_):
    os.kill(os.getpid(), signal.SIGKILL)
Classifier({str(tiny_model)!r}, tokenizer="whitespace", **SMALL).fit(
    texts(20), on_progress=lambda event: event.stage == "train" and stop())
"""
    found = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(temporary)},
        cwd=Path(__file__).parents[2], check=False, timeout=300,
    )  # fmt: skip
    assert found.returncode == -signal.SIGKILL
    assert list(temporary.iterdir()) == []


def test_a_checksum_that_was_taken_out(folder: Path) -> None:
    said = json.loads((folder / "config.json").read_text())
    del said["checksum"]
    (folder / "config.json").write_text(json.dumps(said))
    with pytest.raises(FormatError, match=r"config\.json is damaged: its checksum is missing"):
        Classifier.load(folder)
