"""The error node by node: what a page draws."""

import math

import onnx

import isomorph
from alterations import edited, norm_with_epsilon


def test_the_profile_jumps_at_the_faulty_node_and_stays_up_behind_it(pair):
    path = edited(pair, "profile.onnx", norm_with_epsilon(2e-3))
    report = isomorph.check(
        pair / "net.pt2",
        path,
        inputs=pair / "inputs.npz",
        in_process=True,
        options=isomorph.CheckOptions(profile=None),
    )
    reference, candidate = report.profile.graphs
    faulty = candidate.nodes.index(report.findings[0].node)
    translation = candidate.translation
    before = [error for error in translation[:faulty] if error is not None]
    assert max(before) < 1e-10 < translation[faulty]
    assert translation[-1] > 1e-6
    # An error that arises there is distinguished from one that is passed on.
    local = [(error, place) for place, error in enumerate(candidate.local) if error is not None]
    assert max(local)[1] == faulty
    assert candidate.local[-1] < 1e-10
    counterpart = reference.nodes[candidate.counterpart[faulty]]
    assert counterpart in report.findings[0].reference_nodes
    for side in (reference, candidate):
        measured = [
            (error, budget)
            for error, budget in zip(side.execution, side.budget, strict=True)
            if error is not None and budget
        ]
        assert len(measured) > 8
        assert all(error <= budget for error, budget in measured)
    node, *outputs = report.profile.close_ups
    assert (node.kind, node.node) == ("node", report.findings[0].node)
    assert math.isclose(node.relative, report.findings[0].local_error, rel_tol=1e-3)
    assert [one.kind for one in outputs] == ["output", "output"]


def test_sources_lead_from_every_output_back_to_the_first_node(pair):
    report = isomorph.check(
        pair / "net.onnx",
        inputs=pair / "inputs.npz",
        in_process=True,
        options=isomorph.CheckOptions(profile=True),
    )
    (side,) = report.profile.graphs
    reached, open_ends = set(), [len(side.nodes) - 1]
    while open_ends:
        place = open_ends.pop()
        if place not in reached:
            reached.add(place)
            assert all(source < place for source in side.sources[place])
            open_ends += side.sources[place]
    assert any("conv2d" in side.nodes[place] for place in reached)
    assert [one.kind for one in report.profile.close_ups] == ["output", "output"]


def test_nothing_is_profiled_unless_it_is_asked_for(pair):
    words = {"inputs": pair / "inputs.npz", "in_process": True}
    assert isomorph.check(pair / "net.onnx", pair / "net.onnx", **words).profile is None
    only_where_located = isomorph.check(
        pair / "net.onnx", pair / "net.onnx", options=isomorph.CheckOptions(profile=None), **words
    )
    assert only_where_located.profile is None


def test_quantized_tensors_are_profiled_as_the_numbers_they_stand_for(tmp_path):
    from tflite_building import Building

    made = Building()
    graph = made.graph()
    x = graph.tensor("x", [2, 8], "int8", scale=[0.05], zero=[3])
    y = graph.tensor("y", [2, 8], "int8", scale=[0.1], zero=[-5])
    z = graph.tensor("z", [2, 8], "int8", scale=[0.2], zero=[7])
    graph.op("ADD", [x, x], [y], "Add", version=2)
    graph.op("ADD", [y, x], [z], "Add", version=2)
    graph.ends([x], [z])
    path = tmp_path / "m.tflite"
    path.write_bytes(made.data())
    for sides in ((path, path), (path,)):
        report = isomorph.check(
            *sides, in_process=True, options=isomorph.CheckOptions(profile=True)
        )
        for side in report.profile.graphs:
            pairs = list(zip(side.execution, side.budget, strict=True))
            assert len(pairs) == 2
            assert all(error <= budget for error, budget in pairs), pairs


def looped(folder, alpha):
    """A loop of three rounds and a branch behind it; one number of the loop's body may be wrong."""
    proto = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 16]>
        g (float[2,4] x) => (float[2,4] y) <int64 n = {{3}}, bool go = {{1}}, bool c = {{1}}> {{
          [first] r = Sin(x)
          [loop] s = Loop (n, go, r) <body = b (int64 i, bool k, float[2,4] h)
            => (bool ko, float[2,4] ho)
            {{ ko = Identity(k) [sub] q = Sub(h, r) [act] ho = Elu<alpha = {alpha}>(q) }}>
          [if] y = If (c) <then_branch = t () => (float[2,4] u) {{ [neg] u = Neg(s) }},
            else_branch = e () => (float[2,4] v) {{ [exp] v = Exp(s) }}>
        }}"""
    )
    path = folder / f"looped_{alpha}.onnx"
    onnx.save(proto, path)
    return path


def test_nodes_of_bodies_stand_before_the_node_that_holds_them(tmp_path):
    reference, candidate = looped(tmp_path, 1.0), looped(tmp_path, 0.5)
    report = isomorph.check(
        reference, candidate, in_process=True, options=isomorph.CheckOptions(profile=True)
    )
    ref, cand = report.profile.graphs
    inner = [
        name for name, number in zip(cand.nodes, cand.rounds, strict=True) if number is not None
    ]
    assert inner == [
        "loop/body#0/Identity@ko", "loop/body#0/sub", "loop/body#0/act", "if/then_branch#0/neg"
    ]  # fmt: skip
    faulty = cand.nodes.index("loop/body#0/act")
    assert report.findings[0].node == cand.nodes[faulty]
    assert ref.nodes[cand.counterpart[faulty]] == "loop/body#0/act"
    # It goes wrong there and at the loop; what the branch does with right values is right.
    assert cand.local[faulty] > 1e-3
    assert cand.translation[faulty - 1] < 1e-10
    assert cand.local[cand.nodes.index("if/then_branch#0/neg")] < 1e-10
    assert all(source < place for place, row in enumerate(cand.sources) for source in row)
    measured = zip(cand.execution, cand.budget, cand.rounds, strict=True)
    assert all(error <= budget for error, budget, number in measured if number is not None)
    assert "loop/body#0/act" in {each.node for each in report.profile.close_ups}
