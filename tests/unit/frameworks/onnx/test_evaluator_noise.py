"""Noise of the size of the arithmetic's own rounding, and of nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph.core.trace import Noise
from isomorph.frameworks.onnx.evaluator import Evaluator
from isomorph.oracle import stored_matrix, weights
from isomorph.oracle.stored_matrix import StoredMatrix

FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16
U32, U16 = 2.0**-24, 2.0**-11
DRAWS = 60


def opened(nodes, constants=None, kind=FLOAT, outputs=("y",)):
    stored = [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, None)],
        [helper.make_tensor_value_info(name, kind, None) for name in outputs],
        stored,
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    return Evaluator(helper.make_model(graph, opset_imports=opsets))


def spread(evaluator, x, fetch="y", **noise):
    center = evaluator.run({"x": x}, [fetch])[fetch]
    drawn = [
        evaluator.run({"x": x}, [fetch], Noise(seed=seed, **noise))[fetch] for seed in range(DRAWS)
    ]
    return np.sqrt(np.mean((np.array(drawn) - center) ** 2, axis=0)), center


X = np.random.default_rng(0).standard_normal((4, 50)).astype(np.float32)


def test_a_sum_of_products_spreads_by_the_sizes_of_its_terms():
    w = np.random.default_rng(1).standard_normal((50, 8)).astype(np.float32)
    evaluator = opened([helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": w})
    deviation, y = spread(evaluator, X, rounding=True)
    sizes = np.abs(X).astype(np.float64) @ np.abs(w)
    expected = U32 * np.hypot(sizes, np.sqrt(50) * np.abs(y))
    assert np.median(deviation / expected) == pytest.approx(1.0, abs=0.1)


def test_a_sigmoid_is_rounded_at_one_however_small_it_is():
    evaluator = opened([helper.make_node("Sigmoid", ["x"], ["y"])])
    deviation, y = spread(evaluator, np.full((500,), -17.0, np.float32), rounding=True)
    assert y[0] < 1e-7
    assert np.median(deviation) == pytest.approx(U32, rel=0.15)


def test_what_is_stored_in_half_spreads_by_its_storage():
    evaluator = opened([helper.make_node("Mul", ["x", "x"], ["y"])], kind=HALF)
    x = np.full(400, 1.3, np.float16)
    deviation, y = spread(evaluator, x, rounding=True)
    assert np.median(deviation / y) == pytest.approx(U16 / np.sqrt(3), rel=0.1)


@pytest.mark.parametrize("op", ["Relu", "Neg", "Identity", "Floor"])
def test_what_moves_data_does_not_round(op):
    evaluator = opened([helper.make_node(op, ["x"], ["y"])])
    deviation, _ = spread(evaluator, X, rounding=True)
    assert not deviation.any()


def test_noise_depends_on_seed_and_node_alone():
    nodes = [
        helper.make_node("Exp", ["x"], ["a"]),
        helper.make_node("Mul", ["a", "a"], ["b"]),
        helper.make_node("Tanh", ["x"], ["c"]),
        helper.make_node("Add", ["b", "c"], ["y"]),
    ]
    evaluator = opened(nodes)
    noise = Noise(seed=3, rounding=True)
    alone = evaluator.run({"x": X}, ["y"], noise)["y"]
    among = evaluator.run({"x": X}, ["a", "c", "b", "y"], noise)
    assert np.array_equal(alone, among["y"])
    assert not np.array_equal(
        alone, evaluator.run({"x": X}, ["y"], Noise(seed=4, rounding=True))["y"]
    )
    # Fed with what it was, a node is disturbed as it was within the whole.
    cut = evaluator.run({"b": among["b"], "c": among["c"]}, ["y"], noise)["y"]
    assert np.array_equal(cut, alone)


def test_magnitudes_kept_between_draws_belong_to_the_values_fed():
    w = np.ones((50, 1), np.float32)
    evaluator = opened([helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": w})
    small, _ = spread(evaluator, X, rounding=True)
    large, _ = spread(evaluator, X * np.float32(1024), rounding=True)
    assert np.allclose(large, small * 1024, rtol=1e-6)


def test_named_constants_are_disturbed_by_one_rounding_of_their_type():
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["a"]),
        helper.make_node("Add", ["a", "v"], ["y"]),
    ]
    w, v = np.float32([3.3]), np.float32([5.7])
    evaluator = opened(nodes, {"w": w, "v": v})
    ones = np.ones(1, np.float32)
    deviation, _ = spread(evaluator, ones, constants=("w",))
    assert deviation[0] == pytest.approx(3.3 * U32, rel=0.4)
    none, _ = spread(evaluator, ones, constants=())
    assert not none.any()
    fetched, _ = spread(evaluator, ones, fetch="w", constants=("w",))
    assert fetched[0] == pytest.approx(deviation[0], rel=1e-6)


def test_a_disturbed_constant_is_felt_behind_a_subgraph_of_constants():
    nodes = [
        helper.make_node("Mul", ["w", "w"], ["square"]),
        helper.make_node("Mul", ["x", "square"], ["y"]),
    ]
    evaluator = opened(nodes, {"w": np.float32([3.3])})
    deviation, y = spread(evaluator, np.ones(1, np.float32), constants=("w",))
    assert y[0] == pytest.approx(10.89, rel=1e-6)
    assert deviation[0] == pytest.approx(2 * 10.89 * U32, rel=0.4)


@pytest.mark.parametrize("as_node", [False, True])
def test_a_constant_of_a_body_is_disturbed_alike_in_every_round(as_node):
    weight = numpy_helper.from_array(np.float16([3.3]), "w")
    body = helper.make_graph(
        [
            *([helper.make_node("Constant", [], ["w"], value=weight)] if as_node else []),
            helper.make_node("Cast", ["w"], ["wide"], to=FLOAT),
            helper.make_node("Add", ["total", "wide"], ["more"]),
            helper.make_node("Identity", ["going"], ["on"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("round", TensorProto.INT64, []),
            helper.make_tensor_value_info("going", TensorProto.BOOL, []),
            helper.make_tensor_value_info("total", FLOAT, [1]),
        ],
        [
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("more", FLOAT, [1]),
        ],
        [] if as_node else [weight],
    )
    loop = helper.make_node("Loop", ["four", "", "x"], ["y"], body=body)
    evaluator = opened([loop], {"four": np.int64(4)})
    deviation, y = spread(evaluator, np.zeros(1, np.float32), constants=("w",))
    assert y[0] == 4 * np.float64(np.float16(3.3))
    assert deviation[0] == pytest.approx(4 * 3.3 * U16, rel=0.4), "independent draws would halve it"
    none, _ = spread(evaluator, np.zeros(1, np.float32), constants=())
    assert not none.any()


def test_the_square_of_a_negative_number_stays_a_number():
    nodes = [helper.make_node("Pow", ["x", "two"], ["y"])]
    evaluator = opened(nodes, {"two": np.float32(2.0)})
    deviation, y = spread(evaluator, np.float32([-3.0]), constants=("two",))
    assert (y[0], deviation[0]) == (9.0, 0.0)


def test_rounding_among_constants_spreads_about_the_declared_value():
    third = np.full(300, 1 / 3, np.float32)
    nodes = [
        helper.make_node("Mul", ["w", "w"], ["square"]),
        helper.make_node("Mul", ["x", "square"], ["y"]),
    ]
    evaluator = opened(nodes, {"w": third})
    deviation, square = spread(evaluator, np.ones(300, np.float32), fetch="square", rounding=True)
    assert square[0] == np.float64(third[0] * third[0])
    # One product is rounded correctly everywhere: its noise stays within the neighbors.
    assert U32 / 3 < np.median(deviation / square) < 1.15 * U32


def test_noise_does_not_make_a_constant_jump():
    nodes = [
        helper.make_node("Mul", ["ten", "scale"], ["length"]),
        helper.make_node("Floor", ["length"], ["whole"]),
        helper.make_node("Mul", ["x", "whole"], ["y"]),
    ]
    evaluator = opened(nodes, {"ten": np.float32([10.0]), "scale": np.float32([0.7])})
    deviation, whole = spread(evaluator, np.ones(1, np.float32), fetch="whole", rounding=True)
    assert whole[0] == 7.0
    assert not deviation.any()


@pytest.mark.parametrize(("alpha", "expected"), [(0.3, 0.3 * U32), (2.0, 0.0)])
def test_inexact_attributes_are_disturbed_and_exact_ones_are_not(alpha, expected):
    evaluator = opened([helper.make_node("LeakyRelu", ["x"], ["y"], alpha=alpha)])
    deviation, _ = spread(evaluator, np.full(1, -1.0, np.float32), attributes=True)
    assert deviation[0] == pytest.approx(expected, rel=0.4)


def test_attributes_of_reference_nodes_are_disturbed_too():
    x = np.random.default_rng(2).standard_normal((1, 1, 6, 6)).astype(np.float32)
    rois = np.float32([[0.3, 0.3, 3.7, 3.9]])
    node = helper.make_node(
        "RoiAlign",
        ["x", "rois", "which"],
        ["y"],
        spatial_scale=0.9,
        output_height=2,
        output_width=2,
    )
    evaluator = opened([node], {"rois": rois, "which": np.array([0])})
    deviation, y = spread(evaluator, x, attributes=True)
    assert 0 < np.max(deviation) < 1e-5 * np.max(np.abs(y))


def test_rounding_of_reference_nodes_is_rough_but_there():
    x = np.random.default_rng(2).standard_normal((1, 1, 3, 3)).astype(np.float32)
    evaluator = opened([helper.make_node("Det", ["x"], ["y"])])
    deviation, y = spread(evaluator, x, rounding=True)
    assert 0.1 * U32 < np.max(deviation) / np.max(np.abs(y)) < 100 * U32


def test_random_numbers_do_not_move_with_the_noise():
    nodes = [
        helper.make_node("RandomNormalLike", ["x"], ["r"]),
        helper.make_node("Add", ["x", "r"], ["y"]),
    ]
    evaluator = opened(nodes)
    deviation, r = spread(evaluator, X, fetch="r", rounding=True)
    assert r.std() > 0.5
    assert not deviation.any()


def test_quantizers_lose_what_their_width_intends():
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"]),
    ]
    constants = {"s": np.float32(0.5), "z": np.int8(0)}
    evaluator = opened(nodes, constants)
    x = np.linspace(-1, 1, 400, dtype=np.float32)
    plain = evaluator.run({"x": x}, ["q", "y"])
    assert plain["q"].dtype == np.int8
    assert set(np.unique(plain["y"])) <= {-1.0, -0.5, 0.0, 0.5, 1.0}
    ideal = evaluator.run({"x": x}, ["y"], Noise(seed=0, quantizers=True))["y"]
    # Eight bits over [−1, 1] are far finer than the scale that the model states.
    assert 0 < np.abs(ideal - x).max() < 2.0 / 255


@pytest.mark.parametrize("kind", [FLOAT, HALF])
def test_what_comes_out_exactly_is_not_disturbed(kind):
    """Ties stay ties: 4x and a sum of small integers are exact in every float type."""
    dtype = np.float32 if kind == FLOAT else np.float16
    nodes = [
        helper.make_node("Mul", ["x", "four"], ["fine"]),
        helper.make_node("Round", ["fine"], ["near"]),
        helper.make_node("MatMul", ["near", "ones"], ["y"]),
    ]
    constants = {"four": np.array(4, dtype), "ones": np.ones((3, 1), dtype)}
    evaluator = opened(nodes, constants, kind=kind)
    x = np.array([[0.625, -1.25, 2.0]], dtype)
    for fetch in ("fine", "near", "y"):
        deviation, _ = spread(evaluator, x, fetch=fetch, rounding=True)
        assert not deviation.any()


def test_large_sums_of_integers_are_rounded_after_all():
    evaluator = opened([helper.make_node("ReduceSum", ["x"], ["y"])])
    deviation, _ = spread(evaluator, np.full((3, 1), 2.0**23, np.float32), rounding=True)
    assert deviation.any()


PRODUCTS = {
    "MatMul": helper.make_node("MatMul", ["x", "w"], ["y"]),
    "Gemm": helper.make_node("Gemm", ["x", "w", "b"], ["y"], alpha=0.5),
    "Gemm, transposed": helper.make_node("Gemm", ["x", "t", "b"], ["y"], transB=1),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_draws_multiply_a_large_weight_in_one_pass_as_each_alone_does(name, kind, monkeypatch):
    w = np.random.default_rng(1).standard_normal((50, 8)).astype(kind)
    constants = {"w": w, "t": np.ascontiguousarray(w.T), "b": np.ones(8, kind)}
    given = {"x": X.astype(kind)}
    narrow = FLOAT if kind is np.float32 else HALF
    noises = [Noise(seed=seed, rounding=True) for seed in range(3)]

    def drawn():
        evaluator = opened([PRODUCTS[name]], constants, kind=narrow)
        return evaluator, [evaluator.run(given, ["y"], noise)["y"] for noise in noises]

    _, whole = drawn()
    monkeypatch.setattr(stored_matrix, "LARGE", 1)
    monkeypatch.setattr(weights, "LIFTED_WEIGHT_BYTES", 1)
    passes, plain = [], StoredMatrix._multiplied

    def counted(self, rows):
        passes.append(len(rows))
        return plain(self, rows)

    monkeypatch.setattr(StoredMatrix, "_multiplied", counted)
    evaluator, alone = drawn()
    assert len(passes) == 4, "one for the sizes, whatever the number of draws"
    passes.clear()
    keeps = [lambda _, value: value] * 3
    together = [found["y"] for found in evaluator.run_draws([given] * 3, ["y"], noises, keeps)]
    assert passes == [12]
    for one, two, three in zip(whole, alone, together, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-10)  # a deviation has seven digits
        np.testing.assert_allclose(three, two, rtol=1e-12)
    assert len({each.tobytes() for each in together}) == 3


def test_draws_that_are_fed_one_array_of_float64_do_not_add_to_one_product(monkeypatch):
    monkeypatch.setattr(stored_matrix, "LARGE", 1)
    monkeypatch.setattr(weights, "LIFTED_WEIGHT_BYTES", 1)
    w, x = np.random.default_rng(1).standard_normal((50, 8)).astype(np.float32), np.float64(X)
    stored = {"t": np.ascontiguousarray(w.T), "b": np.full(8, 3.0, np.float32)}
    evaluator = opened([PRODUCTS["Gemm, transposed"]], stored)
    plain = evaluator.run({"x": x}, ["y"])["y"]
    noises, keeps = [Noise(seed=seed) for seed in range(3)], [lambda _, value: value] * 3
    for found in evaluator.run_draws([{"x": x}] * 3, ["y"], noises, keeps):
        np.testing.assert_allclose(found["y"], plain, rtol=1e-13)


def test_a_weight_that_a_draw_disturbs_is_its_own(monkeypatch):
    w = np.random.default_rng(1).standard_normal((50, 8)).astype(np.float32)
    monkeypatch.setattr(stored_matrix, "LARGE", 1)
    monkeypatch.setattr(weights, "LIFTED_WEIGHT_BYTES", 1)
    evaluator = opened([PRODUCTS["MatMul"]], {"w": w})
    noises = [Noise(seed=1, constants=("w",)), Noise(seed=2, constants=("w",)), Noise(seed=3)]
    keeps = [lambda _, value: value] * 3
    found = [each["y"] for each in evaluator.run_draws([{"x": X}] * 3, ["y"], noises, keeps)]
    plain = evaluator.run({"x": X}, ["y"])["y"]
    np.testing.assert_allclose(found[2], plain, rtol=1e-14)
    for one, seed in zip(found, (1, 2), strict=False):
        moved = evaluator.run({"x": X}, ["w"], Noise(seed=seed, constants=("w",)))["w"]
        np.testing.assert_allclose(one, X.astype(np.float64) @ moved, rtol=1e-9)
        assert not np.allclose(one, plain, rtol=1e-9)


def packed_product():
    """A product with weights of four bits in blocks of 16."""
    random = np.random.default_rng(3)
    constants = {
        "w": random.integers(0, 256, (8, 4, 8), np.uint8),
        "s": random.uniform(0.01, 0.02, (8, 4)).astype(np.float32),
    }
    facts = {"bits": 4, "block_size": 16, "N": 8, "K": 50, "domain": "com.microsoft"}
    return helper.make_node("MatMulNBits", ["x", "w", "s"], ["y"], **facts), constants


def bytes_product():
    """A product of bytes whose first factor is quantized at run time."""
    weights_ = np.random.default_rng(3).integers(-63, 64, (50, 8), np.int8)
    nodes = [
        helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "step", "zero"]),
        helper.make_node("MatMulInteger", ["q", "w", "zero"], ["sums"]),
        helper.make_node("Cast", ["sums"], ["reals"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["reals", "step"], ["y"]),
    ]
    return nodes, {"w": weights_}


@pytest.mark.parametrize("what", ["packed", "bytes", "float16"])
def test_draws_of_one_noise_make_their_weights_once_and_are_drawn_as_if_alone(what, monkeypatch):
    monkeypatch.setattr(weights, "LIFTED_WEIGHT_BYTES", 1)
    made = []
    if what == "float16":
        from isomorph.oracle import rounded_constants

        stored = np.random.default_rng(1).standard_normal((50, 8)).astype(np.float16)
        nodes = [
            helper.make_node("Cast", ["w"], ["v"], to=TensorProto.FLOAT),
            helper.make_node("MatMul", ["x", "v"], ["y"]),
        ]
        constants, place = {"w": stored}, (rounded_constants, "move_by_rounding")
    else:
        from isomorph.kernels import quantized_products
        from isomorph.kernels.ort import matmul

        (nodes, constants), place = (
            (packed_product(), (matmul, "_weights"))
            if what == "packed"
            else (bytes_product(), (quantized_products, "centered_weights"))
        )
    make = getattr(*place)

    def counted(*given, **named):
        made.append(1)
        return make(*given, **named)

    monkeypatch.setattr(*place, counted)
    evaluator = opened(nodes if isinstance(nodes, list) else [nodes], constants)
    common = {"rounding": True, "constants": ("w",) if what == "float16" else ()}
    noises = [Noise(seed=seed, quantizers=what != "float16", **common) for seed in (1, 2)]
    feeds = [{"x": (X * factor).astype(np.float32)} for factor in (1.0, 0.5, 3.0)]
    pairs = [(given, noise) for noise in noises for given in feeds]
    alone = [evaluator.run(given, ["y"], noise)["y"] for given, noise in pairs]
    several, made[:] = len(made), []
    keeps = [lambda _, value: value] * len(pairs)
    given, drawn = zip(*pairs, strict=True)
    together = [each["y"] for each in evaluator.run_draws(given, ["y"], drawn, keeps)]
    assert (several, len(made)) == (len(pairs), len(noises))
    for one, two in zip(alone, together, strict=True):
        # Far less than the weights move. The sizes of sums are those of one noise for all.
        np.testing.assert_allclose(two, one, rtol=1e-6, atol=1e-6)
    assert len({each.tobytes() for each in together}) == len(pairs)


def test_a_fed_weight_is_lifted_once_for_all_draws(monkeypatch):
    monkeypatch.setattr(weights, "LIFTED_WEIGHT_BYTES", 1)
    evaluator = opened([PRODUCTS["MatMul"]], {"w": np.zeros((50, 8), np.float32)})
    lifts, fed = [], evaluator._graph.fed
    monkeypatch.setattr(
        type(evaluator._graph), "fed", lambda _, *given: lifts.append(given[0]) or fed(*given)
    )
    w = np.random.default_rng(1).standard_normal((50, 8)).astype(np.float32)
    feeds = [{"x": (X * factor).astype(np.float32), "w": w} for factor in (1.0, 2.0)]
    keeps = [lambda _, value: value] * 2
    found = evaluator.run_draws(feeds, ["y"], [None, None], keeps)
    assert sorted(lifts) == ["w", "x", "x"]
    for each, given in zip(found, feeds, strict=True):
        np.testing.assert_allclose(each["y"], given["x"].astype(float) @ w, rtol=1e-6)
