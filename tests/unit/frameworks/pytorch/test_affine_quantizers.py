"""torchao's affine quantizers in float64 against torchao's own in float32."""

import numpy as np
import pytest
import torch

from isomorph.frameworks.pytorch.affine_quantizers import AFFINE, left_integers
from isomorph.oracle.noise import NO_NOISE, Rounding

pytest.importorskip("torchao_networks")
OPS = torch.ops.torchao
X = torch.randn(6, 32, generator=torch.Generator().manual_seed(3))
BLOCKS = [[1, 8], [1, 32], [6, 32], [2, 8]]


def given(packet, **arguments):
    """All arguments of an operator by name, with the defaults of its schema."""
    defaults = {
        each.name: each.default_value
        for each in packet.default._schema.arguments
        if each.has_default_value()
    }
    return {**defaults, **arguments}


def disturbed(seed, *, unit=0.0):
    noise = Rounding(seed, quantizers=True)
    noise.enter("n", unit)
    return noise


def parameters(kind, block, *, wide, low=-8, high=7, **more):
    packet = OPS.choose_qparams_affine
    arguments = dict(mapping_type=kind, block_size=block, target_dtype=torch.int8,
                     quant_min=low, quant_max=high, **more)  # fmt: skip
    if not wide:
        return packet.default(X, **arguments)
    compute = AFFINE["torchao.choose_qparams_affine"]
    return compute(given(packet, input=X.double(), **arguments), NO_NOISE)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("kind", ["SYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR", "ASYMMETRIC"])
@pytest.mark.parametrize("keepdim", [False, True])
def test_parameters(kind, block, keepdim):
    own, expected = (
        parameters(kind, block, wide=wide, keepdim=keepdim, eps=1e-7) for wide in (True, False)
    )
    for one, other in zip(own, expected, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)


def dequantized_ones(block, scale, zero):
    """The scale of every element."""
    ones = torch.ones(X.shape, dtype=torch.int8)
    none = torch.zeros_like(zero)
    return OPS.dequantize_affine(ones, block, scale, none, torch.int8, -8, 7)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("kind", ["SYMMETRIC", "ASYMMETRIC"])
def test_onto_the_grid_and_off_it(kind, block):
    scale, zero = parameters(kind, block, wide=False)
    stated = {
        "block_size": block,
        "scale": scale,
        "zero_point": zero,
        "quant_min": -8,
        "quant_max": 7,
    }
    stored = OPS.quantize_affine(X, block, scale, zero, torch.int8, -8, 7)
    own = AFFINE["torchao.quantize_affine"](
        given(OPS.quantize_affine, input=X.double(), output_dtype=torch.int8,
              **{**stated, "scale": scale.double()}), NO_NOISE,
    )  # fmt: skip
    assert own.dtype == torch.int8
    # The largest number of a symmetric block lies between two integers.
    real = X.reshape(6, -1) / dequantized_ones(block, scale, zero)
    ties = np.abs(np.abs(real.numpy() % 1.0) - 0.5) < 1e-5
    assert np.all((own == stored).numpy() | ties)
    assert np.mean(ties) < 0.2
    for wide in (torch.float32, torch.float64):
        real = AFFINE["torchao.dequantize_affine"](
            given(OPS.dequantize_affine, input=stored, input_dtype=torch.int8,
                  **{**stated, "scale": scale.to(wide)}), NO_NOISE,
        )  # fmt: skip
        expected = OPS.dequantize_affine(stored, block, scale, zero, torch.int8, -8, 7)
        assert real.dtype == wide
        np.testing.assert_allclose(real.numpy(), expected.numpy(), rtol=1e-6)


def test_disturbed_weights_move_by_half_a_step_at_most():
    block = [1, 8]
    scale, zero = parameters("SYMMETRIC", block, wide=False)
    stored = OPS.quantize_affine(X, block, scale, zero, torch.int8, -8, 7)
    arguments = given(
        OPS.dequantize_affine, input=stored, block_size=block, scale=scale.double(),
        zero_point=zero, input_dtype=torch.int8, quant_min=-8, quant_max=7,
    )  # fmt: skip
    compute = AFFINE["torchao.dequantize_affine"]
    calm = compute(arguments, NO_NOISE).numpy()
    moved = np.stack([compute(arguments, disturbed(seed)).numpy() - calm for seed in range(50)])
    steps = np.repeat(scale.numpy().reshape(6, 4), 8, axis=1)
    assert np.all(np.abs(moved) <= 0.51 * steps)
    ratio = np.sqrt(np.mean(moved**2)) / np.sqrt(np.mean(steps**2) / 12)
    assert 0.6 < ratio < 1.05  # blocks that lie on one side of zero need finer steps
    assert np.all(moved[:, calm == 0] == 0)


def test_what_is_quantized_at_run_time_keeps_its_mean():
    scale, zero = parameters("SYMMETRIC", [6, 32], wide=False)
    arguments = given(
        OPS.quantize_affine, input=X.double(), block_size=[6, 32], scale=scale.double(),
        zero_point=zero, output_dtype=torch.int8, quant_min=-8, quant_max=7,
    )  # fmt: skip
    compute = AFFINE["torchao.quantize_affine"]
    drawn = np.stack([compute(arguments, disturbed(seed)).numpy() for seed in range(400)])
    inside = np.abs(X.numpy()) / scale.numpy().ravel()[0] < 6.5
    wanted = X.numpy() / scale.numpy().ravel()[0]
    assert np.max(np.abs(np.mean(drawn, axis=0) - wanted)[inside]) < 0.15


@pytest.mark.parametrize("quantizers", [False, True])
def test_bytes_that_are_cast_to_floats_are_moved_by_a_step(quantizers):
    stored = torch.randint(-127, 128, (16, 16), dtype=torch.int8)
    source = Rounding(1, quantizers=quantizers)
    source.enter("n", 0.0)
    moved = left_integers(stored, stored.double(), source) - stored.double()
    assert (float(moved.abs().max()) > 0.3) == quantizers
    assert float(moved.abs().max()) <= 0.51
    vector = stored[0]
    assert torch.equal(left_integers(vector, vector.double(), source), vector.double())
