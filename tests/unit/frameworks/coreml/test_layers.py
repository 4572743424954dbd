"""Layers and compressed weights, compared with PyTorch and with what they were packed from."""

import numpy as np
import pytest

from coreml_building import int4, ints, normal, one
from isomorph.core.errors import UnreadableModelError
from isomorph.core.trace import Noise
from isomorph.frameworks.coreml.evaluator import Evaluator
from isomorph.frameworks.coreml.lowering import lowered
from isomorph.frameworks.coreml.package import open_model

torch = pytest.importorskip("torch")
F = torch.nn.functional
RNG = np.random.default_rng(0)
IMAGE = normal(RNG, 1, 4, 7, 6)


def program(tmp_path, data):
    path = tmp_path / "m.mlmodel"
    path.write_bytes(data)
    return open_model(path).program


def evaluated(tmp_path, data, x, noise=None):
    return np.asarray(Evaluator(program(tmp_path, data)).run({"x": x}, ["out"], noise)["out"])


def wide(array):
    return torch.from_numpy(np.asarray(array, np.float64))


def same(found, expected):
    assert found.shape == tuple(expected.shape)
    assert np.allclose(found, expected.numpy())


WINDOW = {
    "strides": ints(2, 1),
    "dilations": ints(1, 1),
    "groups": np.int32(2),
    "pad_type": "custom",
}


def test_a_convolution_pads_each_end_as_stated(tmp_path):
    w, b = normal(RNG, 6, 2, 3, 2), normal(RNG, 6)
    data = one("conv", IMAGE.shape, x="x", weight=w, bias=b, pad=ints(1, 2, 0, 3), **WINDOW)
    padded = F.pad(wide(IMAGE), (0, 3, 1, 2))
    same(evaluated(tmp_path, data, IMAGE), F.conv2d(padded, wide(w), wide(b), (2, 1), groups=2))


@pytest.mark.parametrize(("kind", "after"), [("same", True), ("same_lower", False)])
def test_same_padding_puts_the_odd_row_on_its_side(tmp_path, kind, after):
    w = normal(RNG, 3, 4, 2, 2)
    stated = {**WINDOW, "pad_type": kind, "strides": ints(1, 1), "groups": np.int32(1)}
    data = one("conv", IMAGE.shape, x="x", weight=w, **stated)
    pads = (0, 1, 0, 1) if after else (1, 0, 1, 0)
    same(evaluated(tmp_path, data, IMAGE), F.conv2d(F.pad(wide(IMAGE), pads), wide(w)))


def test_a_transposed_convolution_reaches_the_stated_size(tmp_path):
    w = normal(RNG, 4, 3, 3, 3)
    data = one("conv_transpose", IMAGE.shape, x="x", weight=w, pad_type="custom",
               pad=ints(1, 1, 1, 1), strides=ints(2, 2),
               output_shape=ints(1, 3, 14, 12))  # fmt: skip
    wanted = F.conv_transpose2d(wide(IMAGE), wide(w), stride=2, padding=1, output_padding=1)
    same(evaluated(tmp_path, data, IMAGE), wanted)


@pytest.mark.parametrize("excluded", [True, False])
@pytest.mark.parametrize("ceil", [True, False])
def test_average_pools_count_padding_or_not(tmp_path, excluded, ceil):
    data = one("avg_pool", IMAGE.shape, x="x", kernel_sizes=ints(3, 3), strides=ints(2, 2),
               pad_type="custom", pad=ints(1, 1, 1, 1), ceil_mode=np.bool_(ceil),
               exclude_padding_from_average=np.bool_(excluded))  # fmt: skip
    wanted = F.avg_pool2d(wide(IMAGE), 3, 2, 1, ceil, not excluded)
    same(evaluated(tmp_path, data, IMAGE), wanted)


def test_max_pools(tmp_path):
    data = one("max_pool", IMAGE.shape, x="x", kernel_sizes=ints(3, 3), strides=ints(2, 2),
               pad_type="custom", pad=ints(1, 1, 1, 1), ceil_mode=np.bool_(False))  # fmt: skip
    same(evaluated(tmp_path, data, IMAGE), F.max_pool2d(wide(IMAGE), 3, 2, 1))


@pytest.mark.parametrize("corners", [True, False])
def test_bilinear_upsampling(tmp_path, corners):
    data = one("upsample_bilinear", IMAGE.shape, x="x", scale_factor_height=np.float32(2.0),
               scale_factor_width=np.float32(3.0), align_corners=np.bool_(corners))  # fmt: skip
    wanted = F.interpolate(
        wide(IMAGE), scale_factor=(2.0, 3.0), mode="bilinear", align_corners=corners
    )
    same(evaluated(tmp_path, data, IMAGE), wanted)


def test_factors_decide_the_sizes_and_the_sizes_where_the_points_lie(tmp_path):
    # Core ML Tools writes a little more than 10/7, so that rounding does not lose a row.
    data = one("upsample_bilinear", IMAGE.shape, x="x", align_corners=np.bool_(False),
               scale_factor_height=np.float32(10.0001 / 7),
               scale_factor_width=np.float32(11.0001 / 6))  # fmt: skip
    wanted = F.interpolate(wide(IMAGE), size=(10, 11), mode="bilinear")
    same(evaluated(tmp_path, data, IMAGE), wanted)


def test_a_crop(tmp_path):
    data = one("crop", IMAGE.shape, x="x", crop_height=ints(1, 2), crop_width=ints(0, 3))
    same(evaluated(tmp_path, data, IMAGE), wide(IMAGE)[..., 1:-2, :-3])


def test_nearest_upsampling(tmp_path):
    data = one("upsample_nearest_neighbor", IMAGE.shape, x="x",
               scale_factor_height=np.int32(2), scale_factor_width=np.int32(2))  # fmt: skip
    same(evaluated(tmp_path, data, IMAGE), F.interpolate(wide(IMAGE), scale_factor=2))


def test_pixel_shuffle(tmp_path):
    data = one("pixel_shuffle", IMAGE.shape, x="x", upscale_factor=np.int32(2))
    same(evaluated(tmp_path, data, IMAGE), F.pixel_shuffle(wide(IMAGE), 2))


def test_normalizations_with_and_without_factors(tmp_path):
    g, b = normal(RNG, 4), normal(RNG, 4)
    mean, variance = normal(RNG, 4), np.abs(normal(RNG, 4)) + 0.5
    eps = np.float32(0.125)
    data = one("batch_norm", IMAGE.shape, x="x", mean=mean, variance=variance, epsilon=eps)
    wanted = F.batch_norm(wide(IMAGE), wide(mean), wide(variance), eps=0.125)
    same(evaluated(tmp_path, data, IMAGE), wanted)
    data = one("instance_norm", IMAGE.shape, x="x", gamma=g, beta=b, epsilon=eps)
    wanted = F.instance_norm(wide(IMAGE), weight=wide(g), bias=wide(b), eps=0.125)
    same(evaluated(tmp_path, data, IMAGE), wanted)
    data = one("layer_norm", IMAGE.shape, x="x", axes=ints(-2, -1), epsilon=eps)
    same(evaluated(tmp_path, data, IMAGE), F.layer_norm(wide(IMAGE), (7, 6), eps=0.125))


def test_products(tmp_path):
    x, y = normal(RNG, 2, 5, 3), normal(RNG, 2, 4, 3)
    data = one("matmul", x.shape, x="x", y=y, transpose_x=np.bool_(False),
               transpose_y=np.bool_(True))  # fmt: skip
    same(evaluated(tmp_path, data, x), wide(x) @ wide(y).mT)
    w, b = normal(RNG, 4, 3), normal(RNG, 4)
    data = one("linear", x.shape, x="x", weight=w, bias=b)
    same(evaluated(tmp_path, data, x), F.linear(wide(x), wide(w), wide(b)))


def test_attention_adds_its_mask(tmp_path):
    x, mask = normal(RNG, 1, 2, 5, 3), normal(RNG, 5, 5)
    data = one("scaled_dot_product_attention", x.shape, query="x", key="x", value="x",
               attn_mask=mask)  # fmt: skip
    q = wide(x)
    same(evaluated(tmp_path, data, x), F.scaled_dot_product_attention(q, q, q, wide(mask)))


@pytest.mark.parametrize("kind", ["lstm", "gru"])
@pytest.mark.parametrize("both", [True, False])
def test_recurrent_layers_have_the_gates_of_pytorch_in_another_order(tmp_path, kind, both):
    if kind == "gru" and both:
        pytest.skip("MIL's GRU has one direction")
    torch.manual_seed(0)
    x, size = normal(RNG, 5, 2, 3), 4
    layer = getattr(torch.nn, kind.upper())(3, size, bidirectional=both)
    if kind == "gru":  # MIL has one bias, which the reset gate does not multiply
        torch.nn.init.zeros_(layer.bias_hh_l0)
    order = {"lstm": (0, 1, 3, 2), "gru": (0, 2, 1)}[kind]

    def gates(name):
        parts = np.split(getattr(layer, name).detach().numpy(), len(order))
        return np.concatenate([parts[each] for each in order])

    stated = {}
    for suffix in ("", "_reverse") if both else ("",):
        back = "_back" if suffix else ""
        stated[f"weight_ih{back}"] = gates(f"weight_ih_l0{suffix}")
        stated[f"weight_hh{back}"] = gates(f"weight_hh_l0{suffix}")
        stated[f"bias{back}"] = gates(f"bias_ih_l0{suffix}") + gates(f"bias_hh_l0{suffix}")
    start = np.zeros((2, size * (1 + both)), np.float32)
    stated["initial_h"] = start
    if kind == "lstm":
        stated["initial_c"] = start
    data = one(kind, x.shape, x="x", output_sequence=np.bool_(True),
               direction="bidirectional" if both else "forward", **stated)  # fmt: skip
    wanted, _ = layer.double()(wide(x))
    found = evaluated(tmp_path, data, x)
    assert np.allclose(found, wanted.detach().numpy(), atol=1e-7)


def added(kind, shape, /, **attributes):
    """x plus a compressed weight of this shape, by an operation without inputs."""
    from coreml_building import Block, specification, value

    block = Block()
    stated = {key: value(each) for key, each in attributes.items()}
    block.op(kind, "w", "float32", shape, attributes=stated)
    block.op("add", "out", "float32", shape, x="x", y="w")
    return specification(block, [("x", "float32", shape)], ["out"])


ZERO = np.zeros((4, 6), np.float32)


def test_affine_weights(tmp_path):
    q = RNG.integers(-128, 128, (4, 6)).astype(np.int8)
    scale = np.abs(normal(RNG, 4)) + 0.1
    zero = np.int8([1, 2, -3, 0])
    data = added("constexpr_affine_dequantize", (4, 6), quantized_data=q, scale=scale,
                 zero_point=zero, axis=np.int32(0))  # fmt: skip
    wanted = (q.astype(np.float64) - zero[:, None]) * scale[:, None]
    assert np.allclose(evaluated(tmp_path, data, ZERO), wanted)


@pytest.mark.parametrize(
    "blocks", [(4, 1), (1, 6), (4, 2), (1, 3), (1, 1)], ids=lambda each: "x".join(map(str, each))
)
def test_weights_in_blocks(tmp_path, blocks):
    q = int4(*RNG.integers(-8, 8, 24)).reshape(4, 6)
    scale = (np.abs(normal(RNG, *blocks)) + 0.1).astype(np.float32)
    data = one("constexpr_blockwise_shift_scale", (4, 6), data=q, scale=scale)
    wanted = q.astype(np.float64) * np.repeat(
        np.repeat(scale, 4 // blocks[0], 0), 6 // blocks[1], 1
    )
    assert np.allclose(evaluated(tmp_path, data, ZERO), wanted)


@pytest.mark.parametrize("bits", [1, 2, 4, 6, 8])
def test_palettes_of_any_width(tmp_path, bits):
    lut, indices = normal(RNG, 2**bits), RNG.integers(0, 2**bits, 24)
    fields = np.unpackbits(indices.astype(np.uint8)[:, None], axis=1, bitorder="little")[:, :bits]
    packed = np.packbits(fields.reshape(-1), bitorder="little")
    data = added("constexpr_lut_to_dense", (4, 6), indices=packed, lut=lut,
                 shape=np.uint32([4, 6]))  # fmt: skip
    found = evaluated(tmp_path, data, ZERO)
    assert np.array_equal(found, lut[indices].reshape(4, 6).astype(np.float64))


def test_palettes_for_groups_of_rows(tmp_path):
    lut = normal(RNG, 2, 1, 4, 1)
    indices = RNG.integers(0, 4, (4, 6)).astype(np.uint8)
    data = one("constexpr_lut_to_dense", (4, 6), indices=indices, lut=lut)
    wanted = np.stack([lut[row // 2, 0, indices[row], 0] for row in range(4)])
    assert np.array_equal(evaluated(tmp_path, data, ZERO), wanted.astype(np.float64))


def test_under_disturbed_quantizers_a_number_stays_in_the_cell_of_its_palette(tmp_path):
    lut = np.float32([-1.0, 0.0, 0.25, 2.0])
    indices = RNG.integers(0, 4, (4, 6)).astype(np.uint8)
    packed = np.packbits(
        np.unpackbits(indices.reshape(-1, 1), axis=1, bitorder="little")[:, :2].reshape(-1),
        bitorder="little",
    )
    data = added("constexpr_lut_to_dense", (4, 6), indices=packed, lut=lut,
                 shape=np.uint32([4, 6]))  # fmt: skip
    moved = evaluated(tmp_path, data, ZERO, Noise(seed=1, quantizers=True))
    low, high = np.array([-1.5, -0.5, 0.125, 1.125]), np.array([-0.5, 0.125, 1.125, 2.875])
    assert np.all((low[indices] <= moved) & (moved <= high[indices]))
    assert np.unique(moved).size == 24


def test_sparse_weights(tmp_path):
    dense = np.where(RNG.random((4, 6)) < 0.4, normal(RNG, 4, 6), np.float32(0))
    kept = dense != 0
    data = added("constexpr_sparse_to_dense", (4, 6), nonzero_data=dense[kept],
                 mask=np.packbits(kept.reshape(-1), bitorder="little"),
                 shape=np.uint32([4, 6]))  # fmt: skip
    assert np.array_equal(evaluated(tmp_path, data, ZERO), dense.astype(np.float64))


@pytest.mark.parametrize(
    ("kind", "attributes", "reason"),
    [
        ("constexpr_lut_to_dense",
         {"indices": np.zeros(5, np.uint8), "lut": np.zeros(4, np.float32),
          "shape": np.uint32([4, 6])},
         "5 bytes of indices"),
        ("constexpr_lut_to_dense",
         {"indices": np.zeros(6, np.uint8), "lut": np.zeros(3, np.float32),
          "shape": np.uint32([4, 6])},
         "a palette of 3"),
        ("constexpr_sparse_to_dense",
         {"nonzero_data": np.zeros(2, np.float32), "mask": np.zeros(3, np.uint8),
              "shape": np.uint32([4, 6])}, "2 numbers for 0 places"),
        ("constexpr_sparse_to_dense",
         {"nonzero_data": np.zeros(2, np.float32), "mask": np.zeros(30, np.uint8),
              "shape": np.uint32([4, 6])}, "30 bytes of a mask"),
    ],
)  # fmt: skip
def test_weights_that_do_not_fit_are_refused_by_name(tmp_path, kind, attributes, reason):
    made = program(tmp_path, added(kind, (4, 6), **attributes))
    assert reason in lowered(made).nodes[0].missing
    with pytest.raises(UnreadableModelError, match=kind):
        Evaluator(made)
