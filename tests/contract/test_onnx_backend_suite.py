"""The ONNX oracle held to a suite that we did not write: the backend node tests of ONNX."""

from __future__ import annotations

import tomllib
import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from isomorph.core.trace import Noise
from isomorph.frameworks.onnx.evaluator import Evaluator
from isomorph.oracle.dtypes import is_float, type_name

REVIEWED = tomllib.loads(
    Path(__file__).with_name("onnx_backend_exceptions.toml").read_text(encoding="utf-8")
)

# Of the largest value: the expected data were computed in the declared type by NumPy.
TOLERANCE = {"float64": 1e-7, "float32": 2e-5, "float16": 2e-3, "bfloat16": 2e-2}


@pytest.fixture(scope="module")
def cases():
    with warnings.catch_warnings():
        # Making the suite's data overflows and divides by zero on purpose.
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        return load_model_tests(kind="node")


@pytest.fixture(scope="module")
def outcomes(cases):
    return {case.name: (takes_floats(case), disagreement(case)) for case in cases}


def test_every_case_runs_and_only_reviewed_ones_disagree(outcomes, capsys):
    failed = {name: why for name, (_, why) in outcomes.items() if why is not None}
    listed = set(REVIEWED["exceptions"])
    floats = [why for has_floats, why in outcomes.values() if has_floats]
    share = sum(why is None for why in floats) / len(floats)
    with capsys.disabled():
        print(  # noqa: T201
            f"\nONNX backend suite: {len(outcomes) - len(failed)} of {len(outcomes)} agree; "
            f"with float inputs {share:.2%} of {len(floats)}; {len(listed)} reviewed exceptions"
        )
    assert len(outcomes) > 1500, "the suite was not loaded"
    assert not {name: why for name, why in failed.items() if name not in listed}
    assert not listed - set(failed), "listed as an exception, but it agrees or does not exist"
    assert share >= 0.98


def test_reviewed_names_exist_and_have_reasons(outcomes):
    for table in REVIEWED.values():
        assert set(table) <= set(outcomes)
        assert all(len(reason) > 10 for reason in table.values())


def test_every_case_is_computed_under_noise(cases):
    """In the draws behind a budget nothing fails, and nothing gets another size."""
    noise = Noise(seed=1, rounding=True, attributes=True, quantizers=True)
    failed = {}
    for case in sampled(cases, every=2):
        names, feeds, plainly = computed(case.model, case)
        try:
            drawn = Evaluator(case.model).run(feeds, names, noise=noise)
        except Exception as error:
            failed[case.name] = str(error)
            continue
        if any(sizes(plainly[name]) != sizes(drawn[name]) for name in names):
            failed[case.name] = "another size"
    assert not failed


@pytest.mark.parametrize("around", ["If", "Loop"])
def test_every_case_is_the_same_inside_a_body(cases, around):
    """All names come from outside the body; a Loop goes round twice and stacks what it makes."""
    failed = {}
    for case in sampled(cases, every=4):
        names, feeds, plainly = computed(case.model, case)
        if around == "Loop" and any(isinstance(each, list) for each in plainly.values()):
            continue  # what a Loop stacks are tensors
        try:
            evaluator = Evaluator(inside(case.model, around))
            results = evaluator.run(feeds, names)
            evaluator.run(feeds, names, noise=Noise(seed=1, rounding=True))
        except Exception as error:
            failed[case.name] = str(error)
            continue
        if around == "Loop":
            results = {name: value[-1] for name, value in results.items()}
        if not all(same(plainly[name], results[name]) for name in names):
            failed[case.name] = "another value"
    assert not failed


def sampled(cases, *, every):
    """Of the cases that agree, every so manieth: the names are sorted, so every operator is met."""
    able = [case for case in cases if case.name not in REVIEWED["exceptions"]]
    return sorted(able, key=lambda case: case.name)[::every]


def computed(model, case):
    names = [value.name for value in model.graph.output]
    given = [value.name for value in model.graph.input]
    inputs, _ = case.data_sets[0]
    feeds = {n: plain(value) for n, value in zip(given, inputs, strict=False)}
    return names, feeds, Evaluator(model).run(feeds, names)


def inside(model, around):
    """The same model, all its nodes within one body."""
    inner = {value.name: f"{value.name}__inner" for value in model.graph.output}
    body = onnx.GraphProto(name="body", node=model.graph.node, initializer=model.graph.initializer)
    body.sparse_initializer.extend(model.graph.sparse_initializer)
    for node in body.node:
        node.input[:] = [inner.get(name, name) for name in node.input]
        node.output[:] = [inner.get(name, name) for name in node.output]
    for value in model.graph.output:
        body.output.add().CopyFrom(value)
        body.output[-1].name = inner[value.name]
    made = onnx.ModelProto()
    made.CopyFrom(model)
    for part in ("node", "initializer", "sparse_initializer", "value_info"):
        made.graph.ClearField(part)
    yes = helper.make_tensor("yes", onnx.TensorProto.BOOL, [], [True])
    made.graph.node.append(helper.make_node("Constant", [], ["__yes"], value=yes))
    if around == "If":
        node = helper.make_node("If", ["__yes"], list(inner), then_branch=body, else_branch=body)
    else:
        going = [helper.make_tensor_value_info(n, onnx.TensorProto.BOOL, []) for n in ("go", "on")]
        body.input.extend(
            [helper.make_tensor_value_info("turn", onnx.TensorProto.INT64, []), going[0]]
        )
        body.node.append(helper.make_node("Identity", ["go"], ["on"]))
        results = list(body.output)
        body.ClearField("output")
        body.output.extend([going[1], *results])
        twice = helper.make_tensor("twice", onnx.TensorProto.INT64, [], [2])
        made.graph.node.append(helper.make_node("Constant", [], ["__twice"], value=twice))
        node = helper.make_node("Loop", ["__twice", "__yes"], list(inner), body=body)
    made.graph.node.append(node)
    return made


def sizes(value):
    return [np.shape(each) for each in leaves(value)]


def same(left, right) -> bool:
    pairs = zip(leaves(left), leaves(right), strict=True)
    return all(
        np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f")
        for a, b in pairs
        if a is not None
    )


def takes_floats(case) -> bool:
    given = [array for inputs, _ in case.data_sets for value in inputs for array in leaves(value)]
    return any(isinstance(a, np.ndarray) and is_float(type_name(a)) for a in given)


def disagreement(case) -> str | None:
    """None where every output agrees; else the first reason why not."""
    try:
        evaluator = Evaluator(case.model)
        names = [value.name for value in case.model.graph.output]
        for inputs, expected in case.data_sets:
            given = [value.name for value in case.model.graph.input]
            feeds = {n: plain(value) for n, value in zip(given, inputs, strict=False)}
            results = evaluator.run(feeds, names)
            for name, wanted in zip(names, expected, strict=False):
                why = difference(case, plain(wanted), results[name])
                if why is not None:
                    return f"{name}: {why}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def difference(case, wanted, actual) -> str | None:
    if isinstance(wanted, (list, tuple)):
        if len(wanted) != len(actual):
            return f"{len(actual)} elements for {len(wanted)}"
        pairs = zip(wanted, actual, strict=True)
        return next((why for w, a in pairs if (why := difference(case, w, a))), None)
    if wanted is None or actual is None:
        return None if wanted is actual else "one is absent"
    wanted, actual = np.asarray(wanted), np.asarray(actual)
    if wanted.shape != actual.shape:
        return f"shape {actual.shape} for {wanted.shape}"
    declared = type_name(wanted)
    if not is_float(declared):
        same = type_name(actual) == declared and np.array_equal(wanted, actual)
        return None if same else f"{actual!r} for {wanted!r}"
    if actual.dtype != np.float64:
        return f"held in {actual.dtype}"
    return float_difference(case, wanted.astype(np.float64), actual, declared)


def float_difference(case, wanted, actual, declared) -> str | None:
    if case.name in REVIEWED["rounded_literals"]:
        close = np.allclose(actual, wanted, rtol=case.rtol, atol=case.atol, equal_nan=True)
    else:
        rtol = TOLERANCE.get(declared, 1e-6)
        largest = np.max(np.abs(wanted[np.isfinite(wanted)]), initial=0.0)
        close = np.allclose(actual, wanted, rtol=rtol, atol=rtol * largest, equal_nan=True)
    return None if close else f"off by {np.nanmax(np.abs(actual - wanted))}"


def plain(value):
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def leaves(value):
    value = plain(value)
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    else:
        yield value
