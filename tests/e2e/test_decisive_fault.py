"""A fault that its own node proves needs no further draws of the outputs; another one does."""

import isomorph
from alterations import edited, norm_with_epsilon
from isomorph.core.stated_numbers import FIRST_DRAWS
from isomorph.measure.verdict import ALLOWANCE, OWN_ROUNDING


def checked(pair, epsilon, **options):
    path = edited(pair, f"epsilon_{epsilon}.onnx", norm_with_epsilon(epsilon))
    return isomorph.check(
        pair / "net.pt2",
        path,
        inputs=pair / "inputs.npz",
        in_process=True,
        options=isomorph.CheckOptions(**options),
    )


def test_the_faulty_node_confirms_what_the_first_draws_show(pair):
    report = checked(pair, 0.5)
    (finding,) = report.findings
    assert (report.verdict.value, finding.cause, finding.status) == (
        "divergent", "attribute", "confirmed",
    )  # fmt: skip
    wrong = [each for each in report.outputs if each.verdict.value == "divergent"]
    assert wrong
    for output in wrong:
        assert output.rounding.budget.draws == FIRST_DRAWS
        assert output.translation.budget.derivation == OWN_ROUNDING
        assert output.translation.beyond


def test_without_a_search_the_draws_decide(pair):
    report = checked(pair, 0.5, locate=False)
    assert report.verdict.value == "divergent"
    wrong = [each for each in report.outputs if each.verdict.value == "divergent"]
    assert {each.translation.budget.derivation for each in wrong} == {ALLOWANCE}
