"""What both converters by tf2onnx need to know about it."""

from __future__ import annotations

import logging

from isomorph.core.errors import RuntimeFailedError

NEWEST_OPSET = 18
"""The newest that tf2onnx's own operators cover."""


def handled(kind: str) -> list[str]:
    """The operators that tf2onnx has handlers for: ``tf_op`` or ``tfl_op``."""
    import tf2onnx.tfonnx  # noqa: F401 - importing it registers them
    from tf2onnx import handler

    registered = getattr(handler, kind).get_opsets()
    names = {name for versions in registered.values() for each in versions for name in each}
    return sorted(name.removeprefix("TFL_") for name in names)


class _Complaints(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(record.getMessage())


class failing_loudly:  # noqa: N801 - it reads as a statement
    """What tf2onnx logs as an error is one: it writes an invalid file and goes on."""

    def __enter__(self) -> None:
        self._heard = _Complaints()
        logging.getLogger("tf2onnx").addHandler(self._heard)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        logging.getLogger("tf2onnx").removeHandler(self._heard)
        if kind is None and self._heard.told:
            raise RuntimeFailedError(
                "CONVERTER_FAILED",
                "tf2onnx logged an error and went on",
                why=" | ".join(dict.fromkeys(" ".join(t.split()) for t in self._heard.told))[:400],
                fix="the file that it would write is not valid",
            )
