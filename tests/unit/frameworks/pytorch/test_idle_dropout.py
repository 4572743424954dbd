"""Dropout that drops nothing is its argument, also where something overwrites it."""

import pytest

torch = pytest.importorskip("torch")

from isomorph.frameworks.pytorch.idle_dropout import without_idle_dropout  # noqa: E402

dropout = torch.nn.functional.dropout


def program(forward):
    module = type("Module", (torch.nn.Module,), {"forward": forward})()
    return torch.export.export(module.eval(), (torch.ones(2, 3),), strict=False)


def changed(self, x):
    y = x * 2
    z = dropout(y, 0.5, training=False)
    z.add_(1)
    return y, z


def targets(exported):
    return [str(node.target) for node in exported.graph.nodes if node.op == "call_function"]


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
def test_a_change_of_the_result_is_one_of_the_argument():
    exported = program(changed)
    found = without_idle_dropout(exported).run_decompositions({}).module()(torch.ones(2, 3))
    assert [each.tolist() for each in found] == [[[3.0] * 3] * 2] * 2
    assert "aten.dropout.default" in targets(exported), "the given program was changed"


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
def test_other_programs_are_left_alone():
    for forward in (lambda self, x: x * 2, lambda self, x: dropout(x, 0.5, training=True)):
        exported = program(forward)
        assert without_idle_dropout(exported) is exported
