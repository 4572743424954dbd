"""The TensorFlow oracle on Keras models: close to the run, and its noise as large as the run's."""

import numpy as np
import pytest

from isomorph.core.trace import Environment, Noise
from isomorph.frameworks.tensorflow.framework import TensorflowFramework
from isomorph.frameworks.tensorflow.oracle import TensorflowOracle
from isomorph.frameworks.tensorflow.runtime import TensorflowRuntime
from isomorph.frameworks.tensorflow.silence_logs import quietly
from tf_building import tensorflow

tensorflow()
import keras  # noqa: E402
from keras import layers as L  # noqa: E402


def mlp():
    return (20,), [L.Dense(32, "relu"), L.Dense(32, "gelu"), L.Dense(10, "softmax")]


def cnn():
    return (16, 16, 3), [
        L.Conv2D(16, 3, padding="same"), L.BatchNormalization(), L.ReLU(max_value=6.0),
        L.MaxPooling2D(), L.DepthwiseConv2D(3), L.LeakyReLU(),
        L.SeparableConv2D(8, 3, padding="same", strides=2), L.ELU(), L.AveragePooling2D(2),
        L.Flatten(), L.Dense(5),
    ]  # fmt: skip


def decoder():
    return (8, 8, 4), [
        L.Conv2DTranspose(8, 3, 2, padding="same"), L.PReLU(),
        L.UpSampling2D(interpolation="bilinear"), L.ZeroPadding2D(),
        L.Conv2D(4, 3, dilation_rate=2, activation="swish"), L.UpSampling2D(),
        L.Cropping2D(1),
    ]  # fmt: skip


def signal():
    return (32, 4), [
        L.Conv1D(8, 5, dilation_rate=2, padding="causal"), L.Activation("selu"),
        L.MaxPooling1D(), L.Conv1D(4, 3, strides=2, groups=2), L.GlobalMaxPooling1D(),
    ]  # fmt: skip


def volume():
    return (8, 8, 8, 2), [
        L.Conv3D(4, 3), L.MaxPooling3D(), L.AveragePooling3D(2, padding="same"), L.Flatten(),
        L.Dense(3),
    ]  # fmt: skip


def lstm():
    return (9, 6), [L.LSTM(16, return_sequences=True), L.LSTM(8), L.Dense(3)]


def unrolled_lstm():
    return (6, 6), [L.LSTM(16, unroll=True), L.Dense(3)]


def gru():
    return (9, 6), [L.GRU(16, return_sequences=True), L.GRU(8, reset_after=False), L.Dense(3)]


def rnn():
    return (9, 6), [L.Masking(), L.Bidirectional(L.SimpleRNN(16)), L.Dense(3)]


def norms():
    return (12, 8), [
        L.LayerNormalization(), L.Dense(8, "tanh"), L.UnitNormalization(),
        L.GroupNormalization(4), L.Dense(8, "softplus"), L.Dense(4, "sigmoid"),
    ]  # fmt: skip


def projection():
    return (6, 8), [L.EinsumDense("abc,cde->abde", output_shape=(None, 3, 4), bias_axes="de")]


def transformer():
    words = keras.Input((10,), dtype="int32")
    x = L.Embedding(50, 16)(words)
    x = L.LayerNormalization()(x + L.MultiHeadAttention(4, 4)(x, x))
    x = L.LayerNormalization()(x + L.Dense(16)(L.Dense(32, "gelu")(x)))
    return keras.Model(words, L.Dense(5)(L.GlobalAveragePooling1D()(x)))


NETWORKS = [
    mlp, cnn, decoder, signal, volume, lstm, unrolled_lstm, gru, rnn, norms, projection,
    transformer,
]  # fmt: skip


def built(network):
    keras.utils.set_random_seed(0)
    made = network()
    if isinstance(made, keras.Model):
        model = made
    else:
        model = keras.Sequential([keras.Input(made[0]), *made[1]])
    rng = np.random.default_rng(0)
    for weight in model.weights:
        if "variance" in weight.path:
            weight.assign(rng.uniform(0.5, 2.0, weight.shape))
        elif weight.path.rpartition("/")[2] in {"bias", "beta", "moving_mean"}:
            weight.assign(0.1 * rng.normal(size=weight.shape))
    return model


def sample(model):
    rng = np.random.default_rng(1)
    feeds = {}
    for spec in model.graph.inputs:
        shape = [3 if extent is None else extent for extent in spec.shape]
        drawn = rng.integers(0, 50, shape) if "int" in spec.dtype else rng.normal(size=shape)
        feeds[spec.name] = drawn.astype(spec.dtype)
    return feeds


def rms(array):
    return float(np.sqrt(np.mean(np.square(array))))


@pytest.fixture(scope="module", params=NETWORKS, ids=lambda network: network.__name__)
def opened(request):
    with quietly():
        model = TensorflowFramework().load(built(request.param), {})
        runtime = TensorflowRuntime().open(model, Environment(runtime="tensorflow"))
        oracle = TensorflowOracle().open(model, Environment(runtime="tensorflow_oracle"))
    yield model, sample(model), runtime, oracle
    runtime.close()
    oracle.close()


def test_the_run_is_one_rounding_away_from_the_oracle(opened):
    model, feeds, runtime, oracle = opened
    outputs = [spec.name for spec in model.graph.outputs]
    ran, meant = runtime.run(feeds, outputs), oracle.run(feeds, outputs)
    for name in outputs:
        assert meant[name].dtype == np.float64
        assert 0 < rms(ran[name] - meant[name]) <= 1e-6 * rms(meant[name])


def test_the_noise_is_as_large_as_the_rounding_of_the_run(opened):
    model, feeds, runtime, oracle = opened
    output = model.graph.outputs[0].name
    error = rms(runtime.run(feeds, [output])[output] - oracle.run(feeds, [output])[output])
    still = oracle.run(feeds, [output])[output]
    draws = [
        oracle.run(feeds, [output], noise=Noise(seed=seed, rounding=True))[output]
        for seed in range(6)
    ]
    assert 0.02 <= error / rms(np.stack(draws) - still) <= 1.2


def test_every_tensor_of_the_run_is_near_the_oracles(opened):
    model, feeds, runtime, oracle = opened
    names = [name for node in model.graph.nodes for name in node.outputs]
    ran, meant = runtime.run(feeds, names), oracle.run(feeds, names)
    for name in names:
        oracle, run = meant[name], ran[name]
        pairs = zip(oracle, run, strict=True) if isinstance(oracle, list) else [(oracle, run)]
        for one, other in pairs:
            assert np.shape(one) == np.shape(other), name
            if np.asarray(other).dtype.kind != "f":
                assert np.array_equal(one, other), name
            elif one.size:
                assert rms(one - other) <= 2e-6 * max(rms(one), 1e-3), name
