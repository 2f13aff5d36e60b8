"""The means and deviations of layers, and the folders that hold them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from elmore import Elmo
from elmore.embed import calibrate
from elmore.errors import ConfigError, DataError, FormatError
from elmore.formats import Calibration, read_native, write_calibration, write_native
from elmore.formats.calibration import CALIBRATION

SENTENCES = [["the", "river", "bank"], ["a"], [], ["은행", "계좌"], ["bank", "of", "the", "."]] * 5


@pytest.fixture(scope="module")
def calibration(tiny_elmo: Elmo) -> Calibration:
    return calibrate(tiny_elmo, SENTENCES, texts=["some.txt"])


@pytest.fixture
def folder(tiny_elmo: Elmo, calibration: Calibration, tmp_path: Path) -> Path:
    write_native(replace(tiny_elmo.model, calibration=calibration), tmp_path / "model")
    return tmp_path / "model"


def test_means_and_deviations(tiny_elmo: Elmo, calibration: Calibration) -> None:
    layers = [0, 1, 2, "context", "expected"]
    assert list(calibration.means) == layers
    assert calibration.n_tokens == sum(map(len, SENTENCES))
    read = tiny_elmo.encode_tokens(SENTENCES, layers=layers)  # type: ignore[arg-type]
    for layer in layers:
        vectors = np.concatenate([text.vectors[layer] for text in read])
        mean, deviation = calibration.means[layer], calibration.deviations[layer]  # type: ignore[index]
        np.testing.assert_allclose(mean, vectors.mean(axis=0), atol=1e-5)
        spread = vectors.std(axis=0)
        spread[spread < 1e-6] = 1  # a clip holds some dimensions still
        np.testing.assert_allclose(deviation, spread, atol=1e-5)


def test_text_is_read_no_further_than_it_has_to_be(tiny_elmo: Elmo) -> None:
    found = calibrate(tiny_elmo, SENTENCES, max_tokens=4)
    assert found.n_tokens == 4
    with pytest.raises(DataError, match="the text has 1 words"):
        calibrate(tiny_elmo, [["a"]])
    with pytest.raises(ConfigError, match="max_tokens is 0"):
        calibrate(tiny_elmo, SENTENCES, max_tokens=0)


def test_standardized_vectors(tiny_elmo: Elmo, calibration: Calibration) -> None:
    elmo = Elmo(replace(tiny_elmo.model, calibration=calibration))
    for layer in ("top", 1, "context", "expected"):
        read = elmo.encode_tokens(SENTENCES, layers=layer, standardize=True)  # type: ignore[arg-type]
        vectors = np.concatenate([text.vectors for text in read])
        np.testing.assert_allclose(vectors.mean(axis=0), 0, atol=1e-4)
        moving = vectors.std(axis=0) > 0
        assert moving.sum() > vectors.shape[1] / 2
        np.testing.assert_allclose(vectors.std(axis=0)[moving], 1, atol=1e-3)
    (everything,) = elmo.encode_tokens([["a", "bank"]], layers="all", standardize=True)
    (top,) = elmo.encode_tokens([["a", "bank"]], layers="top", standardize=True)
    np.testing.assert_array_equal(everything.vectors[-1], top.vectors)
    (raw,) = elmo.encode_tokens([["a", "bank"]], layers="top")
    np.testing.assert_array_equal(calibration.standardize(raw.vectors, "top"), top.vectors)
    with pytest.raises(ConfigError, match="layers is 'mix', which has no calibration"):
        elmo.encode_tokens(["a"], standardize=True)
    for layers in ("mix", ["top", "mix"]):  # before anything is read
        with pytest.raises(ConfigError, match="layers is 'mix', which has no calibration"):
            elmo.encode_tokens([], layers=layers, standardize=True)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="this model has no calibration"):
        tiny_elmo.encode_tokens(["a"], layers="top", standardize=True)


def test_calibration_changes_no_vector_and_no_fingerprint(
    tiny_elmo: Elmo, calibration: Calibration
) -> None:
    elmo = Elmo(replace(tiny_elmo.model, calibration=calibration))
    assert elmo.model.fingerprint() == tiny_elmo.model.fingerprint()
    for one, other in zip(
        elmo.encode_tokens(SENTENCES), tiny_elmo.encode_tokens(SENTENCES), strict=True
    ):
        np.testing.assert_array_equal(one.vectors, other.vectors)


def test_a_folder_keeps_it(folder: Path, calibration: Calibration, tmp_path: Path) -> None:
    found = read_native(folder)
    write_native(found, tmp_path / "again", "float16")
    for path in (folder, tmp_path / "again"):
        kept = read_native(path).calibration
        assert kept is not None
        assert (kept.n_tokens, kept.texts) == (calibration.n_tokens, ("some.txt",))
        for layer, mean in calibration.means.items():
            np.testing.assert_array_equal(kept.means[layer], mean)
            np.testing.assert_array_equal(kept.deviations[layer], calibration.deviations[layer])
    assert (folder / CALIBRATION).stat().st_size < 10_000
    (folder / CALIBRATION).unlink()
    with pytest.raises(FormatError, match=r"calibration\.safetensors is missing"):
        read_native(folder)
    assert read_native(folder, verify=False).calibration is None


def test_a_file_is_the_same_each_time(calibration: Calibration, tmp_path: Path) -> None:
    odd = replace(calibration, texts=('a\x7f\x1f\b\f\n\\"/한 \U0001f600\u2028',))
    contents = set()
    for _ in range(10):
        write_calibration(odd, tmp_path)
        contents.add((tmp_path / CALIBRATION).read_bytes())
    assert len(contents) == 1


def test_a_file_that_is_not_right(folder: Path) -> None:
    path = folder / CALIBRATION
    tensors = load_file(path)
    header = {"format": "elmore-calibration-1", "facts": '{"n_tokens": 5, "texts": []}'}
    zero = tensors | {"0.deviation": np.zeros_like(tensors["0.deviation"])}
    nan = tensors | {"context.mean": np.full_like(tensors["context.mean"], np.nan)}
    whole = {name: array.astype(np.int32) for name, array in tensors.items()}
    for arrays, said, message in (
        (tensors, {}, "format is null; this version reads 'elmore-calibration-1'"),
        (tensors, header | {"format": "elmore-calibration-2"}, "format is 'elmore-calibration-2'"),
        ({"0.mean": tensors["0.mean"]}, header, r"lacks 0\.deviation"),
        (tensors, {"format": header["format"]}, "lacks facts; calibrate the model again"),
        (tensors, header | {"facts": "[]"}, r"holds \[\]; expected an object"),
        (tensors, header | {"facts": "{"}, "is not JSON"),
        (zero, header, r"0\.deviation has numbers that it cannot have"),
        (nan, header, r"context\.mean has numbers that it cannot have"),
        (whole, header, "holds I32; expected floating point"),
    ):
        save_file(arrays, path, said)
        with pytest.raises(FormatError, match=message):
            read_native(folder, verify=False)
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(FormatError, match="cannot be read"):
        read_native(folder, verify=False)


def test_the_same_calibration_gives_the_same_bytes(
    tiny_elmo: Elmo, calibration: Calibration, tmp_path: Path
) -> None:
    model = replace(tiny_elmo.model, calibration=calibration)
    contents = set()
    for number in range(8):  # safetensors writes the header in a random order
        write_native(model, tmp_path / str(number))
        contents.add((tmp_path / str(number) / CALIBRATION).read_bytes())
    assert len(contents) == 1
