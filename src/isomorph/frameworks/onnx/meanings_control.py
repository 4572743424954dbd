"""What ONNX's branches and loops mean, for proofs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from isomorph.proof.calls import Call, Meaning
from isomorph.proof.loop_terms import Loop, Round
from isomorph.proof.shared_sizes import product_of_sizes
from isomorph.proof.spelled_control import branch, repeated, single
from isomorph.proof.spelled_movement import turned
from isomorph.proof.term import NoMeaningError, Term

_ENDLESS = np.iinfo(np.int64).max


def _if(call: Call) -> Sequence[Term]:
    call.only(1)
    then, other = call.body("then_branch"), call.body("else_branch")
    return branch(call.terms, call.x(), then.run, other.run)


def _loop(call: Call) -> Sequence[Term]:
    """At most ``M`` rounds, as long as the condition of the last one holds."""
    t, body = call.terms, call.body("body")
    states = tuple(call.x(place) for place in range(2, call.count))
    given, condition = call.optional(0), call.optional(1)
    most = None if given is None else single(t, given, "int64")
    if most is not None and most.op == "constant" and int(most.value()) == _ENDLESS:
        most = None
    true = t.constant(np.array(True), "bool")
    going = true if condition is None else single(t, condition, "bool")
    if most is None and condition is None:
        raise NoMeaningError("a loop without an end")

    def step(
        number: Term, goes: Term | None, current: tuple[Term, ...], _: tuple[Term, ...]
    ) -> Round:
        assert goes is not None
        shapes = [spec.shape for spec in body.graph.inputs[:2]]
        first = [t.reshape(x, shape or ()) if shape in ((1,), ()) else x
                 for x, shape in zip((number, goes), shapes, strict=True)]  # fmt: skip
        found = body.run(*first, *current)
        count = len(current)
        if len(found) < 1 + count:
            raise NoMeaningError("a body with too few outputs")
        return Round(
            going=single(t, found[0], "bool"), states=found[1 : 1 + count], rows=found[1 + count :]
        )

    ends, rows = repeated(t, Loop(step=step, states=states, most=most, going=going))
    return _complete(call, ends, rows)


def _complete(call: Call, ends: Sequence[Term], rows: Sequence[Term]) -> Sequence[Term]:
    if len(ends) + len(rows) < len(call.node.outputs):
        raise NoMeaningError("a loop without rounds has rows of no known shape")
    return (*ends, *rows)


def _scan(call: Call) -> Sequence[Term]:
    """One round for each row of the sequences."""
    if call.opset.get("", 1) < 9:
        raise NoMeaningError("a scan of an older operator set")
    t, body, count = call.terms, call.body("body"), int(call.needs("num_scan_inputs"))
    given = call.all()
    if not 0 < count <= len(given):
        raise NoMeaningError("a scan without sequences")
    states, sequences = tuple(given[:-count]), given[-count:]
    axes = _listed(call, "scan_input_axes", count)
    backward = _listed(call, "scan_input_directions", count)
    outputs = len(body.graph.outputs) - len(states)
    into = _listed(call, "scan_output_axes", outputs)
    reverse = _listed(call, "scan_output_directions", outputs)
    rows = []
    for x, axis, back in zip(sequences, axes, backward, strict=True):
        place = t.axis(x, axis)
        front = t.transpose(x, (place, *(at for at in range(x.rank) if at != place)))
        rows.append(turned(t, front) if back else front)
    lengths = {x.shape[0] for x in rows}
    if len(lengths) != 1:
        raise NoMeaningError("sequences of different lengths")

    def step(_: Term, __: Term | None, current: tuple[Term, ...], parts: tuple[Term, ...]) -> Round:
        found = body.run(*current, *parts)
        return Round(going=None, states=found[: len(current)], rows=found[len(current) :])

    most = t.constant(np.array(lengths.pop(), np.int64), "int64")
    ends, columns = repeated(t, Loop(step=step, states=states, most=most, sequences=tuple(rows)))
    made = []
    for x, axis, back in zip(columns, into, reverse, strict=True):
        place = t.axis(x, axis)
        ordered = turned(t, x) if back else x
        order = [*range(1, x.rank)]
        order.insert(place, 0)
        made.append(t.transpose(ordered, order))
    return _complete(call, ends, made)


def _listed(call: Call, name: str, count: int) -> tuple[int, ...]:
    """A number for each; zeros where the attribute is absent."""
    stated = call.attr(name)
    found = tuple(int(each) for each in stated) if stated else (0,) * count
    if len(found) != count or ("directions" in name and not set(found) <= {0, 1}):
        raise NoMeaningError(f"{name}={stated!r}")
    return found


def _shape(call: Call) -> Sequence[Term]:
    call.only(1)
    x = call.x()
    start, end = call.attr("start", 0), call.attr("end")
    sizes = x.shape[slice(int(start), None if end is None else int(end))]
    return (call.terms.stated(np.array(sizes, object), "int64"),)


def _size(call: Call) -> Sequence[Term]:
    call.only(1)
    return (call.terms.stated(np.array(math.prod(call.x().shape), object), "int64"),)


def _constant_of_shape(call: Call) -> Sequence[Term]:
    """A tensor of one number; of zeros where none is stated."""
    call.only(1)
    t, stated = call.terms, call.attr("value")
    if stated is None:
        return (t.filled(t.constant(np.zeros(()), "float32"), call.ints(0)),)
    number = np.array(stated["values"], stated["dtype"]).reshape(())
    return (t.filled(t.constant(number, str(stated["dtype"])), call.ints(0)),)


def _range(call: Call) -> Sequence[Term]:
    """The numbers from zero up to a size."""
    call.only(3)
    if call.x(1).dtype != "int64" or call.ints(0) != (0,) or call.ints(2) != (1,):
        raise NoMeaningError("other numbers than those from zero up to a size")
    return (call.terms.counted(call.ints(1)[0]),)


def _product(call: Call) -> Sequence[Term]:
    """The product of all listed sizes; its axes are an input or an attribute."""
    call.only(1, 2)
    stated, nothing = call.attr("axes"), call.attr("noop_with_empty_axes", 0)
    axes = call.ints(1) if call.optional(1) is not None else stated or (() if nothing else (0,))
    return (product_of_sizes(call, axes, kept=bool(call.attr("keepdims", 1))),)


CONTROL: dict[str, Meaning] = {"If": _if, "Loop": _loop, "Scan": _scan}
IN_BODIES: dict[str, Meaning] = {
    "Shape": _shape, "Size": _size, "ConstantOfShape": _constant_of_shape,
    "Range": _range, "ReduceProd": _product,
}  # fmt: skip
"""What follows from shapes, where no value was computed beforehand."""
