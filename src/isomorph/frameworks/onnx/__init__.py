"""ONNX: the framework, ONNX Runtime and the oracle."""
