"""Arrays as ExecuTorch takes and gives them."""

import ml_dtypes
import numpy as np
import pytest

from executorch_programs import exported, lowered
from isomorph.core.errors import RuntimeFailedError, UsageError
from isomorph.frameworks.executorch.program import PteTensor

torch = pytest.importorskip("torch")
pytest.importorskip("executorch")

from isomorph.frameworks.executorch.method import LoadedMethod, argument  # noqa: E402


def declared(dtype, shape, order=()):
    return PteTensor(name="x", dtype=dtype, shape=shape, order=order)


def test_axes_lie_in_the_declared_order():
    x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    tensor = argument(declared("float32", x.shape, (0, 2, 3, 1)), x)
    assert tensor.is_contiguous(memory_format=torch.channels_last)
    assert np.array_equal(tensor.numpy(), x)


def test_one_number_has_no_axes():
    assert argument(declared("int8", ()), np.int8(3)).shape == ()


def test_another_type_is_refused():
    with pytest.raises(UsageError) as caught:
        argument(declared("float32", (2,)), np.zeros(2))
    assert caught.value.code == "FEED_DTYPE"


def test_a_method_runs_and_an_error_of_it_is_one_of_the_runtime():
    class Twice(torch.nn.Module):
        def forward(self, x):
            return x + x

    x = torch.ones(3, dtype=torch.bfloat16)
    method = LoadedMethod(lowered(exported(Twice(), [x])), "forward")
    given = argument(declared("bfloat16", (3,)), np.full(3, 1.5, ml_dtypes.bfloat16))
    (found,) = method.run([given], file="f")
    assert found.dtype == ml_dtypes.bfloat16
    assert np.array_equal(found.astype(np.float32), np.full(3, 3.0))
    with pytest.raises(RuntimeFailedError):
        method.run([torch.ones(5)], file="f")
