"""Operators of OpenVINO whose inputs or attributes are not those of ONNX."""
