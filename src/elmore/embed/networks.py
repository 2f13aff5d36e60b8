"""A model in, what runs it out: the kernels on a CPU, or the textbook network in PyTorch."""

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from elmore.checks import one_of
from elmore.engine.network import Network
from elmore.engine.precision import PrecisionName, resolve_precision
from elmore.engine.reader import Runs
from elmore.errors import ConfigError, DataError
from elmore.extras import import_torch
from elmore.formats import Pretrained
from elmore.formats.arrays import not_finite

if TYPE_CHECKING:
    from elmore.model.bilm import BiLM

EngineName = Literal["auto", "fast", "textbook"]


def network_of(
    model: Pretrained, engine: EngineName, precision: PrecisionName, device: str
) -> Runs:
    """Return what runs a model; on another device than a CPU that is the textbook network."""
    one_of(EngineName, engine=engine)
    if engine == "fast" and device != "cpu":
        raise ConfigError(f"the fast engine runs on a CPU, and the device is {device}")
    if engine != "textbook" and device == "cpu":
        return Network(model.config, model.arrays, resolve_precision(precision))
    one_of(PrecisionName, precision=precision)
    if precision == "bfloat16":
        raise ConfigError(f"precision is {precision}; the textbook engine has float32 only")
    import_torch("the textbook engine" if device == "cpu" else f"the device {device}")
    from elmore.model.textbook import TextbookNetwork  # noqa: PLC0415  torch is optional

    try:
        return TextbookNetwork(torch_bilm(model).to(device))
    except (AssertionError, RuntimeError) as error:  # torch has both for a device that is not
        raise ConfigError(f"the model cannot be put on {device}: {error}") from None


def torch_bilm(model: Pretrained) -> "BiLM":
    """Return the network of a model in PyTorch, frozen."""
    import_torch("the network in PyTorch")
    from elmore.model.bilm import BiLM  # noqa: PLC0415  torch is optional

    return BiLM.from_arrays(model.config, model.arrays)


def with_weights_of(model: Pretrained, bilm: "BiLM") -> Pretrained:
    """Return a model with the weights of a network in PyTorch, and so without its calibration."""
    import_torch("the network in PyTorch")
    from elmore.model.bilm import BiLM  # noqa: PLC0415  torch is optional

    if not isinstance(bilm, BiLM):
        raise ConfigError(
            f"the network is of type {type(bilm).__name__}; expected a BiLM, such as the .bilm of "
            "an Elmo or of an ElmoLayer"
        )
    if bilm.config != model.config:
        raise ConfigError(
            "the network is of another shape than the model; give one that was made from it (.bilm)"
        )
    arrays = {name: array.copy() for name, array in bilm.arrays.items()}
    for name in not_finite(arrays):  # of which the kernels' bounds would make numbers
        raise DataError(f"the weight {name} of the network is not finite; its training diverged")
    return replace(model, arrays=arrays, calibration=None)
