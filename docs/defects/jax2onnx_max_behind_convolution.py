"""jax2onnx moves a transposition past Max and leaves the other operand as it is."""

import sys
from importlib.metadata import version

import jax
import jax2onnx
import numpy as np
import onnxruntime
from jax import lax

_LAST = ("NHWC", "HWIO", "NHWC")
_FIRST = np.ones((3, 3, 3, 8), np.float32)
_SECOND = np.ones((3, 3, 8, 4), np.float32)


def network(x: jax.Array) -> jax.Array:
    """Two convolutions, channels last, with a maximum between them."""
    y = lax.conv_general_dilated(x, _FIRST, (1, 1), "SAME", dimension_numbers=_LAST)
    y = lax.max(y, lax.broadcast_in_dim(np.float32(0), y.shape, ()))
    return lax.conv_general_dilated(y, _SECOND, (1, 1), "SAME", dimension_numbers=_LAST)


def main() -> int:
    """Convert the network, and open the model in ONNX Runtime."""
    shape = (1, 16, 16, 3)
    model = jax2onnx.to_onnx(network, [jax.ShapeDtypeStruct(shape, "float32")], model_name="m")
    print(f"jax2onnx {version('jax2onnx')}, onnxruntime {onnxruntime.__version__}")
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # noqa: BLE001 - ONNX Runtime's own class of errors differs by release
        print(f"ONNX Runtime refuses it: {error}")
        return 0
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 1000 - 0.3
    (found,) = session.run(None, {session.get_inputs()[0].name: x})
    right = np.asarray(network(x))
    same = found.shape == right.shape and np.allclose(found, right, rtol=1e-4)
    print("the model is right" if same else "the model has other numbers")
    return 1 if same else 0


if __name__ == "__main__":
    sys.exit(main())
