"""Float64 kernels of the operators that ONNX Runtime adds to ONNX."""
