"""A framework that was written by following docs/internals/adding-a-framework.md.

It is a package of its own, found by its entry points: no line of isomorph names it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).parent
ENTRY_POINTS = """
[isomorph.frameworks]
toy = toy_framework.framework:ToyFramework
[isomorph.runtimes]
toy = toy_framework.runtime:ToyRuntime
toy_oracle = toy_framework.oracle:ToyOracle
"""
RNG = np.random.default_rng(0)
FIRST, SECOND = RNG.normal(size=(6, 8)), RNG.normal(size=(8, 3))
BIAS, SCALE = RNG.normal(size=8), RNG.normal(size=3)
NODES = [
    ["project", "product", ["x", "first"], "p"],
    ["shift", "add", ["p", "bias"], "s"],
    ["cut", "ramp", ["s"], "r"],
    ["head", "product", ["r", "second"], "h"],
    ["scale", "multiply", ["h", "factor"], "y"],
]


def _own_paths():
    """Of this process, where isomorph is run from a folder of its own."""
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [str(Path(path).resolve()) for path in paths if path]


@pytest.fixture
def installed(tmp_path):
    """The environment of a process in which the toy framework is installed."""
    site = tmp_path / "site" / "toy_framework-1.0.dist-info"
    site.mkdir(parents=True)
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-framework\nVersion: 1.0\n")
    (site / "entry_points.txt").write_text(ENTRY_POINTS)
    paths = [str(site.parent), str(HERE), *_own_paths()]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def toy(path, *, bias=BIAS, nodes=NODES):
    """The network as a file of the toy framework."""
    weights = {"first": FIRST, "bias": bias, "second": SECOND, "factor": SCALE}
    stored = {
        "toy": 1,
        "inputs": {"x": [2, 6]},
        "weights": {name: value.astype(np.float32).tolist() for name, value in weights.items()},
        "nodes": nodes,
        "outputs": ["y"],
    }
    path.write_text(json.dumps(stored))
    return path


def onnx_file(path):
    """The same network as an ONNX file."""
    nodes = [
        helper.make_node("Gemm", ["x", "first", "bias"], ["s"], "fused"),
        helper.make_node("Relu", ["s"], ["r"], "relu"),
        helper.make_node("MatMul", ["r", "second"], ["h"], "head"),
        helper.make_node("Mul", ["h", "factor"], ["y"], "scale"),
    ]
    weights = {"first": FIRST, "bias": BIAS, "second": SECOND, "factor": SCALE}
    graph = helper.make_graph(
        nodes,
        "toy",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
        [numpy_helper.from_array(v.astype(np.float32), n) for n, v in weights.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)
    return path


def checked(installed, reference, candidate):
    """The report of a check on the command line."""
    words = ["check", str(reference), str(candidate), "--format", "json"]
    ran = subprocess.run(
        [sys.executable, "-m", "isomorph", *words],
        env=installed, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.stdout, ran.stderr
    return ran.returncode, json.loads(ran.stdout)


def faults(report):
    return [each for each in report["findings"] if each["code"] == "GUILTY_NODE"]


def test_an_equal_model_of_another_framework_is_equivalent(installed, tmp_path):
    code, report = checked(installed, onnx_file(tmp_path / "a.onnx"), toy(tmp_path / "b.model"))
    assert (code, report["verdict"]) == (0, "equivalent")


def test_a_wrong_weight_is_found_at_its_node(installed, tmp_path):
    wrong = BIAS.copy()
    wrong[2] += 0.5
    code, report = checked(
        installed, toy(tmp_path / "a.model"), toy(tmp_path / "b.model", bias=wrong)
    )
    assert (code, report["verdict"]) == (1, "divergent")
    [fault] = faults(report)
    assert (fault["node"], fault["cause"]) == ("shift", "weight")


def test_a_missing_operator_is_found(installed, tmp_path):
    nodes = [*NODES[:2], ["head", "product", ["s", "second"], "h"], NODES[4]]
    code, report = checked(
        installed, onnx_file(tmp_path / "a.onnx"), toy(tmp_path / "b.model", nodes=nodes)
    )
    assert (code, report["verdict"]) == (1, "divergent")
    assert [fault["cause"] for fault in faults(report)] == ["missing_op"]


def test_an_unknown_operator_is_refused_by_its_name(installed, tmp_path):
    nodes = [*NODES[:4], ["last", "mystery", ["h"], "y"]]
    model = toy(tmp_path / "a.model", nodes=nodes)
    ran = subprocess.run(
        [sys.executable, "-m", "isomorph", "check", str(model)],
        env=installed, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode in {2, 3}
    assert "mystery" in ran.stdout + ran.stderr


def test_it_passes_the_contracts_of_every_framework(installed, tmp_path):
    """The same tests, in a process that has it installed and knows a sample of it."""
    (tmp_path / "sample_of_toy.py").write_text(
        "import samples\n"
        "from test_toy_framework import toy_sample, unknown_operator\n"
        "samples.SAMPLES['toy'] = toy_sample\n"
        "samples.UNKNOWN = {'toy': unknown_operator}\n"
    )
    root = HERE.parent.parent
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:anyio",
         "-p", "sample_of_toy", "--rootdir", str(root), "-c", str(root / "pyproject.toml"),
         str(HERE / "test_frameworks.py"), str(HERE / "test_runtimes.py"), "-k", "toy"],
        env={**installed, "PYTHONPATH": f"{tmp_path}{os.pathsep}{installed['PYTHONPATH']}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-3000:]
    assert int(ran.stdout.rsplit(" passed", 1)[0].split()[-1]) > 20


def toy_sample(folder):
    """As in samples.py: a model and feeds for it, with a tensor on either side of a branch."""
    from samples import Sample

    nodes = [
        *NODES[:3],
        ["again", "ramp", ["p"], "q"],
        ["sum", "add", ["r", "q"], "t"],
        ["head", "product", ["t", "second"], "h"],
        NODES[4],
    ]
    feeds = {"x": np.random.default_rng(1).normal(size=(2, 6)).astype(np.float32)}
    return Sample(toy(folder / "sample.toy", nodes=nodes), feeds)


def unknown_operator(folder):
    """As in samples.py: a model with an operator that nobody knows."""
    return toy(folder / "u.toy", nodes=[*NODES[:4], ["last", "mystery", ["h"], "y"]]), "mystery"
