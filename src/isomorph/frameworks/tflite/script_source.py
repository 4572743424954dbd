"""LiteRT in a script that needs no isomorph."""

from __future__ import annotations

from collections.abc import Mapping

from isomorph.core.extraction import ScriptSource


def script_source(words: Mapping[str, str]) -> ScriptSource:
    """The interpreter with the kernels of these settings."""
    kind = "BUILTIN" if words["xnnpack"] == "on" else "BUILTIN_WITHOUT_DEFAULT_DELEGATES"
    kind = "BUILTIN_REF" if words["kernels"] == "reference" else kind
    return ScriptSource(
        imports=(
            "import ai_edge_litert",
            "from ai_edge_litert.interpreter import Interpreter, OpResolverType",
        ),
        packages=("ai_edge_litert",),
        body=(
            "interpreter = Interpreter(",
            f"    str(path), num_threads={words['threads'] or 1},",
            f"    experimental_op_resolver_type=OpResolverType.{kind},",
            ")",
            "places = [each['index'] for each in interpreter.get_input_details()]",
            "for place, value in zip(places, feeds.values()):",
            "    interpreter.resize_tensor_input(place, value.shape)",
            "interpreter.allocate_tensors()",
            "for place, value in zip(places, feeds.values()):",
            "    interpreter.set_tensor(place, np.array(value))",
            "interpreter.invoke()",
            "return interpreter.get_tensor(interpreter.get_output_details()[0]['index'])",
        ),
        variables={},
    )
