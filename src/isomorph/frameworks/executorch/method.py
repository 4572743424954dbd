"""One method loaded in ExecuTorch: arrays in, arrays out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from executorch.extension.pybindings import _C

from isomorph.core.errors import RuntimeFailedError, UsageError
from isomorph.oracle.dtypes import numpy_dtype

if TYPE_CHECKING:
    from isomorph.core.trace import Array
    from isomorph.frameworks.executorch.program import PteTensor


class LoadedMethod:
    """A program's method; its bytes stay as long as it does, because the runtime reads them."""

    def __init__(self, data: bytes, method: str) -> None:
        self._data = data
        self._method = _C._load_program_from_buffer(data).load_method(method)

    def run(self, arguments: Sequence[Any], *, file: str) -> list[Array]:
        """The results of these arguments."""
        try:
            results = self._method(arguments)
        except RuntimeError as error:
            raise RuntimeFailedError(
                "RUNTIME_FAILED", "ExecuTorch failed", file=file, why=str(error)
            ) from error
        return [_array(each) for each in results]


def argument(declared: PteTensor, value: Any) -> torch.Tensor:  # noqa: ANN401
    """An array as the tensor that a program expects."""
    array = np.ascontiguousarray(value).reshape(np.shape(value))
    if array.dtype != numpy_dtype(declared.dtype):
        raise UsageError(
            "FEED_DTYPE", f"{declared.name!r} is {declared.dtype}, and {array.dtype} was fed"
        )
    tensor = _torch(array)
    plain = tuple(range(array.ndim))
    if declared.order and declared.order != plain:
        # The runtime compares the order of axes in memory, which is part of the signature.
        back = tuple(np.argsort(declared.order).tolist())
        tensor = tensor.permute(declared.order).contiguous().permute(back)
    return tensor


def _torch(array: Array) -> torch.Tensor:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def _array(value: Any) -> Array:  # noqa: ANN401
    if not isinstance(value, torch.Tensor):
        return np.asarray(value)
    if value.dtype == torch.bfloat16:
        return np.array(value.contiguous().view(torch.int16).numpy().view(numpy_dtype("bfloat16")))
    return np.array(value.contiguous().numpy())
