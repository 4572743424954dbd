"""Convolutions of the oracle are torch's, up to the order of their sums."""

import numpy as np
import pytest
import torch

from isomorph.frameworks.pytorch.convolution import convolved
from isomorph.frameworks.pytorch.operand_devices import call_on_one_device
from isomorph.frameworks.pytorch.program import Step

ATEN = torch.ops.aten
IMAGE, WEIGHT = (2, 4, 9, 8), (6, 4, 3, 2)
CASES = {
    "plain": (ATEN.conv2d.default, IMAGE, WEIGHT, {}),
    "one stride for both axes": (ATEN.conv2d.default, IMAGE, WEIGHT, {"stride": [2]}),
    "strides and padding": (
        ATEN.conv2d.default, IMAGE, WEIGHT, {"stride": [2, 3], "padding": [1, 2]},
    ),
    "dilation": (ATEN.conv2d.default, IMAGE, WEIGHT, {"dilation": [2, 3], "padding": [3, 0]}),
    "groups": (ATEN.conv2d.default, IMAGE, (6, 2, 3, 2), {"groups": 2}),
    "depthwise": (ATEN.conv2d.default, IMAGE, (8, 1, 3, 3), {"groups": 4, "padding": [1, 1]}),
    "pointwise": (ATEN.conv2d.default, IMAGE, (5, 4, 1, 1), {"stride": [2, 2]}),
    "a series": (ATEN.conv1d.default, (2, 4, 11), (3, 4, 5), {"padding": [2], "dilation": [2]}),
    "a volume": (ATEN.conv3d.default, (1, 2, 5, 6, 7), (3, 2, 2, 3, 2), {"stride": [1, 2, 1]}),
}  # fmt: skip


def step_of(target, named):
    return Step(name="c", target=target, args=(), kwargs=named, outputs=("c",))


def numbers(*shape):
    return torch.from_numpy(np.random.default_rng(sum(shape)).standard_normal(shape))


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_convolution_is_what_torch_computes(case, biased):
    target, image, weight, named = case
    arguments = [numbers(*image), numbers(*weight), numbers(weight[0]) if biased else None]
    found = convolved(step_of(target, named), arguments, named)
    expected = target(*arguments, **named)
    assert found is not None
    assert found.shape == expected.shape
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13)


def test_operands_that_are_transposed_or_need_a_gradient_are_read_as_they_are():
    image = numbers(2, 8, 9, 4).permute(0, 3, 2, 1).requires_grad_()
    weight = numbers(2, 3, 4, 6).permute(3, 2, 1, 0).requires_grad_()
    found = convolved(step_of(ATEN.conv2d.default, {}), [image, weight], {})
    expected = ATEN.conv2d.default(image, weight).detach()
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize(
    ("target", "arguments", "named"),
    [
        (ATEN.conv2d.default, [numbers(*IMAGE).float(), numbers(*WEIGHT).float()], {}),
        (ATEN.conv2d.default, [numbers(*IMAGE[1:]), numbers(*WEIGHT)], {}),
        (ATEN.conv2d.padding, [numbers(*IMAGE), numbers(*WEIGHT)], {"padding": "same"}),
        (ATEN.bmm.default, [numbers(2, 3, 4), numbers(2, 4, 5)], {}),
    ],
    ids=["float32", "an image without a batch", "padding as a word", "another operator"],
)
def test_whatever_else_is_left_to_torch(target, arguments, named):
    step = step_of(target, named)
    assert convolved(step, arguments, named) is None
    found = call_on_one_device(step, list(arguments), dict(named))
    assert torch.equal(found, target(*arguments, **named))


def test_a_convolution_that_torch_refuses_is_refused():
    step = step_of(ATEN.conv2d.default, {})
    arguments = [numbers(1, 4, 2, 2), numbers(6, 4, 3, 3)]
    assert convolved(step, arguments, {}) is None
    with pytest.raises(Exception, match="could not compute"):
        call_on_one_device(step, arguments, {})
