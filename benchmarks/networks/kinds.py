"""The kinds of pass over each family of networks, and the plain inference that is their unit."""

from __future__ import annotations

from dataclasses import dataclass

from networks.all_networks import TORCH


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of pass: a word that ``step.py`` knows, over one of the two files."""

    step: str
    title: str
    side: str = "candidate"
    slow: bool = False


_ONNX = (
    Kind(step="capture", title="capture every tensor, ONNX Runtime"),
    Kind(step="torch", title="PyTorch float32", side="reference"),
    Kind(step="onnx_oracle", title="ONNX oracle"),
    Kind(step="onnx_oracle_all", title="ONNX oracle, every tensor"),
    Kind(step="onnx_oracle_noisy", title="ONNX oracle with noise"),
    Kind(step="pytorch_oracle", title="PyTorch oracle", side="reference"),
    Kind(step="pytorch_oracle_noisy", title="PyTorch oracle with noise", side="reference"),
)
_REFERENCE_EVALUATOR = Kind(step="reference_evaluator", title="onnx.reference (float32)", slow=True)
_TENSORFLOW = (
    Kind(step="tensorflow_capture", title="capture every tensor, TensorFlow", side="reference"),
    Kind(step="tensorflow_oracle", title="TensorFlow oracle", side="reference"),
    Kind(step="tensorflow_oracle_noisy", title="TensorFlow oracle with noise", side="reference"),
)
_TFLITE = (
    Kind(step="tflite_capture", title="capture every tensor, LiteRT"),
    Kind(step="tflite_oracle", title="TFLite oracle"),
    Kind(step="tflite_oracle_all", title="TFLite oracle, every tensor"),
    Kind(step="tflite_oracle_noisy", title="TFLite oracle with noise"),
)
_PLAIN_TENSORFLOW = Kind(
    step="plain_tensorflow", title="plain TensorFlow inference", side="reference"
)
_PLAIN_TFLITE = Kind(step="plain_tflite", title="plain LiteRT inference")


def plain_of(network: str) -> Kind:
    """The unit: a float Keras network as TensorFlow runs it, a quantized one as LiteRT does."""
    if network in TORCH:
        return Kind(step="plain", title="plain ONNX Runtime inference")
    return _PLAIN_TFLITE if network == "int8_cnn" else _PLAIN_TENSORFLOW


def kinds_of(network: str) -> tuple[Kind, ...]:
    """Every kind of pass that is measured over a network."""
    if network in TORCH:
        return (*_ONNX, _REFERENCE_EVALUATOR) if network == "resnet50" else _ONNX
    if network == "int8_cnn":
        return (_PLAIN_TENSORFLOW, *_TFLITE)
    return (*_TENSORFLOW, _PLAIN_TFLITE, *_TFLITE)
