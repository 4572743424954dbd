"""Specifications: every kind of value, and bytes that contradict themselves."""

from contextlib import suppress

import numpy as np
import pytest

from coreml_building import (
    Block,
    int4,
    message,
    named,
    number,
    small,
    specification,
    tensor_type,
    value,
)
from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.coreml.parse import parse


def stored(held):
    """What the parser makes of one value."""
    block = Block()
    block.op("const", "c", "float32", (), attributes={"val": held})
    data = specification(block, [], ["c"])
    (operation,) = parse(data, file="m").functions["main"].block.operations
    return operation.attributes["val"].data


@pytest.mark.parametrize(
    "array",
    [
        np.asarray([1.5, -2.0], np.float32),
        np.asarray([[1, -2], [3, 4]], np.int32),
        np.asarray([True, False, True]),
        np.asarray([1.5, -0.25], np.float16),
        np.asarray([250, 3], np.uint8),
        np.asarray([-5, 3], np.int8),
        np.asarray([1, 500], np.uint32),
        int4(-8, 7, 3),
        np.float32(0.5),
    ],
    ids=lambda each: str(np.asarray(each).dtype),
)
def test_a_value_is_read_as_it_was_written(array):
    found = stored(value(array))
    assert found.dtype == np.asarray(array).dtype
    assert found.shape == np.asarray(array).shape
    assert np.array_equal(found.astype(np.float64), np.asarray(array).astype(np.float64))


def test_a_word_is_text():
    assert stored(value("custom")) == "custom"


def test_numbers_that_are_not_packed_are_read_alike():
    held = message(2, tensor_type("int32", (2,)))
    held += message(3, message(1, message(2, number(1, 7), number(1, -9))))
    assert stored(held).tolist() == [7, -9]


@pytest.mark.parametrize(
    "held",
    [
        b"",
        message(2, tensor_type("float32", (2,))),
        message(2, tensor_type("float32", (3,)))
        + message(3, message(1, message(1, message(1, bytes(4))))),
        message(2, tensor_type("uint8", (3,)))
        + message(3, message(1, message(7, message(1, bytes(2))))),
        message(2, tensor_type("float32", (1 << 40,)))
        + message(3, message(1, message(1, message(1, bytes(4))))),
        message(2, tensor_type("float32", (None,)))
        + message(3, message(1, message(1, message(1, bytes(4))))),
        message(2, message(1, number(1, 99))) + message(3, b""),
    ],
    ids=["no type", "no numbers", "too few", "too few bytes", "huge", "no size", "no such type"],
)
def test_a_value_that_contradicts_itself_is_refused(held):
    with pytest.raises(UnreadableModelError) as caught:
        stored(held)
    assert caught.value.code == "INVALID_GRAPH"


def test_blocks_nested_too_deep_are_refused():
    inner = Block().data(["y"])
    for _ in range(40):
        block = Block()
        block.op("cond", "y", pred="p", blocks=[inner])
        inner = block.data(["y"])
    block = Block()
    block.op("cond", "y", pred="p", blocks=[inner])
    with pytest.raises(UnreadableModelError, match="contradicts itself"):
        parse(specification(block, [], ["y"]), file="m")


def test_every_cut_of_a_specification_is_an_error_or_another_model():
    data = small()
    codes = set()
    for size in range(1, len(data), 37):
        try:
            parse(data[:size], file="m")
        except UnreadableModelError as error:
            codes.add(error.code)
    assert codes <= {"MODEL_TRUNCATED", "INVALID_GRAPH"}
    assert "MODEL_TRUNCATED" in codes


def test_changed_bytes_never_raise_anything_else():
    data = bytearray(small())
    random = np.random.default_rng(0)
    for _ in range(300):
        changed = bytearray(data)
        for place in random.integers(0, len(data), 4):
            changed[place] = random.integers(0, 256)
        with suppress(UnreadableModelError):
            parse(bytes(changed), file="m")


def test_open_sizes_and_other_kinds_are_described():
    block = Block()
    block.op("relu", "y", "float32", (None, 3), x="x")
    data = specification(block, [("x", "float32", (None, 3))], ["y"])
    function = parse(data, file="m").functions["main"]
    assert function.inputs[0][1].shape == (None, 3)
    text = message(1, "s") + message(2, message(5, message(1, tensor_type("float32", (1,)))))
    assert named("x", "float32", (1,)) != text
