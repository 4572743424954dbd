"""Damaged programs end in an error with a code, whatever is wrong with them."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest

from executorch_programs import exported, lowered
from isomorph import registry
from isomorph.core.errors import IsomorphError, UnreadableModelError
from isomorph.core.trace import Environment

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")

TRIALS = 400


@pytest.fixture(scope="module", params=["portable", "xnnpack"])
def data(request):
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Linear(64, 3), torch.nn.Softmax(-1),
    )  # fmt: skip
    program = exported(net, [torch.randn(1, 3, 4, 4)])
    return lowered(program, xnnpack=request.param == "xnnpack")


def load(data):
    return registry.framework("executorch").load(bytes(data), {})


def code_of(data):
    with pytest.raises(UnreadableModelError) as caught:
        load(data)
    return caught.value.code


def test_another_file_is_no_program():
    assert code_of(b"\0" * 64) == "NOT_A_MODEL"


def test_no_bytes_are_an_empty_model():
    assert code_of(b"") == "MODEL_EMPTY"


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_cut_program_is_recognized(data, share):
    assert code_of(data[: int(len(data) * share)]) == "MODEL_TRUNCATED"


@pytest.mark.parametrize("kind", ["header", "random", "zeros"])
def test_an_overwritten_program_is_recognized(data, kind):
    noise = random.Random(3).randbytes(len(data))
    rest = {"header": b"", "random": noise[8:], "zeros": bytes(len(data) - 8)}[kind]
    assert code_of(data[:8] + rest) == "MODEL_TRUNCATED"


def test_changed_bytes_are_an_error_or_another_program(data):
    draw = random.Random(11)
    whole = load(data).digest
    refused = 0
    for _ in range(TRIALS):
        changed = bytearray(data)
        for place in draw.sample(range(len(data)), draw.choice([1, 2, 6])):
            changed[place] ^= draw.randrange(1, 256)
        try:
            model = load(changed)
            environment = Environment(runtime="executorch_oracle")
            registry.runtime("executorch_oracle").open(model, environment)
        except IsomorphError:
            refused += 1
            continue
        assert model.digest != whole
    assert 0 < refused < TRIALS


def test_sizes_beyond_all_memory_are_refused(data):
    model = load(data)
    shape = struct.pack("<4i", *model.graph.inputs[0].shape)
    assert shape in data
    huge = data.replace(shape, struct.pack("<4i", *[2**31 - 1] * 4))
    assert code_of(huge) == "BAD_DIMS"
    negative = data.replace(shape, struct.pack("<4i", 1, -3, 4, 4))
    assert code_of(negative) == "BAD_DIMS"
    # No elements, and yet more than NumPy gives a shape to.
    none = data.replace(shape, struct.pack("<4i", 0, *[2**31 - 1] * 3))
    assert code_of(none) == "BAD_DIMS"


def test_constants_are_those_of_the_module(data):
    model = load(data)
    shapes = sorted(each.shape for each in model.graph.constants.values())
    assert (3, 64) in shapes
    assert all(np.isfinite(model.native.tensors[n].array()).all() for n in model.graph.constants)
