"""Small TensorFlow functions, run by TensorFlow in float32 and by the oracle."""

import numpy as np

from isomorph.core.trace import Environment, Noise
from isomorph.frameworks.tensorflow.framework import TensorflowFramework
from isomorph.frameworks.tensorflow.oracle import TensorflowOracle
from isomorph.frameworks.tensorflow.silence_logs import quietly
from tf_building import tensorflow

tf = tensorflow()
_rng = np.random.default_rng(7)


def normal(*shape):
    return _rng.normal(size=shape).astype(np.float32)


def positive(*shape):
    return _rng.uniform(0.2, 2.0, size=shape).astype(np.float32)


class Case:
    """A function of arrays, opened in the oracle; outputs are ``y0``, ``y1`` …"""

    def __init__(self, function, *arrays):
        def named(*tensors):
            results = function(*tensors)
            listed = results if isinstance(results, (list, tuple)) else [results]
            return {f"y{place}": result for place, result in enumerate(listed)}

        specs = [tf.TensorSpec(a.shape, a.dtype, name=f"x{k}") for k, a in enumerate(arrays)]
        self.function = tf.function(named, input_signature=specs, autograph=False)
        self.arrays = arrays
        with quietly():
            self.model = TensorflowFramework().load(self.function, {})
        self.feeds = {f"x{place}": array for place, array in enumerate(arrays)}
        self.outputs = [spec.name for spec in self.model.graph.outputs]
        self.session = opened(self.model)

    def ran(self):
        return {name: value.numpy() for name, value in self.function(*self.arrays).items()}

    def meant(self, noise=None):
        return self.session.run(self.feeds, self.outputs, noise=noise)

    def node(self, op):
        return next(node for node in self.model.graph.nodes if node.native_op == op)

    def draws(self, count=6, **noise):
        return [self.meant(Noise(seed=seed, **noise)) for seed in range(count)]


def opened(model):
    return TensorflowOracle().open(model, Environment(runtime="tensorflow_oracle"))


def rms(array):
    return float(np.sqrt(np.mean(np.square(np.asarray(array, np.float64)))))
