"""The parts that every program without isomorph has."""

from isomorph.core.extraction import ScriptSource
from isomorph.reporters._plain_script import function, preamble


def source(package, **variables):
    return ScriptSource(
        imports=("import numpy", f"import {package}"), packages=(package,), body=("return 1",),
        variables=variables,
    )  # fmt: skip


def test_variables_are_set_before_the_imports_and_each_is_imported_once():
    lines = list(preamble([source("first", SIZE="1"), source("second")]))
    assert lines.count("import numpy") == 1
    assert lines.index("os.environ['SIZE'] = '1'") < lines.index("import first")
    assert "import os" in lines
    assert "import os" not in list(preamble([source("second")]))


def test_a_function_has_the_body_of_its_runtime():
    names = {}
    exec("\n".join(function("computed", "a.onnx", source("first"))), names)
    assert names["computed"]("path", {}, "y") == 1
