"""Types that the target lacks, or silently turns into others."""

from __future__ import annotations

from collections.abc import Iterator

from isomorph.core.lint import Abilities, LintedModel, Remark, Severity
from isomorph.core.messages import message
from isomorph.core.rule_examples import constant, linted_model, node, spec

_FLOATS = Abilities(types=frozenset({"float32", "int32", "int64", "bool"}))


class UnsupportedType:
    """The target's runtime does not compute with this type, or the way there changes it.

    What a runtime computes with was tried with the installed one; what its kernels take is read
    from its own table. A double becomes a float, an int64 input an int32 one.
    """

    name = "unsupported_type"
    code = "ISO105"
    positive_examples = (
        linted_model(node("Mul"), inputs=(spec("x", "float64"),), to="tflite", abilities=_FLOATS),
        linted_model(
            node("Conv"),
            inputs=(spec("x", "bfloat16"),),
            abilities=Abilities(kernels={"Conv": ("float32", "float16")}),
        ),
        linted_model(
            node("Gather"),
            inputs=(spec("x", "int64"),),
            to="tflite",
            abilities=Abilities(changed={"int64": "int32"}),
        ),
    )
    negative_examples = (
        linted_model(node("Mul"), to="tflite", abilities=_FLOATS),
        linted_model(node("Mul"), inputs=(spec("x", "float64"),)),
        linted_model(node("Conv"), abilities=Abilities(kernels={"Conv": ("float32", "float16")})),
        linted_model(
            node("Cast", "c", out="d"),
            node("Mul", "x", "d"),
            constants=(constant("c", 2.0, dtype="float64", shape=()),),
            tensors=(spec("c", "float64", ()),),
            to="tflite",
            abilities=_FLOATS,
        ),
    )

    def check(self, linted: LintedModel) -> Iterator[Remark]:
        """One remark for each type, at the first tensor of it; one for each kernel that lacks."""
        able = linted.abilities
        seen: set[str] = set()
        for each in linted.model.graph.inputs:
            become = able.changed.get(each.dtype or "")
            if become is not None:
                yield self._remark(
                    Severity.WARNING,
                    message("ISO105.input", input=each.name, dtype=each.dtype, now=become),
                    message("ISO105.input_advice"),
                    tensor=each.name,
                )
        moving = linted.moving
        for tensor in linted.model.graph.tensors.values():
            dtype = tensor.dtype
            if tensor.name not in moving:
                continue  # what depends on constants alone is folded away
            if dtype is None or able.types is None or dtype in able.types or dtype in seen:
                continue
            seen.add(dtype)
            yield self._remark(
                Severity.ERROR,
                message(
                    "ISO105.target",
                    target=linted.to or linted.model.framework,
                    dtype=dtype,
                    tensor=tensor.name,
                ),
                message("ISO105.target_advice"),
                tensor=tensor.name,
            )
        yield from self._kernels(linted)

    def _kernels(self, linted: LintedModel) -> Iterator[Remark]:
        for each in linted.model.graph.nodes:
            known = linted.abilities.kernels.get(each.native_op)
            dtype = linted.dtype(each.inputs[0]) if each.inputs else None
            if known and dtype is not None and dtype not in known:
                yield Remark(
                    code=self.code,
                    check=self.name,
                    severity=Severity.ERROR,
                    message=message("ISO105.kernel", op=each.native_op, dtype=dtype),
                    advice=message("ISO105.kernel_advice", dtypes=", ".join(known)),
                    node=each.name,
                    source=each.source,
                )

    def _remark(self, severity: Severity, text: str, advice: str, tensor: str) -> Remark:
        return Remark(
            code=self.code,
            check=self.name,
            severity=severity,
            message=text,
            advice=advice,
            tensor=tensor,
        )
