"""Digests of files, folders and graphs."""

import hashlib

from isomorph.core.model_digests import digest_of_files, digest_of_graph
from isomorph.core.rule_examples import linted_model, node


def test_a_file_is_digested_by_its_bytes_and_a_folder_by_names_and_bytes(tmp_path):
    folder = tmp_path / "model"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "a").write_bytes(b"1")
    assert digest_of_files(folder / "inner" / "a") == hashlib.sha256(b"1").hexdigest()
    first = digest_of_files(folder)
    (folder / "inner" / "a").rename(folder / "inner" / "b")
    assert digest_of_files(folder) != first


def test_a_graph_is_digested_by_its_operators_and_their_attributes():
    graphs = [
        linted_model(node("Relu")).model.graph,
        linted_model(node("Tanh")).model.graph,
        linted_model(node("Relu", alpha=1.0)).model.graph,
    ]
    assert len({digest_of_graph(graph) for graph in graphs}) == 3
    assert digest_of_graph(graphs[0]) == digest_of_graph(linted_model(node("Relu")).model.graph)
