"""The error along a graph as a drawing: each value at its height, the faulty node marked."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

from isomorph.reporters._profile_drawing import HEIGHT, TOP, WIDTH, profile_drawing


def _lines(svg):
    return {
        each.get("stroke"): [
            tuple(map(float, point.split(","))) for point in each.get("points").split()
        ]
        for each in ElementTree.fromstring(svg).iter("polyline")
    }


def test_a_larger_error_stands_higher_and_a_later_node_further_right(profile):
    (svg, lines) = (found := profile_drawing(profile.graphs[1], set())), _lines(found)
    translation = lines["#d6336c"]
    assert translation[0][0] < translation[1][0]
    assert translation[0][1] > translation[1][1] > TOP - 1
    assert len(lines["#b7791f"]) == 2, "a node without a measure has no point"
    assert "3 nodes in topological order" in svg


def test_only_the_faulty_node_is_marked(profile):
    graph = profile.graphs[1]
    assert ">norm_3<" not in profile_drawing(graph, set())
    marked = profile_drawing(graph, {"norm_3"})
    assert marked.count(">norm_3<") == 1
    place = float(re.search(r'<line x1="([\d.]+)"[^>]*stroke="#e03131"', marked)[1])
    assert abs(place - _lines(marked)["#d6336c"][1][0]) < 1


def test_a_graph_without_measures_is_not_drawn(profile):
    graph = replace(
        profile.graphs[1], execution=(None,) * 3, budget=(0.0,) * 3, translation=(), local=()
    )
    assert profile_drawing(graph, set()) == ""


def test_ten_thousand_nodes_make_no_larger_drawing_than_the_pixels(profile):
    count = 10_000
    errors = [1e-7] * count
    errors[5000] = 1.0
    graph = replace(
        profile.graphs[1], nodes=tuple(map(str, range(count))), execution=tuple(errors),
        budget=(1e-6,) * count, translation=(), local=(),
    )  # fmt: skip
    svg = profile_drawing(graph, {"5000"})
    assert len(svg) < 60_000
    points = _lines(svg)["#b7791f"]
    assert len(points) <= WIDTH
    assert min(y for _, y in points) == TOP, "the largest value of a pixel is drawn"
    assert max(y for _, y in points) < HEIGHT


def test_one_node_is_a_point(profile):
    graph = replace(
        profile.graphs[0], nodes=("only",), execution=(1e-7,), budget=(None,), translation=()
    )
    assert "<circle" in profile_drawing(graph, set())


def test_each_side_has_the_hue_that_it_has_on_the_page(profile):
    for place, role in enumerate(("reference", "candidate")):
        graph = replace(profile.graphs[1], role=role)
        svg = profile_drawing(graph, set())
        assert ("#3b82c4", "#b7791f")[place] in svg
        assert ("#3b82c4", "#b7791f")[1 - place] not in svg
        assert f"{role} run against its graph in float64" in svg


def test_a_node_that_is_exact_in_every_respect_is_left_out(profile):
    graph = profile.graphs[1]
    exact = replace(
        graph,
        nodes=("size", *graph.nodes),
        **{
            name: (0.0, *getattr(graph, name))
            for name in ("translation", "execution", "budget", "local")
            if getattr(graph, name)
        },
    )
    assert _lines(profile_drawing(exact, set())) == _lines(profile_drawing(graph, set()))
    stays = profile_drawing(exact, {"size"})
    assert _lines(stays) != _lines(profile_drawing(graph, set())), "a faulty one is marked"
