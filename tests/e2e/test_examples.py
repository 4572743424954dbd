"""Every example runs as a user would run it, and its facts are those its text claims.

Exact figures depend on the CPU's kernels; what is asserted here does not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from warm_process import imported_by, ran

EXAMPLES = Path(__file__).parents[2] / "examples"
SHARED = {"building", "converting", "showing"}


# One for each set of packages is started as a user starts it; the others are forks of a process
# that has imported these packages.
FRESH = {"execution_provider", "quantize_ties", "tf_fake_quant"}
# The same work on fewer inputs; what is asserted holds for them as well.
BRIEF = {"quantization_audit"}


def run(name, folder):
    """Run one example in a process of its own; its facts, and what it printed."""
    facts, program = folder / "facts.json", EXAMPLES / f"{name}.py"
    command = [sys.executable, str(program), "--json", str(facts)]
    command += ["--brief"] if name in BRIEF else []
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    if name in FRESH:
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            timeout=300,
            cwd=folder,
            env=environment,
        )
    else:
        text = program.read_text().replace("from converting", "import tensorflow")
        done = ran(command, folder, env=environment, preload=imported_by(text))
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    return json.loads(facts.read_text()), done.stdout


def exp_in_ulp(facts):
    kernels = {name: facts[name] for name in ("onnxruntime", "torch", "numpy")}
    assert all(0.5 <= row["max ulp"] <= 4 for row in kernels.values())
    assert all(row["correctly rounded"] > 0.5 for row in kernels.values())
    assert all(row["floats from onnxruntime"] <= 4 for row in kernels.values())
    assert facts["torch against onnxruntime"] == "equivalent"


def quantize_ties(facts):
    assert facts["onnxruntime"]["differ from rint"] == 0
    assert facts["torch fake_quantize"]["differ from rint"] == 0
    assert facts["dequantized the same"]
    away = facts["half away from zero"]
    assert (away["differ from rint"], away["only at ties"], away["steps"]) == (10, True, 1)
    assert facts["ties"] == 20
    wrapped = facts["uint8 - zero_point"]
    assert (wrapped["only below zero"], wrapped["steps"]) == (True, 256)
    assert facts["half even against half away"] == ["divergent", 1]
    assert facts["the same without the ties"] == ["equivalent", 0]


def relu_shift(facts):
    same, short = facts["the same four nodes"], facts["simplified to relu(x)"]
    assert (same["verdict"], same["values that differ"]) == ("equivalent", 0)
    assert short["verdict"] == "equivalent"
    assert 0 < short["max difference"] < 1e-6
    assert facts["shifted back by 1.001"]["verdict"] == "divergent"
    assert facts["numpy equals onnxruntime without optimizer"]


def int16_wraps(facts):
    assert facts["results outside int16"] > facts["values compared"] / 2
    for pair in ("torch, onnxruntime in int16", "int16, int32 cast back"):
        assert facts[pair] == {"verdict": "equivalent", "values that differ": 0}
    wide = facts["int16, int32 left wide"]
    assert wide["verdict"] == "divergent"
    assert wide["values that differ"] == facts["results outside int16"]
    assert facts["numpy equals onnxruntime"]


def entr_export(facts):
    faithful = facts["dynamo"]
    assert faithful["verdict"] == "equivalent"
    assert faithful["NaN/Inf elsewhere"] == 0
    assert faithful["zeros of the other sign"] == 1
    assert "SIGNED_ZERO" in faithful["findings"]
    assert facts["log(x + 1e-6)"]["verdict"] == "divergent"
    assert "special_entr" in facts["legacy exporter says"]
    assert {"Log", "Mul", "Where"} <= set(facts["operators it became"])


def dynamic_axes(facts):
    frozen = {way for way, row in facts.items() if row["frozen"]}
    assert frozen == {"legacy, dynamic_axes alone", "dynamo, without options"}
    for way, row in facts.items():
        assert row["at batch 5"] == ("INPUT_SHAPE" if way in frozen else "equivalent")
    assert facts["legacy, dynamic_axes alone"]["input"] != "input"


def data_dependent_if(facts):
    assert facts["dynamo says of the Python if"] == "TorchExportError"
    ways = {way: row for way, row in facts.items() if isinstance(row, dict)}
    assert all(row["branch of the example"] == "equivalent" for row in ways.values())
    wrong = {way for way, row in ways.items() if row["the other branch"] == "divergent"}
    assert wrong == {"legacy, traced"}
    assert all(row["the other branch"] == "equivalent" for w, row in ways.items() if w not in wrong)
    assert {way for way, row in ways.items() if row.get("has an If")} == {
        "legacy, TorchScript",
        "dynamo, torch.cond",
    }


def execution_provider(facts):
    reported = facts["in isomorph's report"]
    fell_back = "CUDAExecutionProvider" not in facts["available"]
    assert reported["asked"] == "CUDAExecutionProvider"
    assert (reported["used"] == "CPUExecutionProvider") == fell_back
    assert reported["used"].split(", ")[0] == facts["ONNX Runtime itself"]["used"].split(", ")[0]
    assert ("PROVIDER_FALLBACK" in facts["findings"]) == fell_back
    assert facts["verdict"] == ("unknown" if fell_back else "equivalent")
    assert facts["an unknown provider"] == "BAD_SETTING"


def float16(facts):
    assert facts["float16 fed into the float32 model"] == "InvalidArgument"
    assert facts["float16 copy"]["verdict"] == "degraded"
    assert 1e-5 < facts["float16 copy"]["max finite difference"] < 1e-2
    assert facts["float16, one weight wrong"]["verdict"] == "divergent"
    assert facts["float16, outputs too large"]["verdict"] == "divergent"
    assert facts["outputs behind an infinity inside"] > 0


def recorded_reference(facts):
    verdicts = {title: row["by isomorph"] for title, row in facts.items()}
    typed = {title: row["by 1e-05"] for title, row in facts.items()}
    assert len(facts) == 4
    for title, verdict in verdicts.items():
        assert verdict == ("equivalent" if title.startswith("faithful") else "divergent"), title
    assert typed["faithful, outputs × 1000"] == "different"
    assert typed["bias lost, outputs × 1e-06"] == "close"


def one_node(facts):
    ulp = {name: row["max ulp from float64"] for name, row in facts.items() if _is_row(row)}
    assert {
        name for name, row in facts.items() if _is_row(row) and row["of the node"] == "input"
    } == {
        "mean_square",
        "square_mean",
    }
    assert max(ulp["mean_square"], ulp["square_mean"]) < 10
    assert ulp["variance"] > 1000
    assert ulp["deviation"] > 500
    assert facts["best"]["type"] == "int64"
    assert facts["indices declared as float32"] == "Fail"
    assert facts["the file is untouched"]


def tf_exp_in_ulp(facts):
    kernels = {name: facts[name] for name in ("tensorflow", "onnxruntime", "numpy")}
    assert all(0.5 <= row["max ulp"] <= 4 for row in kernels.values())
    assert all(row["floats from tensorflow"] <= 4 for row in kernels.values())
    assert {name: row["subnormals lost"] for name, row in kernels.items()} == {
        "tensorflow": 1000,
        "onnxruntime": 0,
        "numpy": 0,
    }
    assert 0 < facts["largest number lost"] < 1.18e-38
    assert facts["tensorflow against onnxruntime"] == "equivalent"


def tf_fake_quant(facts):
    same, ties = facts["zero on the grid"], facts["the same, at ties"]
    assert (same["differ"], same["verdict"]) == (0, "equivalent")
    assert (ties["differ"], ties["values"], ties["steps"]) == (10, 20, 1)
    assert ties["verdict"] == "divergent"
    nudged = facts["nudged"]
    assert nudged["verdict"] == "equivalent"
    assert nudged["differ"] < nudged["values"] / 1000
    low, high = facts["the range on the grid"]
    assert (low > -1.0) == (high > 1.0), "the whole range was moved one way"
    assert abs(high - low - 2.0) < 1e-6
    assert abs(low + 1.0) > 1e-3
    assert abs(facts["steps off the range asked for"] - 0.5) < 0.01
    assert 0.4 < facts["integers one apart"] < 0.6


def tflite_small(facts):
    expected = {"Dense": 3.0, "Conv": 9.0}
    for name, row in facts.items():
        layer, way = name.split(", ")
        if layer in expected:
            assert row["output"] == expected[layer], name
        if way != "Keras":
            assert row["verdict"] == "equivalent", name
            assert row["int8 elements"] == 0, name
            assert row["max difference"] <= (1.2e-7 if layer == "RNN" else 0.0), name
            assert (row["float16 elements"] > 0) == (way == "float16"), name
    assert len(facts) == 12


def tflite_quantized(facts):
    verdicts = {
        "plain": "equivalent",
        "dynamic range": "degraded",
        "float16": "degraded",
        "int8": "degraded",
        "int8 and one column wrong": "divergent",
    }
    assert len(facts) == 3 * len(verdicts)
    for name, row in facts.items():
        way = name.split(", ")[1]
        assert row["verdict"] == verdicts[way], name
        assert (row["int8 elements"] > 1024) == (way not in {"plain", "float16"}), name
        assert (row["float16 elements"] > 1024) == (way == "float16"), name
        if verdicts[way] == "degraded":
            assert 1e-5 < row["relative difference"] < 0.1, name
            assert row["share of the intended loss"] <= 1.0, name


def _is_row(value):
    return isinstance(value, dict)


def _one_cause(facts, cause, *wrong, right=()):
    for title in wrong:
        assert (facts[title]["verdict"], facts[title]["cause"]) == ("divergent", cause)
        assert facts[title]["confirmed"]
    assert all(facts[title]["verdict"] == "equivalent" for title in right)


def pool_borders(facts):
    _one_cause(facts, "attribute", "what isomorph says")
    assert facts["largest difference in the middle"] == 0
    assert facts["largest difference at the border"] > 0.1
    assert facts["in words"] == "count_include_pad is 0, not 1"


def weight_in_half(facts):
    _one_cause(facts, "weight", "what isomorph says")
    assert facts["np.allclose(rtol=1e-3, atol=1e-3) says"]
    assert facts["in words"] == "its values were rounded to float16"


def operands_swapped(facts):
    _one_cause(facts, "layout", "Sub", "MatMul", right=["Add"])


def outputs_swapped(facts):
    _one_cause(facts, "interface", "as it is", right=["with the outputs bound"])
    assert facts["code"] == "OUTPUT_ORDER"
    assert "--bind-output grown=out1" in facts["fix"]


def dropout_left_in(facts):
    _one_cause(facts, "nondeterminism", "what isomorph says")
    assert facts["what isomorph says"]["node"].startswith("Dropout")
    assert facts["two runs as deployed agree"]
    assert not facts["as deployed and without optimizers agree"]


def custom_operator(facts):
    _one_cause(facts, "missing_op", "left out", right=["kept"])
    assert facts["before it is defined"] == "UNSUPPORTED_OP"
    assert "Bend" in facts["in words"]


def nan_in_reduce(facts):
    _one_cause(facts, "kernel", "with a NaN", right=["without"])
    assert "Is ReduceMax wrong by itself in this runtime?" in facts["asked"]


def int32_overflow(facts):
    _one_cause(facts, "dtype", "up to 4e10", right=["up to 4e6"])
    assert "wrap around" in facts["in words"]


def zero_point(facts):
    _one_cause(facts, "quantization", "zero point off", "another scale", "too small a range")
    assert "-9 steps" in facts["zero point off, in words"]
    assert "1.5 times" in facts["another scale, in words"]
    assert "clips" in facts["too small a range, in words"]


def faulty_optimizer(facts):
    levels = [title for title in facts if title.startswith("level")]
    _one_cause(facts, "fusion", "fused wrongly", right=levels)
    if facts["Pad before MaxPool"]["verdict"] == "divergent":  # a later version may be right
        _one_cause(facts, "fusion", "Pad before MaxPool")
        assert "disable_optimizers=Pad_Fusion" in facts["setting for Pad before MaxPool"]
    assert "GemmActivationFusion" in facts["optimizers that ran"]


def faulty_compilers(facts):
    settings = {"torch.compile": "uncompiled_operators=aten.expm1.default",
                "XNNPACK": "xnnpack=off", "XLA": "xla=no", "grappler": "grappler=off"}  # fmt: skip
    for title, setting in settings.items():
        assert facts[f"without {title}"]["verdict"] == "equivalent"
        if facts[title]["verdict"] == "divergent":  # a later version may be right
            _one_cause(facts, "fusion", title)
            assert setting in facts[f"setting, {title}"]


def frozen_size(facts):
    _one_cause(facts, "shape", "length 5", right=["length 3"])
    assert "[5]" in facts["in words"]


def bfloat16_by_default(facts):
    assert facts["precision f32"]["verdict"] == "equivalent"
    assert facts["the graphs are equal"]
    if facts["computed in"] == "bfloat16":
        _one_cause(facts, "precision", "precision default")
    else:
        assert facts["precision default"]["verdict"] == "equivalent"


def quantization_audit(facts):
    if "not installed" in facts.values():
        pytest.skip("the packages that carry the models are installed by 'make test' alone")
    for name, tensors in (("fer", 9), ("openwakeword", 99)):
        assert facts[f"{name}, verdicts"] == ["degraded"]
        assert facts[f"{name}, quantized tensors"] == tensors
        assert facts[f"{name}, tensors tried in float"] == tensors
        worst = [row for tensor, row in facts.items() if tensor.startswith(f"{name}: ")]
        here, fresh = (
            [int(row[column].rstrip("%")) for row in worst]
            for column in ("error in float", "on fresh inputs")
        )
        assert len(worst) == 3
        assert max(here) < 0
        # Where the error is spread over many tensors, none of them repairs it elsewhere.
        assert fresh[0] < 0 if name == "fer" else min(fresh) > -50


def residual_overflow(facts):
    large, small = facts["two summands of 40,000"], facts["two summands of 20,000"]
    # A CPU with float16 kernels computes the sum as declared.
    assert large["verdict"] in {"degraded", "divergent"}
    assert small["verdict"] == "degraded"
    assert small["node"] == ""
    if large["verdict"] == "degraded":
        assert (large["node"], large["cause"]) == ("residual_2", "precision")
        assert (facts["code"], facts["tensor"]) == ("OVERFLOW_HIDDEN", "stream_2")
        assert facts["largest number of float16"] == 65504
        assert 65504 < facts["how large it becomes"] < 1e5


def accuracy_level(facts):
    assert facts["level 0"]["verdict"] == facts["level 1"]["verdict"] == "equivalent"
    found = facts["level 4 and another epsilon"]
    assert (found["verdict"], found["node"], found["cause"]) == ("divergent", "norm", "attribute")
    if facts["tokens that differ at level 4"]:  # a CPU without kernels for bytes stays in float
        found = facts["level 4"]
        assert (found["verdict"], found["cause"], found["confirmed"]) == (
            "degraded", "precision", True,
        )  # fmt: skip
        assert facts["nodes"] == ["up", "down", "head"]
        assert "accuracy_level is 4" in facts["in words"]
        error = "relative error with", "outlier"
        assert facts[f"{error[0]} the {error[1]}"] > 5 * facts["relative error without it"]


def silent_export(facts):
    assert facts["every row sees a key"]["verdict"] == "equivalent"
    expected = {
        "divisor_override": ("attribute", "AveragePool"),
        "a row that sees no key": ("missing_op", "the mask hides every key of 1 row"),
    }
    for title, (cause, words) in expected.items():
        if facts[title]["verdict"] == "divergent":  # a later version may be right
            _one_cause(facts, cause, title)
            assert words in facts[f"{title}, in words"]
        else:
            assert facts[title]["verdict"] == "equivalent"


CLAIMS = [
    accuracy_level,
    exp_in_ulp,
    quantize_ties,
    relu_shift,
    int16_wraps,
    entr_export,
    dynamic_axes,
    data_dependent_if,
    execution_provider,
    float16,
    recorded_reference,
    tf_exp_in_ulp,
    tf_fake_quant,
    tflite_small,
    tflite_quantized,
    one_node,
    pool_borders,
    weight_in_half,
    operands_swapped,
    outputs_swapped,
    dropout_left_in,
    custom_operator,
    nan_in_reduce,
    int32_overflow,
    zero_point,
    faulty_optimizer,
    faulty_compilers,
    frozen_size,
    bfloat16_by_default,
    quantization_audit,
    residual_overflow,
    silent_export,
]


@pytest.mark.parametrize("claims", CLAIMS, ids=lambda claims: claims.__name__)
def test_example_runs_and_its_facts_hold(claims, tmp_path):
    facts, printed = run(claims.__name__, tmp_path)
    claims(facts)
    assert all(name in printed for name in facts), "a fact was measured and not shown"
    assert [path.name for path in tmp_path.iterdir()] == ["facts.json"], "it left files behind"


def test_every_example_is_run_and_listed():
    programs = {path.stem for path in EXAMPLES.glob("*.py")} - SHARED
    assert programs == {claims.__name__ for claims in CLAIMS}
    listed = (EXAMPLES / "README.md").read_text()
    assert [name for name in sorted(programs) if f"`{name}.py`" not in listed] == []


@pytest.mark.parametrize("name", sorted(claims.__name__ for claims in CLAIMS))
def test_example_states_its_question_and_its_measured_answer(name):
    text = (EXAMPLES / f"{name}.py").read_text()
    question, _, rest = text.partition('"""\n\nfrom __future__')[0].partition("\n")
    assert question.startswith('"""')
    assert question.rstrip().endswith("?")
    assert "\nMeasured" in rest
