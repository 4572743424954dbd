"""Axes of equal size before a layout change, which cannot be distinguished afterwards."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.model import Dimension
from isomorph.core.rule_examples import linted_model, node, spec

_FIRST = frozenset({"pytorch", "onnx"})
_LAST = frozenset({"tensorflow", "tflite"})


_ALONG_AXES = frozenset(
    {"Gather", "Slice", "Concat", "Split", "Softmax", "LogSoftmax", "ReduceMean", "ReduceSum",
     "ReduceMax", "ArgMax", "Squeeze", "LayerNormalization", "CumSum", "TopK"}
)  # fmt: skip


class EqualAxes:
    """Two axes of a tensor are equal, and the way to the target orders axes otherwise.

    A converter that puts channels last goes by sizes where it has nothing else, and takes one
    axis for the other: an LSTM with as many units as steps loses its last step that way. And data
    fed in the old order runs without an error and is wrong.
    """

    name = "equal_axes"
    code = "ISO113"
    positive_examples = (
        linted_model(node("Conv"), inputs=(spec("x", shape=(1, 8, 8, 8)),), to="tflite"),
        linted_model(
            node("LSTM", out="h"),
            node("Gather", "h", "last"),
            tensors=(spec("h", shape=(2, 5, 5)),),
            to="tensorflow",
        ),
    )
    negative_examples = (
        linted_model(node("Conv"), inputs=(spec("x", shape=(1, 3, 8, 8)),), to="tflite"),
        linted_model(node("Conv"), inputs=(spec("x", shape=(1, 8, 8, 8)),), to="onnx"),
        linted_model(
            node("LSTM", out="h"),
            node("Gather", "h", "last"),
            tensors=(spec("h", shape=(2, 5, 6)),),
            to="tensorflow",
        ),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for each input of a convolution, and one for the first tensor inside."""
        here, there = linted.model.framework, linted.to
        if not ((here in _FIRST and there in _LAST) or (here in _LAST and there in _FIRST)):
            return
        spatial = any(each.op.startswith("Conv") or "Pool" in each.op for each in linted.nodes)
        for each in linted.model.graph.inputs if spatial else ():
            if _ambiguous(each.shape or (), last=here in _LAST):
                yield Remark(
                    code=self.code,
                    check=self.name,
                    severity=Severity.WARNING,
                    message=message("ISO113.input", input=each.name, shape=_shape_text(each.shape)),
                    advice=message("ISO113.input_advice"),
                    tensor=each.name,
                )
        yield from self._inside(linted)

    def _inside(self, linted: LintedModel) -> Iterator[Remark]:
        """Sequences whose axes are equal where a node works along one of them."""
        known = linted.model.graph.tensors
        found = [
            (each, known[name])
            for each in linted.model.graph.nodes
            if each.op in _ALONG_AXES
            for name in each.inputs[:1]
            if name in known and _twice(known[name].shape or ())
        ]
        if found:
            first, tensor = found[0]
            yield Remark(
                code=self.code,
                check=self.name,
                severity=Severity.WARNING,
                message=message(
                    "ISO113.inside",
                    count=len(found),
                    op=first.op,
                    tensor=tensor.name,
                    shape=_shape_text(tensor.shape),
                ),
                advice=message("ISO113.inside_advice"),
                node=first.name,
                tensor=tensor.name,
                source=first.source,
            )


def _shape_text(shape: tuple[Dimension, ...] | None) -> str:
    return "×".join(map(str, shape or ()))


def _twice(shape: tuple[Dimension, ...]) -> bool:
    """Whether two axes behind the batch of a sequence have the same size."""
    sizes = [size for size in shape[1:] if isinstance(size, int) and size > 1]
    return len(shape) == 3 and len(sizes) > len(set(sizes))


def _ambiguous(shape: tuple[Dimension, ...], *, last: bool) -> bool:
    if len(shape) < 3:
        return False
    channels = shape[-1] if last else shape[1]
    places = shape[1:-1] if last else shape[2:]
    return isinstance(channels, int) and channels > 1 and channels in places
