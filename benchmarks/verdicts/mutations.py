"""One change that makes another function of a graph, and the node that is wrong by it.

Each mutation changes one place and returns what it did, or None where the graph has no such place.
Whether the change can be seen is the judge's business.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from .building import names_read
from .editing import Editor, state, stated

F32 = np.float32


@dataclass(frozen=True)
class Mutation:
    """``nodes``: any of these names is the right answer; ``reference_nodes``: or one of these.

    ``constant``: the changed weight, whose values alone may prove the change. ``lossy``: a
    conversion to less precision, which may be called a loss.
    """

    kind: str
    nodes: frozenset[str]
    reference_nodes: frozenset[str] = frozenset()
    constant: str = ""
    lossy: bool = False
    single_element: bool = False


Mutate = Callable[[Editor], Mutation | None]
FACTORS = {"1%": 1.01, "10%": 1.1, "sign": -1.0, "zero": 0.0}


def _names(nodes) -> frozenset[str]:
    return frozenset(node.name for node in nodes)


MOVEMENT = frozenset(
    {"Cast", "Identity", "Transpose", "Reshape", "Unsqueeze", "Squeeze", "Flatten"}
)


def _readers(e: Editor, name: str) -> frozenset[str]:
    """Who reads a constant, and who reads what is only a constant in another form."""
    found: set[str] = set()
    for node in e.readers(name):
        found.add(node.name)
        if node.op_type in MOVEMENT:
            found |= _readers(e, node.output[0])
    return frozenset(found)


def weight_element(e: Editor) -> Mutation | None:
    """One element of one float constant."""
    found = [n for n, v in e.constants.items() if _is_float(v) and v.size > 1 and e.readers(n)]
    return _changed_element(e, found, "weight")


def bias_element(e: Editor) -> Mutation | None:
    found = [n for n, v in e.constants.items() if _is_float(v) and v.ndim <= 1 and e.readers(n)]
    return _changed_element(e, found, "bias")


def _is_float(value) -> bool:
    return value.dtype in (np.float32, np.float16, np.float64)


def _changed_element(e: Editor, names: list[str], word: str) -> Mutation | None:
    if not names:
        return None
    name = names[int(e.rng.integers(len(names)))]
    value = e.constants[name].copy()
    place = tuple(int(e.rng.integers(size)) for size in value.shape)
    if not np.isfinite(value[place]) or not value[place]:
        return None
    how = list(FACTORS)[int(e.rng.integers(len(FACTORS)))]
    with np.errstate(over="ignore"):
        value[place] = (value[place].astype(np.float64) * FACTORS[how]).astype(value.dtype)
    if not np.isfinite(value[place]):
        return None
    e.constants[name] = value
    return Mutation(
        f"{word} {how}", _readers(e, name), constant=name, single_element=value.size > 1
    )


def whole_number(e: Editor) -> Mutation | None:
    """One element of a constant that is added, divided by or multiplied with on integers."""
    for node in e.of("Add", "Sub", "Mul", "Div", "Mod"):
        name = next((n for n in node.input if n in e.constants), None)
        if name is None or e.constants[name].dtype.kind != "i":
            continue
        value = e.constants[name].copy()
        place = tuple(int(e.rng.integers(size)) for size in value.shape)
        value[place] += int(e.rng.integers(1, 4))
        e.constants[name] = value
        return Mutation("whole number", _readers(e, name), constant=name)
    return None


def moved_index(e: Editor) -> Mutation | None:
    """A Gather that takes another place."""
    for node in e.of("Gather"):
        value, shape = e.constants.get(node.input[1]), e.shapes.get(node.input[0])
        if value is None or not shape or not value.size:
            continue
        size = shape[stated(node, "axis", 0)]
        if size < 2:
            continue
        changed = value.copy().reshape(-1)
        place = int(e.rng.integers(changed.size))
        changed[place] = (changed[place] + 1) % size
        e.constants[node.input[1]] = changed.reshape(value.shape)
        return Mutation("index", _readers(e, node.input[1]), constant=node.input[1])
    return None


NUMBERS = {
    "LeakyRelu": {"alpha": 0.01}, "Elu": {"alpha": 1.0}, "Celu": {"alpha": 1.0},
    "HardSigmoid": {"alpha": 0.2, "beta": 0.5}, "ThresholdedRelu": {"alpha": 1.0},
    "Gemm": {"alpha": 1.0, "beta": 1.0}, "LayerNormalization": {"epsilon": 1e-5},
    "BatchNormalization": {"epsilon": 1e-5}, "InstanceNormalization": {"epsilon": 1e-5},
    "LRN": {"alpha": 1e-4, "beta": 0.75}, "Shrink": {"lambd": 0.5, "bias": 0.0},
}  # fmt: skip


def number(e: Editor) -> Mutation | None:
    """A float attribute."""
    for node in e.of(*NUMBERS):
        options = NUMBERS[node.op_type]
        name = list(options)[int(e.rng.integers(len(options)))]
        value = stated(node, name, options[name])
        changed = value * (10.0 if name == "epsilon" else 1.1) or 0.1
        state(node, name, float(changed))
        return Mutation(f"number {node.op_type}.{name}", frozenset([node.name]))
    return None


def axis(e: Editor) -> Mutation | None:
    """Another axis, where the sizes allow it."""
    ops = [
        "Softmax",
        "LogSoftmax",
        "Hardmax",
        "Concat",
        "CumSum",
        "LpNormalization",
        "Gather",
        "Split",
    ]
    for node in e.of(*ops):
        rank = e.rank(node.input[0])
        if not rank or rank < 2 or node.op_type == "CumSum":
            continue
        usual = 0 if node.op_type in ("Gather", "Split") else -1
        now = stated(node, "axis", usual) % rank
        shape = e.shapes[node.input[0]]
        others = [a for a in range(rank) if a != now]
        if node.op_type in ("Concat", "Gather", "Split"):
            others = [a for a in others if shape[a] == shape[now]]
        if others:
            state(node, "axis", others[int(e.rng.integers(len(others)))])
            return Mutation(f"axis {node.op_type}", frozenset([node.name]))
    return None


def window(e: Editor) -> Mutation | None:
    """Padding that is moved from one side to the other, or counted otherwise."""
    for node in e.of("Conv", "MaxPool", "AveragePool"):
        pads = list(stated(node, "pads", []))
        if node.op_type == "AveragePool" and any(pads):
            state(node, "count_include_pad", 1 - stated(node, "count_include_pad", 0))
            return Mutation("count_include_pad", frozenset([node.name]))
        half = len(pads) // 2
        for place in range(half):
            if pads[place]:
                pads[place] -= 1
                pads[place + half] += 1
                if node.op_type == "MaxPool" and max(pads) >= min(stated(node, "kernel_shape", [])):
                    continue
                state(node, "pads", pads)
                return Mutation(f"pads {node.op_type}", frozenset([node.name]))
    return None


def flag(e: Editor) -> Mutation | None:
    """An attribute of two states."""
    choices = {
        "Gelu": ("approximate", b"none", {b"none": "tanh", b"tanh": "none"}),
        "CumSum": ("exclusive", 0, {0: 1, 1: 0}),
        "TopK": ("largest", 1, {0: 1, 1: 0}),
        "DepthToSpace": ("mode", b"DCR", {b"DCR": "CRD", b"CRD": "DCR"}),
        "Mod": ("fmod", 0, {0: 1, 1: 0}),
        "Pad": ("mode", b"constant", {b"edge": "reflect", b"reflect": "edge"}),
        "Resize": (
            "coordinate_transformation_mode",
            b"half_pixel",
            {b"half_pixel": "align_corners", b"asymmetric": "half_pixel"},
        ),
    }
    for node in e.of(*choices):
        name, usual, others = choices[node.op_type]
        now = stated(node, name, usual)
        if now in others:
            state(node, name, others[now])
            return Mutation(f"flag {node.op_type}.{name}", frozenset([node.name]))
    return None


OTHERS = {
    "Floor": "Round", "Round": "Floor", "Ceil": "Round", "Max": "Min", "Min": "Max",
    "Greater": "Less", "Less": "LessOrEqual", "GreaterOrEqual": "Greater", "LessOrEqual": "Greater",
    "Relu": "Abs", "Sigmoid": "HardSigmoid", "Tanh": "Softsign", "ReduceMax": "ReduceMean",
    "ReduceMin": "ReduceMax", "ReduceSum": "ReduceMean", "ReduceL2": "ReduceL1", "Erf": "Tanh",
    "Softmax": "LogSoftmax", "Add": "Sub", "Mul": "Add", "ArgMax": "ArgMin", "Sin": "Cos",
    "HardSwish": "Mish", "Mish": "Gelu", "Softplus": "Relu", "Selu": "Elu", "Sub": "Add",
    "GlobalAveragePool": "GlobalMaxPool",
}  # fmt: skip


def other_operator(e: Editor) -> Mutation | None:
    for node in e.of(*OTHERS):
        before = node.op_type
        if len(node.input) > 2:
            continue
        node.op_type = OTHERS[before]
        if before == "ArgMax" and stated(node, "select_last_index", 0):
            continue
        return Mutation(f"operator {before}", frozenset([node.name]))
    return None


def exchanged_operands(e: Editor) -> Mutation | None:
    for node in e.of("Sub", "Div", "Concat", "MatMul", "Where", "Pow"):
        places = (1, 2) if node.op_type == "Where" else (0, 1)
        left, right = (node.input[place] for place in places)
        same = e.shapes.get(left) == e.shapes.get(right)
        broadcasts = node.op_type in ("Sub", "Div", "Pow", "Where")
        if (
            left == right
            or not (same or broadcasts)
            or left not in e.shapes
            or right not in e.shapes
        ):
            continue
        node.input[places[0]], node.input[places[1]] = right, left
        return Mutation(f"operands {node.op_type}", frozenset([node.name]))
    return None


def exchanged_outputs(e: Editor) -> Mutation | None:
    for node in e.of("Split"):
        if len(node.output) == 2:
            shapes = [e.shapes.get(name) for name in node.output]
            if shapes[0] and shapes[0] == shapes[1]:
                node.output[:] = [node.output[1], node.output[0]]
                return Mutation("outputs Split", frozenset([node.name]))
    return None


def dropped(e: Editor) -> Mutation | None:
    """A node that keeps the size is left out; the reader of its input is the faulty one."""
    kinds = [
        "Relu",
        "LeakyRelu",
        "Sigmoid",
        "Tanh",
        "Floor",
        "Round",
        "Neg",
        "Abs",
        "Softmax",
        "Clip",
        "Erf",
        "Elu",
        "HardSwish",
        "Gelu",
        "LayerNormalization",
        "Mul",
        "Add",
        "Hardmax",
        "BatchNormalization",
    ]
    for node in e.of(*kinds):
        source, result = node.input[0], node.output[0]
        if source in e.constants or e.shapes.get(source) != e.shapes.get(result):
            continue
        if source in e.inputs and result in e.outputs:
            continue
        readers = e.readers(result)
        if any(result not in reader.input for reader in readers):
            continue  # read inside a body
        maker = e.maker(source)
        e.remove(node)
        if result in e.outputs:
            e.node("Identity", [source], result)
            readers = [*readers, e.nodes[-1]]
        for reader in readers:
            reader.input[:] = [source if name == result else name for name in reader.input]
        around = _names([*readers, *([maker] if maker is not None else [])])
        # Who only moves what it reads has its counterpart at either end.
        for reader in readers:
            if reader.op_type in MOVEMENT:
                around |= _names(e.readers(reader.output[0]))
        return Mutation(f"dropped {node.op_type}", around, frozenset([node.name]))
    return None


def step_offset(e: Editor) -> Mutation | None:
    """Something is added to one element of one tensor."""
    made = [name for name in e.computed() if e.shapes.get(name) and name in e.kinds]
    kinds = {TensorProto.FLOAT: F32, TensorProto.INT64: np.int64, TensorProto.INT32: np.int32}
    made = [name for name in made if e.kinds[name] in kinds]
    if not made:
        return None
    jumping = {"Floor", "Ceil", "Round", "Sign", "ArgMax", "ArgMin", "Hardmax", "OneHot", "Cast"}
    steps = [name for name in made if e.maker(name).op_type in jumping]
    chosen = steps if steps and e.rng.random() < 0.6 else made
    name = chosen[int(e.rng.integers(len(chosen)))]
    offset = np.zeros(e.shapes[name], kinds[e.kinds[name]])
    place = tuple(int(e.rng.integers(size)) for size in offset.shape)
    whole = offset.dtype.kind == "i" or name in steps
    offset[place] = int(e.rng.integers(1, 4)) if whole else e.rng.choice([0.01, 0.1, 1.0])
    maker = e.maker(name).name
    e.node("Add", [e.insert_behind(name), e.constant(offset)], name)
    return Mutation("offset", frozenset([e.nodes[-1].name, maker]), single_element=True)


def narrowed(e: Editor) -> Mutation | None:
    """A tensor that is squeezed through float16 or bfloat16."""
    made = [name for name in e.computed() if e.is_float32(name)]
    if not made:
        return None
    name = made[int(e.rng.integers(len(made)))]
    kind = TensorProto.FLOAT16 if e.rng.random() < 0.5 else TensorProto.BFLOAT16
    half = e.node("Cast", [e.insert_behind(name)], to=kind)
    first = e.nodes[-1].name
    e.node("Cast", [half], name, to=TensorProto.FLOAT)
    return Mutation("narrowed", frozenset([first, e.nodes[-1].name]), lossy=True)


def in_body(e: Editor) -> Mutation | None:
    """A weight inside a branch or a loop."""
    from onnx import numpy_helper

    for node in e.of("If", "Loop"):
        bodies = [item.g for item in node.attribute if item.name != "num_scan_outputs"]
        body = bodies[int(e.rng.integers(len(bodies)))]
        stored = [t for t in body.initializer if t.data_type == TensorProto.FLOAT]
        if not stored:
            continue
        tensor = stored[int(e.rng.integers(len(stored)))]
        value = numpy_helper.to_array(tensor).copy()
        place = tuple(int(e.rng.integers(size)) for size in value.shape)
        value[place] *= value.dtype.type(e.rng.choice([1.1, -1]))
        tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
        readers = [inner.name for inner in body.node if tensor.name in names_read(inner)]
        return Mutation(
            f"weight in {node.op_type}", frozenset([node.name, *readers]), constant=tensor.name,
            single_element=value.size > 1,
        )  # fmt: skip
    return None


MUTATIONS: dict[str, Mutate] = {
    mutate.__name__: mutate
    for mutate in (
        weight_element, bias_element, whole_number, moved_index, number, axis, window, flag,
        other_operator, exchanged_operands, exchanged_outputs, dropped, step_offset, narrowed,
        in_body,
    )
}  # fmt: skip
