"""Nodes and constants in, an ONNX graph out; each has a name of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    import onnx


@dataclass
class Nodes:
    """Collects nodes; its methods return the names of what they made."""

    counts: dict[str, int] = field(default_factory=dict)
    """How often each kind of name was used; shared with the bodies of loops."""
    nodes: list["onnx.NodeProto"] = field(default_factory=list)
    constants: list["onnx.TensorProto"] = field(default_factory=list)

    def body(self) -> "Nodes":
        """Return the graph of a loop's body, whose constants are this graph's."""
        return Nodes(self.counts, constants=self.constants)

    def name(self, kind: str) -> str:
        """Return a name that is used nowhere else."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return f"{kind}.{self.counts[kind]}"

    def op(self, kind: str, *inputs: str, out: str | None = None, **attributes: Any) -> str:
        """Add a node with one output."""
        name = out or self.name(kind)
        self.ops(kind, *inputs, outs=[name], **attributes)
        return name

    def ops(self, kind: str, *inputs: str, outs: Sequence[str], **attributes: Any) -> None:
        """Add a node with several outputs."""
        from onnx import helper  # noqa: PLC0415  an extra

        self.nodes.append(helper.make_node(kind, inputs, outs, self.name("node"), **attributes))

    def constant(self, name: str, values: npt.NDArray[Any]) -> str:
        """Add a tensor that does not change."""
        from onnx import numpy_helper  # noqa: PLC0415  an extra

        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def weight(self, name: str, values: Tensor) -> str:
        """Add weights of the network."""
        return self.constant(name, values.detach().to("cpu", torch.float32).contiguous().numpy())

    def ints(self, *values: int) -> str:
        """Add a vector of whole numbers, such as axes."""
        return self.constant(self.name("ints"), np.array(values, np.int64))

    def number(self, value: float) -> str:
        """Add a scalar."""
        dtype = np.int64 if isinstance(value, int) else np.float32
        return self.constant(self.name("number"), np.array(value, dtype))

    def affine(self, x: str, at: str, linear: nn.Linear) -> str:
        """Add a linear layer."""
        product = self.op("MatMul", x, self.weight(f"{at}.weight", linear.weight.T))
        return self.op("Add", product, self.weight(f"{at}.bias", linear.bias))

    def unsqueeze(self, x: str, *axes: int) -> str:
        """Add dimensions of size 1."""
        return self.op("Unsqueeze", x, self.ints(*axes))


def value_info(
    name: str, shape: Sequence[int | str] | None, dtype: type[np.generic] = np.float32
) -> "onnx.ValueInfoProto":
    """Describe an input or an output of a graph."""
    from onnx import helper  # noqa: PLC0415  an extra

    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return helper.make_tensor_value_info(name, kind, shape)
