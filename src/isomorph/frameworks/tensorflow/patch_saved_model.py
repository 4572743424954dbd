"""A SavedModel with other weights, or other attributes and numbers in its functions.

The folder is copied as it is. Weights change in its table of variables; attributes
and numbers change in the definitions of functions, in every variant of the layer that has them.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2, trackable_object_graph_pb2

from isomorph.core.errors import UsageError
from isomorph.frameworks.tensorflow.attributes import array_of
from isomorph.frameworks.tensorflow.edit import changed
from isomorph.frameworks.tensorflow.program import TfNode, TfProgram
from isomorph.store.atomic import new_folder

_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"
_NUMBERED = re.compile(r"_\d+$")

Constants = Mapping[str, "np.ndarray[Any, Any]"]


def write_saved_model(source: Path, before: TfProgram, after: TfProgram, path: Path) -> None:
    """A copy of the folder with what another program holds otherwise."""
    constants, nodes = changed(before, after)
    with new_folder(path) as folder:
        shutil.copytree(source, folder, dirs_exist_ok=True)
        # It is a digest of what is changed here, and nothing that a reader needs.
        (folder / "fingerprint.pb").unlink(missing_ok=True)
        proto = saved_model_pb2.SavedModel()
        file = folder / "saved_model.pb"
        proto.ParseFromString(file.read_bytes())
        stored = {
            name: value
            for name, value in constants.items()
            if not _set_constants(proto, name, before.constants[name], value)
        }
        old = {node.name: node for node in before.nodes}
        for name, node in nodes.items():
            _set_attributes(proto, old[name], node)
        file.write_bytes(proto.SerializeToString(deterministic=True))
        if stored:
            _set_variables(folder / "variables" / "variables", before, stored)


def _definitions(proto: Any, flat: str, op: str) -> list[Any]:  # noqa: ANN401
    """The nodes of the file that a node of the inlined program may have been.

    Variants of one layer bear one long name; a short one is taken only where no other has it.
    """
    graphs = [meta.graph_def for meta in proto.meta_graphs]
    lists = [graph.node for graph in graphs]
    lists += [function.node_def for graph in graphs for function in graph.library.function]
    found = [
        each
        for nodes in lists
        for each in nodes
        if each.op == op and f"/{flat}".endswith(f"/{each.name}")
    ]
    long = [each for each in found if "/" in each.name]
    return long or (found if len(found) == 1 else [])


def _set_constants(
    proto: Any,  # noqa: ANN401
    name: str,
    old: np.ndarray[Any, Any],
    new: np.ndarray[Any, Any],
) -> bool:
    found = [
        each
        for each in _definitions(proto, name, "Const")
        if np.array_equal(array_of(each.attr["value"].tensor), old)
    ]
    for each in found:
        each.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(new))
    return bool(found)


def _set_attributes(proto: Any, old: TfNode, new: TfNode) -> None:  # noqa: ANN401
    changed = {
        name: new.definition.attr[name]
        for name, value in new.attributes.items()
        if old.attributes.get(name) != value
    }
    found = [
        each
        for each in _definitions(proto, old.name, old.op)
        if all(each.attr[name] == old.definition.attr[name] for name in changed)
    ]
    if not found:
        raise _not_found("node", old.name)
    for each in found:
        for name, value in changed.items():
            each.attr[name].CopyFrom(value)


def _set_variables(prefix: Path, before: TfProgram, stored: Constants) -> None:
    reader = tf.train.load_checkpoint(str(prefix))
    names = sorted(reader.get_variable_to_shape_map())
    tensors = {name: reader.get_tensor(name) for name in names}
    called = _full_names(tensors.get(_OBJECTS))
    for name, value in stored.items():
        tensors |= dict.fromkeys(_keys(name, before.constants[name], tensors, called), value)
    values = [tf.constant(tensors[name]) for name in names]
    fresh = prefix.with_name("patched")
    tf.raw_ops.SaveV2(
        prefix=str(fresh), tensor_names=names, shape_and_slices=[""] * len(names), tensors=values
    )
    for old in prefix.parent.glob("variables.*"):
        old.unlink()
    for new in prefix.parent.glob("patched.*"):
        new.replace(new.with_name(new.name.replace("patched", "variables", 1)))


def _full_names(objects: Any) -> dict[str, str]:  # noqa: ANN401
    """The name of each variable by its key in the table."""
    graph = trackable_object_graph_pb2.TrackableObjectGraph()
    graph.ParseFromString(objects if isinstance(objects, bytes) else b"")
    return {
        attribute.checkpoint_key: attribute.full_name
        for node in graph.nodes
        for attribute in node.attributes
    }


def _keys(
    name: str, old: np.ndarray[Any, Any], tensors: Mapping[str, Any], called: Mapping[str, str]
) -> list[str]:
    """The entries of the table that hold this constant, by value; of several, those of its name.

    Keras keeps one variable under two keys.
    """
    same = [
        key
        for key, value in tensors.items()
        if key.endswith(_VALUE)
        and isinstance(value, np.ndarray)
        and value.dtype == old.dtype
        and np.array_equal(value, old)
    ]
    if len(same) > 1:
        wanted = {name, _NUMBERED.sub("", name)}
        same = [key for key in same if called.get(key) in wanted]
    if not same:
        raise _not_found("variable", name)
    return same


def _not_found(what: str, name: str) -> UsageError:
    return UsageError(
        "PATCH_NOT_POSSIBLE",
        f"the file has no {what} that is surely {name!r}",
        fix="change it in the source, and save the model again",
    )
