"""The edits that set a parameter of a node."""

from types import SimpleNamespace

from isomorph.diagnose.parameters import parameter
from one_node_graphs import made


def test_of_two_flags_that_exclude_each_other_one_is_taken_back():
    graph, node = made("Resize", "RESIZE_BILINEAR", half_pixel_centers=True, align_corners=False)
    edits = parameter(SimpleNamespace(candidate=graph), node, "align_corners", True)
    values = {edit.name: edit.value for edit in edits}
    assert values == {"align_corners": True, "half_pixel_centers": False}
