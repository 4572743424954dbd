"""Branches and loops mean to the oracle what OpenVINO computes."""

import numpy as np
import pytest

pytest.importorskip("openvino")

from openvino_agreement import agrees, op, ov, parameter

rng = np.random.default_rng(6)


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("taken", [True, False])
def test_a_branch(taken, tmp_path):
    def make(condition, x):
        node = op.if_op(condition)
        bodies = []
        for function in (op.relu, op.negative):
            inner = parameter(np.zeros((2, 3), np.float32), "inner")
            bodies.append((ov.Model([function(inner)], [inner], "body"), inner))
        (then, a), (other, b) = bodies
        node.set_then_body(then)
        node.set_else_body(other)
        node.set_input(x.output(0), a, b)
        return [node.set_output(then.results[0], other.results[0])]

    agrees(make, [np.array(taken), normal(2, 3)], tmp_path)


@pytest.mark.parametrize("limit", [0.5, 1e9])
def test_a_loop_that_a_condition_may_end(limit, tmp_path):
    def make(x, start):
        count = parameter(np.array(0), "count")
        state, row = (parameter(np.zeros((1, 3), np.float32), name) for name in ("s", "row"))
        grown = op.add(op.add(op.abs(state), op.abs(row)), op.convert(count, "f32"))
        total = op.reduce_sum(grown, op.constant(np.array([0, 1])), False)
        going = op.less(total, op.constant(np.float32(limit)))
        body = ov.Model([op.result(going), op.result(grown)], [count, state, row], "body")
        loop = op.loop(op.constant(np.array(4)), op.constant(np.array(True)))
        loop.set_function(body)
        loop.set_special_body_ports([0, 0])
        loop.set_sliced_input(row, x.output(0), 0, 1, 1, -1, 0)
        loop.set_merged_input(state, start.output(0), grown.output(0))
        last = loop.get_iter_value(grown.output(0), -1)
        return [last, loop.get_concatenated_slices(grown.output(0), 0, 1, 1, -1, 0)]

    last, rows = agrees(make, [normal(4, 3), normal(1, 3)], tmp_path)
    assert len(rows) == (1 if limit < 1 else 4)
    assert np.array_equal(last, rows[-1:])


@pytest.mark.parametrize("stride", [1, -1])
def test_an_iterator_from_either_end(stride, tmp_path):
    def make(x, start):
        state, row = (parameter(np.zeros((1, 3), np.float32), name) for name in ("s", "row"))
        mixed = op.add(op.multiply(state, op.constant(np.float32(0.5))), row)
        body = ov.Model([op.result(mixed)], [state, row], "body")
        loop = op.tensor_iterator()
        loop.set_body(body)
        ends = (0, -1) if stride > 0 else (-1, 0)
        loop.set_sliced_input(row, x.output(0), ends[0], stride, 1, ends[1], 0)
        loop.set_merged_input(state, start.output(0), mixed.output(0))
        last = loop.get_iter_value(mixed.output(0), -1)
        rows = loop.get_concatenated_slices(mixed.output(0), ends[0], stride, 1, ends[1], 0)
        return [last, rows]

    agrees(make, [normal(4, 3), normal(1, 3)], tmp_path)
