"""Which targets a round of a repair has."""

from types import SimpleNamespace

import pytest

from isomorph.core.divergence import Verdict
from isomorph.core.report import FindingEffect
from isomorph.repair import repair


def _target(*nodes, effect=FindingEffect.REACHES_OUTPUT):
    context = SimpleNamespace(nodes=tuple(SimpleNamespace(name=each) for each in nodes))
    finding = SimpleNamespace(effect=effect, fact=lambda _: None)
    return SimpleNamespace(context=context, finding=finding)


@pytest.mark.parametrize(
    ("located", "weights", "effect", "tried"),
    [
        ([], ["gather"], FindingEffect.REACHES_OUTPUT, [["gather"]]),
        ([], ["gather", "gemm"], FindingEffect.REACHES_OUTPUT, [["gather"], ["gemm"]]),
        ([["gelu"]], ["gather"], FindingEffect.LATENT, [["gelu"], ["gather"]]),
        # What the inputs show is located already, by its node or by one that it goes into.
        ([["gelu"]], ["gather"], FindingEffect.REACHES_OUTPUT, [["gelu"]]),
        ([["gelu", "gather"]], ["gather"], FindingEffect.LATENT, [["gelu", "gather"]]),
        ([["gelu"]], [], FindingEffect.LATENT, [["gelu"]]),
    ],
)
def test_a_weight_that_no_input_shows_is_a_target_beside_nodes_that_do_not_read_it(
    monkeypatch, located, weights, effect, tried
):
    monkeypatch.setattr(repair.targets, "unlocated_targets", lambda *_: ())
    found = [_target(*each) for each in located]
    monkeypatch.setattr(repair.targets, "fault_targets", lambda *_, **__: found)
    monkeypatch.setattr(
        repair, "constant_targets", lambda *_: [_target(e, effect=effect) for e in weights]
    )
    report = SimpleNamespace(verdict=Verdict.DIVERGENT, findings=())
    run = SimpleNamespace(
        samples=[None], reference=None, options=None, folder=None, _known=None, refused=[]
    )
    state = SimpleNamespace(handle=None, reports=(report,), applied=())
    made = repair.RepairRun._targets(run, state)
    assert [[node.name for node in each.context.nodes] for each in made] == tried
