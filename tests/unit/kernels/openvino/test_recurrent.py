"""Recurrent layers give what OpenVINO gives: gates in its order, the batch first."""

import numpy as np
import pytest

pytest.importorskip("openvino")
from openvino_agreement import agrees, op

rng = np.random.default_rng(5)
HIDDEN, SIZE, BATCH, STEPS = 4, 3, 2, 5


def normal(*shape):
    return rng.normal(size=shape).astype(np.float32)


def weights(gates, directions, biases):
    shapes = [(gates * HIDDEN, SIZE), (gates * HIDDEN, HIDDEN), (biases * HIDDEN,)]
    return [op.constant(normal(directions, *shape)) for shape in shapes]


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_an_lstm(direction, tmp_path):
    d = 2 if direction == "bidirectional" else 1
    w, r, b = weights(4, d, 4)
    lengths = op.constant(np.full(BATCH, STEPS, np.int64))
    agrees(
        lambda x, h, c: op.lstm_sequence(x, h, c, lengths, w, r, b, HIDDEN, direction),
        [normal(BATCH, STEPS, SIZE), normal(BATCH, d, HIDDEN), normal(BATCH, d, HIDDEN)],
        tmp_path,
    )


@pytest.mark.parametrize("before", [False, True])
def test_a_gru(before, tmp_path):
    w, r, b = weights(3, 1, 4 if before else 3)
    lengths = op.constant(np.full(BATCH, STEPS, np.int64))
    agrees(
        lambda x, h: op.gru_sequence(
            x, h, lengths, w, r, b, HIDDEN, "forward", linear_before_reset=before
        ),
        [normal(BATCH, STEPS, SIZE), normal(BATCH, 1, HIDDEN)],
        tmp_path,
    )


def test_an_rnn(tmp_path):
    w, r, b = weights(1, 1, 1)
    lengths = op.constant(np.full(BATCH, STEPS, np.int64))
    agrees(
        lambda x, h: op.rnn_sequence(x, h, lengths, w, r, b, HIDDEN, "forward", ["relu"]),
        [normal(BATCH, STEPS, SIZE), normal(BATCH, 1, HIDDEN)],
        tmp_path,
    )


def test_one_step_of_each(tmp_path):
    x, h, c = normal(BATCH, SIZE), normal(BATCH, HIDDEN), normal(BATCH, HIDDEN)
    w, r, b = (op.constant(normal(4 * HIDDEN, *s)) for s in ((SIZE,), (HIDDEN,), ()))
    agrees(lambda x, h, c: op.lstm_cell(x, h, c, w, r, b, HIDDEN), [x, h, c], tmp_path)
    w, r, b = (op.constant(normal(3 * HIDDEN, *s)) for s in ((SIZE,), (HIDDEN,), ()))
    agrees(lambda x, h: op.gru_cell(x, h, w, r, b, HIDDEN), [x, h], tmp_path)
    w, r, b = (op.constant(normal(HIDDEN, *s)) for s in ((SIZE,), (HIDDEN,), ()))
    agrees(lambda x, h: op.rnn_cell(x, h, w, r, b, HIDDEN, ["tanh"], [], []), [x, h], tmp_path)
