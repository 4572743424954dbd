"""What is known of an operator at a version, whatever number a file states as one."""

from isomorph.frameworks.onnx.schemas import is_known, schema


def test_a_version_beyond_32_bits_is_unknown():
    assert is_known("", "Add", 18)
    assert schema("", "Add", 1 << 40) is None
