"""A number that differs by less than rounding shows: equivalent, and its node is named."""

import numpy as np
import pytest
from onnx import TensorProto

import isomorph
from isomorph.core.report import FindingEffect
from weight_pairs import F32, model, node

RANDOM = np.random.default_rng(8)
WORDS, WIDTH = 12, 16
TABLE = (4.0 * RANDOM.standard_normal((WORDS, WIDTH))).astype(F32)
GIVEN = {"ids": np.array([3, 1, 7, 0, 11], np.int64)}


def normalized(epsilons, *, spelled_out=True):
    """Two layers behind an embedding, each with a norm; words are the only input."""
    constants = {"table": TABLE, "axes": np.array([-1], np.int64)}
    nodes = [node("Gather", "table ids", "h0")]
    for layer, epsilon in enumerate(epsilons):
        scale = RANDOM_SCALES[layer]
        constants |= {f"w{layer}": WEIGHTS[layer], f"scale{layer}": scale}
        if spelled_out:
            constants[f"eps{layer}"] = F32(epsilon)
            nodes += [
                node("ReduceMean", f"h{layer} axes", f"mean{layer}"),
                node("Sub", f"h{layer} mean{layer}", f"d{layer}"),
                node("Mul", f"d{layer} d{layer}", f"sq{layer}"),
                node("ReduceMean", f"sq{layer} axes", f"v{layer}"),
                node("Add", f"v{layer} eps{layer}", f"ve{layer}"),
                node("Sqrt", f"ve{layer}", f"r{layer}"),
                node("Div", f"d{layer} r{layer}", f"q{layer}"),
                node("Mul", f"q{layer} scale{layer}", f"n{layer}"),
            ]
        else:
            nodes.append(node("LayerNormalization", f"h{layer} scale{layer}", f"n{layer}",
                              axis=-1, epsilon=epsilon))  # fmt: skip
        nodes += [
            node("MatMul", f"n{layer} w{layer}", f"p{layer}"),
            node("Add", f"p{layer} h{layer}", f"h{layer + 1}"),
        ]
    last = f"h{len(epsilons)}"
    used = {name for each in nodes for name in each.input}
    return model(
        nodes, {"ids": (TensorProto.INT64, [5])}, {last: (TensorProto.FLOAT, [5, WIDTH])},
        {name: value for name, value in constants.items() if name in used},
    )  # fmt: skip


WEIGHTS = [RANDOM.standard_normal((WIDTH, WIDTH)).astype(F32) for _ in range(2)]
RANDOM_SCALES = [RANDOM.standard_normal(WIDTH).astype(F32) for _ in range(2)]


def checked(reference, candidate):
    report = isomorph.check(reference, candidate, inputs=GIVEN, in_process=True)
    below = [each for each in report.findings if each.effect is FindingEffect.BELOW_ROUNDING]
    return report.verdict, {(each.node, each.cause) for each in below if each.node}


@pytest.mark.parametrize(("layer", "culprit"), [(0, "Add_ve0"), (1, "Add_ve1")])
def test_the_epsilon_of_one_layer_is_named(layer, culprit):
    wrong = [1e-5, 1e-5]
    wrong[layer] = 3e-6
    verdict, named = checked(normalized([1e-5, 1e-5], spelled_out=False), normalized(wrong))
    assert verdict is isomorph.Verdict.EQUIVALENT
    assert named == {(culprit, "attribute")}


def test_both_forms_with_the_same_numbers_have_no_finding():
    reference = normalized([1e-5, 1e-5], spelled_out=False)
    assert checked(reference, normalized([1e-5, 1e-5])) == (isomorph.Verdict.EQUIVALENT, set())


def test_a_number_that_was_stored_once_more_is_no_other():
    """The same epsilon, rounded to float32 and written with seven digits."""
    reference = normalized([1.1e-5, 1.1e-5], spelled_out=False)
    assert checked(reference, normalized([float(F32(1.1e-5)), 1.1e-5])) == (
        isomorph.Verdict.EQUIVALENT, set(),
    )  # fmt: skip
