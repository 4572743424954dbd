"""The judge of the campaign is right where a person can tell, and knows nothing of isomorph."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks.verdicts.evaluation import Evaluation
from benchmarks.verdicts.generator import random_model
from benchmarks.verdicts.judge import judge, reach, session
from benchmarks.verdicts.pairs import make_pair
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).parents[2]


def model(nodes, inputs, outputs, **constants):
    stored = [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()]
    graph = helper.make_graph(
        [helper.make_node(op, i.split(), [o], f"{op}_{o}", **more) for op, i, o, more in nodes],
        "g",
        [helper.make_tensor_value_info(k, *v) for k, v in inputs.items()],
        [helper.make_tensor_value_info(k, *v) for k, v in outputs.items()],
        stored,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def truth(reference, candidate, feeds):
    return judge(reach(reference, feeds, 1), reach(candidate, feeds, 2))


FOUR = {"x": (TensorProto.FLOAT, [4])}


def floored(offset):
    nodes = [("Mul", "x k", "a", {}), ("Floor", "a", "b", {}), ("Add", "b d", "y", {})]
    return model(nodes, FOUR, {"y": (TensorProto.FLOAT, [4])},
                 k=np.float32(1 / 3), d=np.asarray(offset, np.float32))  # fmt: skip


@pytest.mark.parametrize(("offset", "kind"), [
    ([0, 0, 0, 0], "equal"),
    ([3, 0, 0, 0], "different"),  # 9/3 is floored to 2 or 3 by rounding, never to 6
    ([1, 0, 0, 0], "ambiguous"),  # 2 or 3 against 3 or 4
    ([0, 1, 0, 0], "different"),  # no tie at 5/3
])  # fmt: skip
def test_a_tie_excuses_its_own_step_and_no_other(offset, kind):
    feeds = {"x": np.array([9, 5, 4, 100], np.float32)}
    assert truth(floored([0] * 4), floored(offset), feeds).kind == kind


@pytest.mark.parametrize(("factor", "kind"), [(1.0, "equal"), (1.01, "different")])
def test_a_large_neighbor_hides_nothing(factor, kind):
    def beside(k):
        nodes = [
            ("Mul", "x big", "a", {}),
            ("Mul", "x k", "b", {}),
            ("Concat", "a b", "y", {"axis": 0}),
        ]
        return model(
            nodes, FOUR, {"y": (TensorProto.FLOAT, [8])}, big=np.float32(1e8), k=np.float32(k)
        )

    feeds = {"x": np.array([0.3, -1.1, 0.7, 2], np.float32)}
    assert truth(beside(1.0), beside(factor), feeds).kind == kind


def test_one_more_rounding_of_a_constant_is_no_difference():
    def divided(op, value):
        return model(
            [(op, "x k", "y", {})], FOUR, {"y": (TensorProto.FLOAT, [4])}, k=np.float32(value)
        )

    feeds = {"x": np.array([0.3, -1.1, 0.7, 2], np.float32)}
    assert truth(divided("Div", 3), divided("Mul", 1 / 3), feeds).kind == "equal"


def test_what_cancels_is_judged_by_what_was_lost():
    """A sum in another order may be off by a rounding of its largest term."""

    def summed(order):
        nodes = [("Gather", "x i", "a", {"axis": 0}), ("CumSum", "a z", "y", {})]
        return model(nodes, FOUR, {"y": (TensorProto.FLOAT, [4])},
                     i=np.asarray(order, np.int64), z=np.int64(0))  # fmt: skip

    feeds = {"x": np.array([1e7, 0.1, 0.2, -1e7], np.float32)}
    rows = [reach(summed(order), feeds, 1) for order in ([0, 1, 2, 3], [0, 2, 1, 3])]
    last = [r.rows["y"][:, 3:] for r in rows]
    assert np.ptp(last[0]) > 0.1
    only = [type(r)({"y": part}, r.kinds) for r, part in zip(rows, last, strict=True)]
    assert judge(*only).kind != "different"


@pytest.mark.parametrize("seed", range(12))
def test_float64_agrees_with_the_runtime(seed):
    sample = random_model(np.random.default_rng(seed))
    wide = Evaluation(sample.model).run(sample.inputs)
    names = list(wide)
    run = dict(
        zip(names, session(sample.model, optimized=False).run(None, sample.inputs), strict=True)
    )
    for name in names:
        assert wide[name].shape == run[name].shape
    reached = reach(sample.model, sample.inputs, seed)
    assert judge(reached, reached).kind == "equal"


def test_a_seed_makes_the_same_pair_again():
    first, second = make_pair(5), make_pair(5)
    assert first.reference == second.reference
    assert first.candidate == second.candidate
    assert first.mutation == second.mutation


def test_generator_and_judge_import_nothing_of_isomorph():
    code = (
        "import sys, benchmarks.verdicts.truth as t, benchmarks.verdicts.pairs as p\n"
        "t.expected(p.make_pair(3))\n"
        "assert not [n for n in sys.modules if n.split('.')[0] == 'isomorph']\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=120)
