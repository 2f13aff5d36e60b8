"""Files to models and back: our own folder, and those of bilm-tf, AllenNLP, ELMoForManyLangs."""

from elmore.formats.bilm_tf import (
    read_bilm_tf,
    read_bilm_tf_folder,
    read_word_vectors,
    write_bilm_tf,
    write_word_vectors,
)
from elmore.formats.calibration import Calibration, measure_calibration, write_calibration
from elmore.formats.hdf5 import NewHdf5
from elmore.formats.many_langs import read_many_langs
from elmore.formats.native import read_native, verify_native, write_native
from elmore.formats.pretrained import Pretrained
from elmore.formats.resolve import (
    bundled_models,
    model_folder,
    read_pretrained,
    unchecked_weights,
)

__all__ = [
    "Calibration",
    "NewHdf5",
    "Pretrained",
    "bundled_models",
    "measure_calibration",
    "model_folder",
    "read_bilm_tf",
    "read_bilm_tf_folder",
    "read_many_langs",
    "read_native",
    "read_pretrained",
    "read_word_vectors",
    "unchecked_weights",
    "verify_native",
    "write_bilm_tf",
    "write_calibration",
    "write_native",
    "write_word_vectors",
]
