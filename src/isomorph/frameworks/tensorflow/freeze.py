"""A concrete function with its variables turned into constants."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tensorflow.python.framework import convert_to_constants

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.tensorflow.assemble import assemble
from isomorph.frameworks.tensorflow.program import TfProgram, tensor_name

_COUNTED = re.compile(r"output_(\d+)")


def freeze(
    function: Any,  # noqa: ANN401
    inputs: Sequence[tuple[str, str]],
    outputs: Sequence[str],
    *,
    unordered: bool = False,
    numbered: bool = False,
) -> TfProgram:
    """The program of a concrete function; its outputs in TensorFlow's own order get these names.

    Outputs that TensorFlow ``numbered`` itself come in the order of their numbers.

    Loops and branches stay what they are: lowered to the switches of old, recurrent networks
    cannot be frozen.
    """
    try:
        frozen = _frozen(function)
    except Exception as error:  # TensorFlow raises whatever its passes raise
        message = " ".join(str(error).split())
        raise UnreadableModelError(
            "NOT_FREEZABLE", "TensorFlow cannot turn the model's variables into constants",
            why=f"{type(error).__name__}: {message[:200]}",
            fix="export an inference function that assigns no variable and looks up no table",
        ) from error  # fmt: skip
    results = [
        (key, tensor_name(each.name)) for key, each in zip(outputs, function.outputs, strict=True)
    ]
    if numbered:
        results.sort(key=lambda pair: int(pair[0].removeprefix("output_")))
    return assemble(
        frozen,
        inputs,
        results,
        constants=_variable_names(function),
        unordered=unordered,
    )


def _frozen(function: Any) -> Any:  # noqa: ANN401
    # The two steps of convert_variables_to_constants_v2 without its third, which makes a function
    # of the graph again: that takes most of its time and memory, and is of no use here.
    with _every_branch_kept():
        data = convert_to_constants._FunctionConverterDataInEager(
            func=function, lower_control_flow=False, aggressive_inlining=False
        )
        graph_def, _ = convert_to_constants._replace_variables_by_constants(converter_data=data)
    return graph_def


@contextmanager
def _every_branch_kept() -> Iterator[None]:
    # TensorFlow's own list of what is not to be lowered forgets the branch by number.
    listed = convert_to_constants._CONTROL_FLOW_OPS
    convert_to_constants._CONTROL_FLOW_OPS = {*listed, "Case", "StatelessCase"}
    try:
        yield
    finally:
        convert_to_constants._CONTROL_FLOW_OPS = listed


def _variable_names(function: Any) -> dict[str, str]:  # noqa: ANN401
    """The variable behind each captured input, by the name of its constant."""
    variables = {id(variable.handle): variable for variable in function.graph.variables}
    names = {}
    for outside, inside in function.graph.captures:
        variable = variables.get(id(outside))
        if variable is not None:
            names[inside.op.name] = str(getattr(variable, "path", variable.name)).removesuffix(":0")
    return names


def by_number(keys: Sequence[str]) -> bool:
    """Whether TensorFlow numbered these outputs itself, so that their order is known."""
    return len(keys) > 1 and all(_COUNTED.fullmatch(key) for key in keys)
