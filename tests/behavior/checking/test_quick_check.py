"""A quick check compares the outputs only, and says so."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import isomorph
from isomorph.core.divergence import Verdict
from isomorph.core.verbosity import Verbosity
from isomorph.reporters.terminal import TerminalReporter


def table(row):
    """A model that looks up rows 0 to 2 of a table whose last row is ``row``."""
    values = np.arange(16, dtype=np.float32).reshape(4, 4)
    values[3] = row
    nodes = [
        helper.make_node("Clip", ["at", "least", "most"], ["place"], name="clip"),
        helper.make_node("Gather", ["table", "place"], ["y"], name="look_up"),
    ]
    stored = {"table": values, "least": np.int64(0), "most": np.int64(2)}
    graph = helper.make_graph(
        nodes,
        "table",
        [helper.make_tensor_value_info("at", TensorProto.INT64, [2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in stored.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def scale(factor, size="batch"):
    weight = numpy_helper.from_array(np.full(4, factor, np.float32), "w")
    value = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [size, 4]) for n in "xy")
    source, target = value
    node = helper.make_node("Mul", ["x", "w"], ["y"], name="scale")
    graph = helper.make_graph([node], "scale", [source], [target], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


@pytest.fixture
def check(tmp_path):
    def run(left, right, **options):
        for name, model in (("a", left), ("b", right)):
            onnx.save(model, tmp_path / f"{name}.onnx")
        return isomorph.check(tmp_path / "a.onnx", tmp_path / "b.onnx", in_process=True, **options)

    return run


def test_a_weight_that_no_input_reaches_is_not_compared_and_the_headline_says_so(check):
    quick = check(table(1.0), table(2.0), quick=True)
    assert quick.verdict is Verdict.EQUIVALENT
    assert quick.quick
    assert quick.headline.endswith("(quick: outputs only)")
    assert any(
        "weights and attributes that no input reaches" in each.what for each in quick.skipped
    )
    assert check(table(1.0), table(2.0)).verdict is Verdict.DIVERGENT


def test_a_difference_is_found_and_no_node_is_searched_for(check):
    quick, full = (check(scale(1.0), scale(1.5), quick=quick) for quick in (True, False))
    assert quick.verdict is full.verdict is Verdict.DIVERGENT
    assert not any(each.faults for each in quick.findings)
    assert any(each.faults for each in full.findings)
    assert quick.headline == "DIVERGENT (quick: outputs only)"


def test_one_generated_input_of_one_size_is_enough(check):
    quick, full = (check(scale(1.0), scale(1.0), quick=quick) for quick in (True, False))
    assert quick.coverage.inputs == 1 < full.coverage.inputs
    assert not full.headline.endswith("(quick: outputs only)")


def test_the_report_says_what_it_cost(check):
    report = check(scale(1.0), scale(1.5))
    names = {each.name for each in report.cost.phases}
    assert {
        "load",
        "oracle",
        "run",
        "rounding",
        "compare",
        "locate",
        "diagnose",
        "weights",
    } <= names
    assert report.cost.wall == pytest.approx(sum(each.wall for each in report.cost.phases))
    assert report.cost.cpu == pytest.approx(sum(each.cpu for each in report.cost.phases))
    assert report.cost.wall >= report.elapsed["total"]
    text = TerminalReporter(Verbosity.VERBOSE).render(report).replace("\n", " ")
    costliest = report.cost.phases[0]
    assert f"{report.cost.cpu:.1f} CPU s ({costliest.name} {costliest.cpu:.1f}, " in text


def test_progress_counts_the_steps(check):
    class Progress:
        def __init__(self):
            self.steps = []

        def __call__(self, phase, detail=""):
            pass

        def step(self, number, count):
            self.steps.append((number, count))

    progress = Progress()
    report = check(scale(1.0, 2), scale(1.0, 2), progress=progress)
    count = report.coverage.inputs + 2
    assert progress.steps == [(number, count) for number in range(2, count + 1)]
