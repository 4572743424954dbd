"""Sizes that only one side computes in nodes do not widen the place of a fault."""

import numpy as np

from onnx_pairs import check, model, node

RNG = np.random.default_rng(2)
WEIGHTS = {f"w{each}": RNG.normal(size=(4, 4)).astype(np.float32) for each in range(3)}
X = RNG.normal(size=(2, 3, 4)).astype(np.float32)


def spelled_out(at, factor):
    """An exact GELU of six nodes; its first number is wrong if it is not the root of one half."""
    return [
        node("Mul", f"{at} root", f"{at}_1"), node("Erf", f"{at}_1", f"{at}_2"),
        node("Add", f"{at}_2 one", f"{at}_3"), node("Mul", f"{at} {at}_3", f"{at}_4"),
        node("Mul", f"{at}_4 half", f"{at}_g"),
    ], {"root": np.float32(factor), "one": np.float32(1), "half": np.float32(0.5)}  # fmt: skip


def network(*, computed, factor=0.5**0.5):
    constants, nodes = dict(WEIGHTS), []
    if computed:
        constants |= {"two": np.array([2])}
        nodes = [
            node("Shape", "x", "b", start=0, end=1), node("Shape", "x", "t", start=1, end=2),
            node("Concat", "b t two two", "parted", axis=0),
            node("Concat", "b t four", "joined", axis=0),
        ]  # fmt: skip
        constants["four"] = np.array([4])
    else:
        constants |= {"parted": np.array([2, 3, 2, 2]), "joined": np.array([2, 3, 4])}
    last = "x"
    for each in range(3):
        nodes.append(node("MatMul", f"{last} w{each}", f"m{each}"))
        if each == 0 and computed:
            more, numbers = spelled_out("m0", factor)
            nodes, constants = [*nodes, *more], {**constants, **numbers}
        else:
            nodes.append(node("Gelu", f"m{each}", f"m{each}_g"))
        nodes += [
            node("Reshape", f"m{each}_g parted", f"p{each}"),
            node("Softmax", f"p{each}", f"s{each}"), node("Reshape", f"s{each} joined", f"h{each}"),
        ]  # fmt: skip
        last = f"h{each}"
    return model(nodes, {"x": [2, 3, 4]}, {last: [2, 3, 4]}, constants)


def test_the_place_ends_where_the_fault_does(tmp_path):
    wrong = network(computed=True, factor=0.6)
    report = check(tmp_path, network(computed=False), wrong, inputs={"x": X})
    first = report.findings[0]
    assert set(first.nodes) <= {each.name for each in spelled_out("m0", 0.6)[0]}
    assert (first.node, first.cause) == ("Mul_m0_1", "attribute")
