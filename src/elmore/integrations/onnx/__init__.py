"""ONNX (`elmore[onnx]`): a model as a file for runtimes in any language."""

from elmore.integrations.onnx.export import export_onnx, to_onnx

__all__ = ["export_onnx", "to_onnx"]
