"""What a conversion did not keep, by what the two models declare."""

from dataclasses import replace

from isomorph.conversion.lost_metadata import losses
from isomorph.core.divergence import Divergence, Verdict
from isomorph.core.model import OutputOrder, Source
from isomorph.core.report import Binding
from isomorph.core.rule_examples import linted_model, node, spec

PAIR = (Binding(reference="x", candidate="args_0", how="position"),)


def test_names_types_axes_metadata_and_origin_are_missed():
    traced = replace(node("Relu"), source=Source(file="net.py", line=3))
    first = linted_model(
        traced, inputs=(spec("x", "int64", ("batch", 3)),), metadata={"author": "us"}
    ).model
    result = linted_model(node("Relu"), inputs=(spec("args_0", "int32", (2, 3)),)).model
    assert losses(first, result, PAIR) == (
        "the name of input 'x': it is 'args_0' now",
        "the type of input 'x': int64 became int32",
        "dynamic axes of input 'x': axis 0 is 2 now",
        "metadata: author",
        "where in the source a node came from",
    )


def test_nothing_is_missed_where_nothing_changed():
    model = linted_model(node("Relu"), inputs=(spec("x", shape=("batch", 3)),)).model
    same = (Binding(reference="x", candidate="x", how="name"),)
    assert losses(model, model, same) == ()


def test_outputs_under_other_names_and_in_another_order_are_missed():
    model = linted_model(node("Relu", out="y"), node("Relu", out="z")).model
    first = replace(model, graph=replace(model.graph, outputs=(spec("y"), spec("z"))))
    result = replace(model, graph=replace(model.graph, outputs=(spec("z"), spec("a"))))
    pairs = [
        Divergence(
            reference_output=ref,
            candidate_output=cand,
            dtype="float32",
            shape=(2, 3),
            verdict=Verdict.EQUIVALENT,
            reason="",
        )
        for ref, cand in (("y", "a"), ("z", "z"))
    ]
    assert losses(first, result, (), pairs) == (
        "the name of output 'y': it is 'a' now",
        "the order of the outputs: it is 1, 0 now",
    )
    unnamed = replace(first, output_order=OutputOrder.UNNAMED)
    assert losses(unnamed, result, (), pairs) == ("the order of the outputs: it is 1, 0 now",)
