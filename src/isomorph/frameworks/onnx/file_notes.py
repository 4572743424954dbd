"""Facts about a valid file that a user should see all the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from isomorph.core.model import LoadFact
from isomorph.frameworks.onnx.external_data import is_external
from isomorph.frameworks.onnx.model import stored_tensors
from isomorph.frameworks.onnx.scope import graphs, topological


def notes_on(proto: Any) -> Iterator[str]:  # noqa: ANN401
    """One sentence each, in a fixed order."""
    repeated = sorted(duplicate_names(proto.graph))
    if repeated:
        shown = ", ".join(repeated[:5]) + (" …" if len(repeated) > 5 else "")
        yield (
            f"node names are used more than once ({shown}); here such nodes are called "
            "Op@first_output. ONNX Runtime refuses the file as it is, so a renamed copy is run"
        )
    unsorted = [
        graph
        for graph in graphs(proto.graph)
        if topological(graph.node)[0] != list(range(len(graph.node)))
    ]
    if unsorted:
        yield "nodes are not in topological order, which ONNX requires; here they are sorted"
    yield from load_facts(proto).values()
    if proto.training_info:
        yield "the training part of the file is not looked at"


def load_facts(proto: Any) -> dict[LoadFact, str]:  # noqa: ANN401
    """Whether weights lie in other files, with the files."""
    beside = sorted(external_files(proto))
    if not beside:
        return {}
    shown = ", ".join(beside[:5]) + (" …" if len(beside) > 5 else "")
    return {LoadFact.EXTERNAL_WEIGHTS: f"weights lie in other files: {shown}"}


def doc_strings(proto: Any) -> dict[str, str]:  # noqa: ANN401
    """What authors wrote about the model, its graph, its inputs and its outputs."""
    graph = proto.graph
    notes = {"doc_string": proto.doc_string, "doc_string of the graph": graph.doc_string}
    notes |= {
        f"doc_string of {each.name}": each.doc_string for each in (*graph.input, *graph.output)
    }
    return {key: text for key, text in notes.items() if text}


def external_files(proto: Any) -> set[str]:  # noqa: ANN401
    """The files beside the model that hold its weights, as it names them."""
    return {
        entry.value
        for _, tensor in stored_tensors(proto)
        if is_external(tensor)
        for entry in tensor.external_data
        if entry.key == "location"
    }


def duplicate_names(graph: Any) -> set[str]:  # noqa: ANN401
    """The node names that occur more than once within one graph, bodies included."""
    found: set[str] = set()
    for part in graphs(graph):
        counts = Counter(node.name for node in part.node if node.name)
        found.update(name for name, count in counts.items() if count > 1)
    return found
