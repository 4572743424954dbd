"""Which width the oracle computes in, and what it disturbs when it is asked to."""

import numpy as np
import pytest

from isomorph.core.errors import UnreadableModelError, UsageError
from isomorph.core.trace import Noise
from isomorph.frameworks.tensorflow.framework import TensorflowFramework
from tensorflow_oracle_cases import Case, normal, opened, positive, rms, tf
from tf_building import graph, placeholder, unary

raw = tf.raw_ops
ANGLES = np.linspace(0.0, 8192.0, 50, dtype=np.float32)


def test_a_table_of_constants_keeps_its_declared_width():
    case = Case(lambda x: x * tf.sin(tf.constant(ANGLES) * 0.1), np.ones(50, np.float32))
    declared = tf.sin(tf.constant(ANGLES) * 0.1).numpy()
    assert np.array_equal(case.meant()["y0"], declared.astype(np.float64))
    assert not np.allclose(declared, np.sin(ANGLES.astype(np.float64) * 0.1), atol=1e-6)


def test_such_a_table_brings_its_own_spread():
    case = Case(lambda x: x * tf.sin(tf.constant(ANGLES) * 0.1), np.ones(50, np.float32))
    meant = case.meant()["y0"]
    moved = np.stack([draw["y0"] for draw in case.draws(rounding=True)]) - meant
    # The argument is rounded at its own size, which the sine carries over.
    assert 1e-6 < rms(moved[:, -10:]) < 1e-3
    assert rms(moved[:, -10:]) > 3 * rms(moved[:, 1:6])


def test_sizes_are_decided_in_the_declared_type():
    def function(x):
        length = tf.cast(tf.cast(tf.shape(x)[0], tf.float32) * 0.7, tf.int32)
        return tf.reshape(x[:length], [length])

    assert Case(function, normal(10)).meant()["y0"].shape == (7,)


def test_a_cast_rounds_and_nothing_else_does():
    def function(x):
        narrow = tf.cast(x, tf.float16)
        return [tf.cast(narrow, tf.float32), tf.cast(narrow * narrow, tf.float32)]

    x = normal(100)
    meant = Case(function, x).meant()
    narrow = x.astype(np.float16).astype(np.float64)
    assert np.array_equal(meant["y0"], narrow)
    assert np.array_equal(meant["y1"], narrow * narrow)


def test_integers_words_and_decisions_are_exact():
    def function(x):
        return [
            tf.argmax(x), tf.cast(10.0 * x, tf.int32), x > 0.0, tf.where(x > 0.0),
            tf.strings.as_string(tf.cast(10.0 * x, tf.int32)),
        ]  # fmt: skip

    case = Case(function, normal(40))
    ran, meant = case.ran(), case.meant()
    for name in ("y0", "y1", "y2", "y3"):
        assert meant[name].dtype == ran[name].dtype
        assert np.array_equal(meant[name], ran[name])
    assert [word.decode() for word in ran["y4"]] == list(meant["y4"])


def test_random_numbers_belong_to_their_node():
    def function(x):
        seeded = tf.random.stateless_normal([10], [1, 2])
        return [x + seeded, x * 0.0 + raw.RandomUniform(shape=[10], dtype=tf.float32)]

    case = Case(function, normal(10))
    one, two = case.meant(), case.meant()
    assert np.array_equal(one["y1"], two["y1"])
    assert 0 <= one["y1"].min() < one["y1"].max() < 1
    assert rms(case.ran()["y0"] - one["y0"]) < 1e-6


def test_any_tensor_is_fed_and_fetched():
    case = Case(lambda x: tf.tanh(tf.exp(x) * 3.0), normal(5))
    middle, weight = case.node("Exp").outputs[0], case.node("Mul").inputs[1]
    assert np.array_equal(case.session.run({}, [weight])[weight], 3.0)
    wide = np.full(5, 1.0 + 2.0**-40)
    fed = case.session.run({middle: wide, weight: np.float32(2.0)}, ["y0", middle])
    assert np.array_equal(fed[middle], wide)
    assert np.allclose(fed["y0"], np.tanh(2.0 * wide), rtol=1e-15, atol=0)


def test_what_is_asked_wrongly_is_reported():
    case = Case(tf.tanh, normal(5))
    with pytest.raises(UsageError, match="'x0'") as missing:
        case.session.run({}, ["y0"])
    assert missing.value.code == "MISSING_INPUT"
    with pytest.raises(UsageError, match="'y9'") as unknown:
        case.session.run(case.feeds, ["y9"])
    assert unknown.value.code == "UNKNOWN_TENSOR"


def test_a_named_constant_moves_by_one_rounding_and_no_other_does():
    first, second = normal(6), normal(6)
    case = Case(lambda x: [x * first, x * second], np.ones(6, np.float32))
    named = case.model.graph.nodes[0].inputs[1]
    still = case.meant()
    moved = case.meant(Noise(seed=1, constants=(named,)))
    assert np.array_equal(moved["y1"], still["y1"])
    change = (moved["y0"] - still["y0"]) / still["y0"]
    assert 0 < np.abs(change).max() < 5 * 2.0**-24


def test_an_attribute_moves_by_one_rounding_of_float32():
    scale = [positive(4), normal(4), normal(4), 1e-3 * positive(4)]

    def function(x):
        return [
            raw.FusedBatchNormV3(x=x, scale=scale[0], offset=scale[1], mean=scale[2],
                                 variance=scale[3], epsilon=1e-3, is_training=False).y,
            tf.nn.leaky_relu(x, 0.3),
            tf.exp(x),
        ]  # fmt: skip

    case = Case(function, normal(2, 3, 3, 4))
    still, moved = case.meant(), case.meant(Noise(seed=2, attributes=True))
    assert np.array_equal(still["y2"], moved["y2"])
    for name in ("y0", "y1"):
        assert 0 < rms(moved[name] - still[name]) < 1e-6 * rms(still[name])


def test_what_comes_out_exactly_is_not_disturbed():
    x = np.arange(1.0, 9.0, dtype=np.float32)
    case = Case(lambda x: [x + 1.0, 2.0 * x, tf.reduce_sum(x), tf.transpose(x[None])], x)
    noisy = case.meant(Noise(seed=3, rounding=True))
    for name, value in case.meant().items():
        assert np.array_equal(noisy[name], value)


def test_an_operator_nobody_registers_is_refused_by_name():
    model = TensorflowFramework().load(graph(placeholder("x"), unary("y", "Frobnicate", "x")), {})
    with pytest.raises(UnreadableModelError, match="Frobnicate") as caught:
        opened(model)
    assert caught.value.code == "UNSUPPORTED_OP"


def test_an_operator_without_meaning_in_float64_is_refused_by_name():
    with pytest.raises(UnreadableModelError, match="ResizeArea") as caught:
        Case(lambda x: raw.ResizeArea(images=x, size=[2, 2]), normal(1, 4, 4, 1))
    assert caught.value.code == "UNSUPPORTED_OP"


def test_a_decision_that_exists_in_float32_only_is_made_there():
    boxes, scores = positive(20, 4), positive(20)
    case = Case(lambda b, s: tf.image.non_max_suppression(b, s, 5), boxes, scores)
    assert np.array_equal(case.meant()["y0"], case.ran()["y0"])
