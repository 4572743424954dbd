"""OpenVINO: a runtime of ONNX models and exported PyTorch programs."""
