"""What both converters by tf2onnx need to know about it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

from isomorph.core.conversion import Workaround
from isomorph.core.converter_abilities import ReleaseNeeds, passes_without
from isomorph.core.errors import RuntimeFailedError

PACKAGES = ("tensorflow", "tf2onnx")
INSTALL = "pip install 'isomorph[tensorflow]'"
WORKAROUNDS = (
    Workaround(name="older opset", description="converted for opset 15", options={"opset": "15"}),
)

_IMPORTS = "import tensorflow, tf2onnx"
RELEASES = MappingProxyType({
    "tf2onnx": ReleaseNeeds(statement=_IMPORTS, beside=("tensorflow",)),
    "tensorflow": ReleaseNeeds(statement=_IMPORTS, beside=("tf2onnx",)),
    "tensorflow-cpu": ReleaseNeeds(statement=_IMPORTS, beside=("tf2onnx",)),
})  # fmt: skip
NEWEST_OPSET = 18
"""The newest that tf2onnx's own operators cover."""


_TFLITE = "TFL_"


def handled(*, tflite: bool) -> list[str]:
    """The operators of TFLite, or of TensorFlow, that tf2onnx has handlers for."""
    import tf2onnx.tfonnx  # noqa: F401 - importing it registers them
    from tf2onnx.handler import tf_op

    registered = tf_op.get_opsets().values()
    names = {name for versions in registered for each in versions for name in each}
    chosen = (name for name in names if name.startswith(_TFLITE) == tflite)
    return sorted(name.removeprefix(_TFLITE) for name in chosen)


def optimizers() -> Sequence[str]:
    """The passes over the finished graph, in the order in which they run."""
    from tf2onnx import optimizer

    return tuple(optimizer._optimizers)


@contextmanager
def leaving_out(options: Mapping[str, str]) -> Iterator[None]:
    """Without the passes that an order leaves out; the function that runs them takes no list."""
    from tf2onnx import optimizer

    known = optimizer._optimizers
    left_out = passes_without(options)
    optimizer._optimizers = type(known)(
        (name, each) for name, each in known.items() if name not in left_out
    )
    try:
        yield
    finally:
        optimizer._optimizers = known


class _ErrorLog(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())

    def distinct(self) -> list[str]:
        return list(dict.fromkeys(" ".join(text.split()) for text in self.messages))


class failing_loudly:  # noqa: N801 - it reads as a statement
    """What tf2onnx logs as an error is one: it writes an invalid file and goes on."""

    def __enter__(self) -> None:
        self._errors = _ErrorLog()
        logging.getLogger("tf2onnx").addHandler(self._errors)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        logging.getLogger("tf2onnx").removeHandler(self._errors)
        if kind is None and self._errors.messages:
            raise RuntimeFailedError(
                "CONVERTER_FAILED",
                "tf2onnx logged an error and went on",
                why=" | ".join(self._errors.distinct())[:400],
                fix="the file that it would write is not valid",
            )
