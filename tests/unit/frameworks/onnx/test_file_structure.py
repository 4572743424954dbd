"""The wire format alone decides what could be a model and why one cannot be parsed."""

import onnx
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from isomorph.frameworks.onnx.file_structure import anatomy, looks_like_model

MODEL = onnx.parser.parse_model(
    '<ir_version: 9, opset_import: ["" : 17], producer_name: "test">'
    "g (float[2] x) => (float[2] y) { y = Relu(x) }"
).SerializeToString()


def delimited(number, payload):
    """One length-delimited protobuf field."""

    def varint(value):
        out = b""
        while value > 0x7F:
            out += bytes([value & 0x7F | 0x80])
            value >>= 7
        return out + bytes([value])

    return varint(number << 3 | 2) + varint(len(payload)) + payload


def nested_graphs(depth):
    graph = b""
    for _ in range(depth - 1):
        graph = delimited(1, delimited(5, delimited(6, graph)))
    return b"\x08\x09" + delimited(7, graph)


@pytest.mark.parametrize("length", [len(MODEL), len(MODEL) * 2 // 3, 30])
def test_a_model_and_its_beginning_look_like_one(length):
    assert looks_like_model(MODEL[:length])


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"<!DOCTYPE html><html><body>404</body></html>",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        b"PK\x03\x04" + bytes(60),
        b"\x80\x02}q\x00.",
        b"\x1c\x00\x00\x00TFL3" + bytes(60),
        b"\x89HDF\r\n\x1a\n" + bytes(60),
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f4'}",
        b'{"model": 1}',
        # A TensorFlow SavedModel: field 1 is a version too, field 2 a whole graph.
        b"\x08\x01" + delimited(2, b"\x0a\xff\xfe\x00" + bytes(9000)),
    ],
)
def test_other_formats_do_not(head):
    assert not looks_like_model(head)


def test_depth_is_counted_however_deep():
    assert anatomy(nested_graphs(1)).depth == 1
    found = anatomy(nested_graphs(5000))
    assert (found.depth, found.broken_at) == (5000, None)


@given(st.integers(min_value=1, max_value=len(MODEL) - 1))
def test_a_cut_is_noticed_exactly_where_the_parser_notices_it(length):
    broken = anatomy(MODEL[:length]).broken_at
    try:
        onnx.ModelProto.FromString(MODEL[:length])
    except DecodeError:
        assert broken is not None
        assert broken <= length
    else:
        assert broken is None


@given(st.binary(max_size=300))
def test_any_bytes_are_survived(data):
    looks_like_model(data)
    anatomy(data)
