"""Inputs that reach the compared outputs in one model only."""

from types import SimpleNamespace

from chains import node
from isomorph.core.model import Graph, TensorSpec
from isomorph.core.report import Binding
from isomorph.localize.unread_inputs import unread_inputs


def specs(words):
    return tuple(TensorSpec(name=name, dtype="float32", shape=(2,)) for name in words.split())


def graph(inputs, *nodes):
    return Graph(name="g", inputs=specs(inputs), outputs=(), nodes=nodes, tensors={}, constants={})


def pairs(**names):
    return [Binding(reference=ref, candidate=cand, how="name") for ref, cand in names.items()]


def found(reference, candidate, inputs, outputs):
    sides = tuple(SimpleNamespace(model=SimpleNamespace(graph=g)) for g in (reference, candidate))
    experiment = SimpleNamespace(sides=sides, outputs=outputs)
    return [
        (each.name, each.reader.name, each.by_candidate)
        for each in unread_inputs(experiment, inputs)
    ]


MASKED = graph("x mask", node("Mul", ["x", "mask"], "m"), node("Sin", ["m"], "y"))
IGNORING = graph("p q", node("Sin", ["p"], "z"))
BOUND = pairs(x="p", mask="q")


def test_an_input_that_the_candidate_ignores_is_found_with_its_reader():
    assert found(MASKED, IGNORING, BOUND, pairs(y="z")) == [("mask", "make_m", False)]


def test_so_is_one_that_only_the_candidate_reads():
    swapped = pairs(p="x", q="mask")
    assert found(IGNORING, MASKED, swapped, pairs(z="y")) == [("q", "make_m", True)]


def test_an_input_that_the_candidate_does_not_have_is_not_read_there():
    alone = graph("p", node("Sin", ["p"], "z"))
    assert found(MASKED, alone, pairs(x="p"), pairs(y="z")) == [("mask", "make_m", False)]


def test_models_that_read_the_same_have_none():
    assert found(MASKED, MASKED, pairs(x="x", mask="mask"), pairs(y="y")) == []


def test_what_only_reaches_other_outputs_is_not_read():
    aside = graph("x mask", node("Sin", ["x"], "y"), node("Cos", ["mask"], "other"))
    assert found(aside, IGNORING, BOUND, pairs(y="z")) == []
    both = pairs(y="z", other="z")
    assert found(aside, IGNORING, BOUND, both) == [("mask", "make_other", False)]
