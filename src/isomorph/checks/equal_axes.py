"""Axes of equal size before a layout change: nobody can tell afterwards which is which."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import Remark, Severity, Subject
from isomorph.core.model import Dimension
from isomorph.core.sketch import node, spec, subject

_FIRST = frozenset({"pytorch", "onnx"})
_LAST = frozenset({"tensorflow", "tflite"})


class EqualAxes:
    """Channels, height or width of an input are equal, and the target orders them otherwise.

    A converter that puts channels last then leaves a shape from which nobody sees whether it did;
    data fed in the old order runs without an error and is wrong.
    """

    name = "equal_axes"
    code = "ISO113"
    speaks = (subject(node("Conv"), inputs=(spec("x", shape=(1, 8, 8, 8)),), to="tflite"),)
    silent = (
        subject(node("Conv"), inputs=(spec("x", shape=(1, 3, 8, 8)),), to="tflite"),
        subject(node("Conv"), inputs=(spec("x", shape=(1, 8, 8, 8)),), to="onnx"),
    )

    def check(self, subject: Subject) -> Iterator[Remark]:
        """One remark for each such input."""
        here, there = subject.model.framework, subject.to
        if not ((here in _FIRST and there in _LAST) or (here in _LAST and there in _FIRST)):
            return
        if not any(each.op.startswith("Conv") or "Pool" in each.op for each in subject.nodes):
            return
        for each in subject.model.graph.inputs:
            if _ambiguous(each.shape or (), last=here in _LAST):
                yield Remark(
                    code=self.code,
                    check=self.name,
                    severity=Severity.WARNING,
                    message=f"input {each.name!r} has as many channels as rows or columns "
                    f"({'×'.join(map(str, each.shape or ()))}): its layout cannot be told from it",
                    advice="check the converted model with --layout stated, or with real inputs",
                    tensor=each.name,
                )


def _ambiguous(shape: tuple[Dimension, ...], *, last: bool) -> bool:
    if len(shape) < 3:
        return False
    channels = shape[-1] if last else shape[1]
    places = shape[1:-1] if last else shape[2:]
    return isinstance(channels, int) and channels > 1 and channels in places
