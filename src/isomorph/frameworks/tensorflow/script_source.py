"""TensorFlow in a script that needs no isomorph."""

from __future__ import annotations

from collections.abc import Mapping

from isomorph.core.extraction import ScriptSource


def script_source(words: Mapping[str, str], variables: Mapping[str, str]) -> ScriptSource | None:
    """The frozen graph as one function; a graph has no eager form."""
    if words["mode"] == "eager":
        return None
    lines = [
        "graph = tf.compat.v1.GraphDef()",
        "graph.ParseFromString(path.read_bytes())",
        "names = [each if ':' in each else f'{each}:0' for each in (*feeds, output)]",
        "",
        "def imported():",
        "    tf.graph_util.import_graph_def(graph, name='')",
        "",
        "whole = tf.compat.v1.wrap_function(imported, [])",
        "tensors = [whole.graph.get_tensor_by_name(each) for each in names]",
        "function = whole.prune(tensors[:-1], tensors[-1])",
        "return function(*(tf.constant(each) for each in feeds.values())).numpy()",
    ]
    if words["xla"] == "yes":
        lines[-1:] = [
            "compiled = tf.function(function, jit_compile=True)",
            "return compiled(*(tf.constant(each) for each in feeds.values())).numpy()",
        ]
    if words["grappler"] == "off":
        off = "tf.config.optimizer.set_experimental_options({'disable_meta_optimizer': True})"
        lines.insert(0, off)
    return ScriptSource(
        imports=("import tensorflow as tf",),
        packages=("tf",),
        body=tuple(lines),
        variables=variables,
    )
