"""The error of each node, as it was run and as it was translated, and what arises at itself."""

from dataclasses import replace

import numpy as np
import pytest

from chains import Session
from faulty_graphs import OUTPUTS, X, captured, chain, matched
from isomorph.core.model import Source
from isomorph.localize.fault_chain import find_faults
from isomorph.localize.fault_search import Search
from isomorph.localize.node_errors import NodeErrors, value_at


def translated(**ops):
    matcher = matched(chain("l"), chain("r", **ops))
    faults = find_faults(matcher, OUTPUTS).faults
    given = {each.tensor: each.value for each in faults}
    sides = NodeErrors("reference", matcher.reference), NodeErrors("candidate", matcher.candidate)
    sides[1].translation(Search(matcher, OUTPUTS, given), faults)
    return sides[1].profile(sides[0]), sides[0]


def test_places_and_sources_are_those_of_the_nodes():
    errors = NodeErrors("reference", captured(chain("l")))
    profile = errors.profile()
    assert profile.tensors == ("la", "lb", "lc", "ld", "lout")
    assert profile.sources == ((), (0,), (1, 0), (2,), (3,))
    assert (errors.place("lc"), errors.place("x")) == (2, None)
    assert profile.execution == (None,) * 5
    assert all(each is not None and 0 < each < 1e-5 for each in profile.budget)


def test_the_module_of_a_node_is_kept():
    errors = NodeErrors("reference", captured(chain("l")))
    first, *rest = errors.capture.graph.nodes
    named = replace(first, source=Source(module="encoder.norm"))
    errors.capture.graph = replace(errors.capture.graph, nodes=(named, *rest))
    assert errors.profile().modules == ("encoder.norm", "", "", "", "")


class Rounded(Session):
    """A run that is right but for one tensor."""

    def run(self, feeds, fetch, *, noise=None):
        found = super().run(feeds, fetch, noise=noise)
        return {name: value + 0.5 * (name == "lb") for name, value in found.items()}


def test_the_run_is_compared_with_the_oracle_tensor_by_tensor():
    made = chain("l")
    errors = NodeErrors("reference", captured(made))
    errors.execution(Rounded(made))
    execution = errors.profile().execution
    size = float(np.sqrt(np.mean(np.square(np.sin(X) * X))))
    assert execution[1] == pytest.approx(0.5 / size, rel=1e-2)
    assert max(execution[0], execution[2], execution[3]) < 1e-5


class Partial(Session):
    """A run that lacks one tensor, and has another in another shape."""

    def run(self, feeds, fetch, *, noise=None):
        found = super().run(feeds, fetch, noise=noise)
        found["lc"] = found["lc"].T
        return {name: value for name, value in found.items() if name != "lb"}


def test_what_cannot_be_compared_has_no_error():
    made = chain("l")
    errors = NodeErrors("reference", captured(made))
    errors.execution(Partial(made))
    assert [each is None for each in errors.profile().execution] == [
        False, True, True, False, False,
    ]  # fmt: skip


def test_of_a_fault_the_translation_is_off_behind_it_and_the_local_error_at_it_alone():
    profile, _ = translated(b="Add")
    off = [each is not None and each > 1e-3 for each in profile.translation]
    assert off == [False, True, True, True, True]
    local = [each is not None and each > 1e-3 for each in profile.local]
    assert local == [False, True, False, False, False]


def test_counterparts_are_places_in_the_other_graph():
    profile, _ = translated(b="Add")
    assert profile.counterpart == (0, 1, 2, 3, 4)


def test_equal_graphs_are_off_nowhere():
    profile, _ = translated()
    assert max(each for each in profile.translation if each is not None) < 1e-5


def test_one_tensor_is_computed_with_others_substituted():
    capture = captured(chain("l"), noise=False)
    found = value_at(capture, "lc", {"lb": np.zeros_like(X)})
    assert np.allclose(found, np.sin(X))


class Narrow(Session):
    """Rounding in bfloat16 moves every tensor 65536 times as far as in float32."""

    def run(self, feeds, fetch, *, noise=None):
        found = super().run(feeds, fetch, noise=noise)
        if noise is None or noise.run_dtype != "bfloat16":
            return found
        right = super().run(feeds, fetch)
        return {name: right[name] + 65536 * (found[name] - right[name]) for name in fetch}


def test_a_run_in_another_type_has_a_budget_of_its_own():
    errors = NodeErrors("candidate", captured(chain("l")))
    errors.capture.oracle = Narrow(errors.capture.graph)
    before = errors.profile()
    assert before.run_budget == ()
    errors.explain_run("bfloat16")
    after = errors.profile()
    assert after.budget == before.budget, "tensors are matched by the rounding of their own types"
    for declared, run in zip(after.budget, after.run_budget, strict=True):
        assert run == pytest.approx(65536 * declared, rel=0.01)


@pytest.mark.parametrize("run_dtype", ["", "bfloat16"])
def test_no_second_budget_is_drawn_without_need(run_dtype):
    errors = NodeErrors("candidate", captured(chain("l")))
    errors.capture.noise = replace(errors.capture.noise, run_dtype=run_dtype)
    errors.explain_run(run_dtype)
    assert errors.profile().run_budget == ()


def test_a_tensor_without_a_finite_value_has_no_error_and_no_budget():
    class Broken(Session):
        def run(self, feeds, fetch, *, noise=None):
            found = super().run(feeds, fetch, noise=noise)
            return {n: np.full_like(v, np.nan) if n == "lb" else v for n, v in found.items()}

    made = chain("l")
    errors = NodeErrors("reference", captured(made))
    errors.capture.oracle = Broken(made)
    errors.execution(Broken(made))
    profile = errors.profile()
    assert (profile.execution[1], profile.budget[1]) == (None, None)
    assert profile.execution[0] is not None
    assert profile.budget[0] is not None
