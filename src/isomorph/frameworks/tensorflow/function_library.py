"""The functions of one program, known to this process under names that are theirs alone.

TensorFlow keeps one table of functions per process. Two models may well have a loop body of the
same name, so each opened program gets its own names, and takes them away again.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context

from isomorph.frameworks.tensorflow.program import TfProgram

_numbers = count(1)


class Library:
    """The bodies of one program, registered as long as a session needs them."""

    def __init__(self, program: TfProgram) -> None:
        number = next(_numbers)
        copied = tf.compat.v1.GraphDef()
        copied.library.CopyFrom(program.graph_def.library)
        self._names = {
            function.signature.name: f"{function.signature.name}_session{number}"
            for function in copied.library.function
        }
        rename_functions(copied, self._names)
        self._library = copied.library
        for function in self._library.function:
            context.context().add_function_def(function)

    def adopt(self, part: Any) -> Any:  # noqa: ANN401
        """The same part, calling the registered functions."""
        del part.library.function[:]
        rename_functions(part, self._names)
        part.library.CopyFrom(self._library)
        return part

    def close(self) -> None:
        """Forget the functions; harmless when repeated."""
        for name in self._names.values():
            if context.context().has_function(name):
                context.context().remove_function(name)


def rename_functions(graph_def: Any, names: Mapping[str, str]) -> None:  # noqa: ANN401
    """Give the functions of a graph other names, wherever they are defined or called."""
    for function in graph_def.library.function:
        function.signature.name = names.get(function.signature.name, function.signature.name)
        for node in function.node_def:
            _rename_calls(node, names)
    for node in graph_def.node:
        _rename_calls(node, names)


def _rename_calls(node: Any, names: Mapping[str, str]) -> None:  # noqa: ANN401
    node.op = names.get(node.op, node.op)
    for value in node.attr.values():
        for function in (*value.list.func, *((value.func,) if value.HasField("func") else ())):
            function.name = names.get(function.name, function.name)
