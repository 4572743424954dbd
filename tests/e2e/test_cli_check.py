"""The command line from outside: exit codes, files, and what is never printed."""

import json
import os
import signal
import subprocess
import sys
import time

import jsonschema
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph.reporters.json import schema
from warm_process import isomorph


def _save(path, *, epsilon=1e-5, name="norm"):
    draw = np.random.default_rng(0)
    arrays = {
        "w": draw.standard_normal((4, 3, 3, 3)) * 0.2,
        "scale": draw.uniform(0.5, 1.5, 4),
        "shift": draw.standard_normal(4),
        "mean": draw.standard_normal(4) * 0.1,
        "var": draw.uniform(0.3, 2.0, 4),
    }
    norm = ["c", "scale", "shift", "mean", "var"]
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", norm, ["n"], name=name, epsilon=epsilon),
        helper.make_node("Relu", ["n"], ["r"], name="relu"),
        helper.make_node("GlobalAveragePool", ["r"], ["y"], name="pool"),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4, 1, 1])],
        [numpy_helper.from_array(value.astype(np.float32), key) for key, value in arrays.items()],
    )
    opsets = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    _save(folder / "a.onnx")
    _save(folder / "same.onnx")
    _save(folder / "wrong.onnx", epsilon=1e-3)
    _save(folder / "hostile.onnx", epsilon=1e-3, name="[red]\x1b[2J\u202e<b>")
    return folder


def test_the_same_function_is_0(models):
    done = isomorph(models, "check", "a.onnx", "same.onnx", fresh=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("EQUIVALENT on 4 generated inputs  ")


def test_another_function_is_1(models):
    done = isomorph(models, "check", "a.onnx", "wrong.onnx")
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith("DIVERGENT  ")


def test_one_model_is_compared_with_its_own_oracle(models):
    done = isomorph(models, "check", "a.onnx")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_json_satisfies_the_published_schema(models, tmp_path):
    target = tmp_path / "r.json"
    done = isomorph(models, "check", "a.onnx", "wrong.onnx", "--format", "json", "-o", target)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("DIVERGENT  ")
    assert "GUILTY_NODE" in done.stdout, "what goes into a file is summed up on the terminal"
    assert done.stdout.endswith(f"written to {target}\n")
    report = json.loads(target.read_text())
    jsonschema.Draft202012Validator(schema()).validate(report)
    assert report["verdict"] == "divergent"
    assert report["outputs"][0]["rounding"]["budget"]["ratio"] > 1


def test_the_ending_of_the_file_chooses_the_format(models, tmp_path):
    for name, begins in (("r.json", "{"), ("r.html", "<!doctype"), ("r.txt", "DIVERGENT")):
        done = isomorph(models, "check", "a.onnx", "wrong.onnx", "-o", tmp_path / name)
        assert done.returncode == 1, done.stderr
        assert (tmp_path / name).read_text(encoding="utf-8").lower().startswith(begins.lower())
    stated = isomorph(
        models, "check", "a.onnx", "a.onnx", "--format", "markdown", "-o", tmp_path / "r.json"
    )
    assert stated.returncode == 0, stated.stderr
    assert (tmp_path / "r.json").read_text(encoding="utf-8").startswith("#")


def test_a_misspelt_setting_is_corrected(models):
    done = isomorph(models, "run", "a.onnx", "--set", "optimisation=none")
    assert done.returncode == 2
    assert "fix: --set optimization=…" in done.stderr


def test_equal_seeds_give_equal_figures(models):
    words = ("check", "a.onnx", "wrong.onnx", "--format", "json", "--seed", "5")
    first, second = (json.loads(isomorph(models, *words).stdout) for _ in range(2))
    assert first["seed"] == 5
    assert first["outputs"] == second["outputs"]


def test_recorded_outputs_are_a_reference(models, tmp_path):
    image = np.random.default_rng(1).standard_normal((2, 3, 8, 8)).astype(np.float32)
    np.savez(tmp_path / "in.npz", x=image)
    given = ("--inputs", tmp_path / "in.npz")
    kept = isomorph(models, "run", "a.onnx", *given, "-o", tmp_path / "expected.npz")
    assert kept.returncode == 0, kept.stderr
    alone = isomorph(models, "check", tmp_path / "expected.npz", "same.onnx")
    assert alone.returncode == 2
    assert "error[INPUTS_NEEDED]" in alone.stderr, "made-up inputs would make any model look wrong"
    same = isomorph(models, "check", tmp_path / "expected.npz", "same.onnx", *given)
    assert same.returncode == 0, same.stdout + same.stderr
    wrong = isomorph(models, "check", tmp_path / "expected.npz", "wrong.onnx", *given)
    assert wrong.returncode == 1, wrong.stdout + wrong.stderr


def test_a_budget_of_the_users_own_decides(models):
    done = isomorph(models, "check", "a.onnx", "wrong.onnx", "--budget", "y=0.5")
    assert done.returncode == 0, done.stdout + done.stderr


def test_names_from_a_model_are_data(models):
    for line in (["check", "a.onnx", "hostile.onnx"], ["inspect", "hostile.onnx", "--nodes"]):
        done = isomorph(models, *line)
        assert not set("\x1b\u202e") & set(done.stdout + done.stderr)
    assert "[red]\\x1b[2J\\u202e<b>" in done.stdout


def test_a_terminal_without_unicode_gets_ascii(models):
    terminal = {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    done = isomorph(models, "check", "a.onnx", "wrong.onnx", fresh=True, **terminal)
    assert done.returncode == 1, done.stderr
    assert done.stdout.isascii()


def test_a_reader_that_leaves_early_changes_nothing(models):
    reading, writing = os.pipe()
    os.close(reading)
    line = [sys.executable, "-m", "isomorph", "check", "a.onnx", "wrong.onnx"]
    done = subprocess.run(
        line, cwd=models, stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_a_link_is_not_written_through(models, tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "r.json").symlink_to(tmp_path / "precious")
    done = isomorph(models, "check", "a.onnx", "same.onnx", "-o", tmp_path / "r.json")
    assert done.returncode == 4
    assert "error[OUTPUT_IS_LINK]" in done.stderr
    assert (tmp_path / "precious").read_text() == "mine"


@pytest.mark.parametrize(
    ("line", "code", "exit_code"),
    [
        (["check", "absent.onnx", "a.onnx"], "error[", 2),
        (["check", "a.onnx", "same.onnx", "--runtime", "onnxruntim"], "error[UNKNOWN_NAME]", 2),
        (["check", "a.onnx", "same.onnx", "--format", "jsn"], "error[UNKNOWN_FORMAT]", 2),
        (["chek"], "error[USAGE]", 2),
    ],
)
def test_wrong_use_is_explained_in_one_screen(models, line, code, exit_code):
    done = isomorph(models, *line, fresh=True)
    assert done.returncode == exit_code, done.stdout + done.stderr
    assert code in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 24


def test_an_interruption_ends_it_and_leaves_no_process(tmp_path):
    _save_endless(tmp_path / "endless.onnx")
    line = [sys.executable, "-m", "isomorph", "run", "endless.onnx"]
    started = subprocess.Popen(
        line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    time.sleep(4)
    assert started.poll() is None, started.communicate()
    os.killpg(started.pid, signal.SIGINT)
    _, message = started.communicate(timeout=300)
    assert started.returncode == 130, message
    assert "Traceback" not in message


def _save_endless(path):
    flag = helper.make_tensor_value_info("go", TensorProto.BOOL, [])
    value = helper.make_tensor_value_info("v", TensorProto.FLOAT, [1])
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go_on"]),
            helper.make_node("Add", ["v", "one"], ["v_next"]),
        ],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), flag, value],
        [
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v_next", TensorProto.FLOAT, [1]),
        ],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["most", "yes", "x"], ["y"], name="loop", body=body)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
        [
            numpy_helper.from_array(np.array(2**62, np.int64), "most"),
            numpy_helper.from_array(np.array(True), "yes"),
            numpy_helper.from_array(np.ones(1, np.float32), "one"),
        ],
    )
    opsets = [helper.make_opsetid("", 18)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)


def test_run_shows_and_keeps_what_came_out(models, tmp_path):
    for name in ("out.npz", "out.safetensors", "trace"):
        done = isomorph(models, "run", "a.onnx", "--all", "--dim", "batch=2", "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / name).exists()
    assert {"c", "n", "r", "y"} <= set(np.load(tmp_path / "out.npz").files)
    rows = {line.split()[0] for line in done.stdout.splitlines()[1:]}
    assert {"tensor", "c", "n", "r", "y"} <= rows


def test_run_fetches_any_tensor(models):
    done = isomorph(models, "run", "a.onnx", "--fetch", "n", fresh=True)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == ["tensor", "n"]


def test_inspect_describes_the_model(models):
    done = isomorph(models, "inspect", "a.onnx", fresh=True)
    assert done.returncode == 0, done.stderr
    assert "1 BatchNormalization" in done.stdout
    assert "x  float32 [batch, 3, 8, 8]" in done.stdout


def test_a_provider_that_was_asked_for_and_not_got_is_no_success(models):
    import onnxruntime

    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this machine has it")
    words = ("a.onnx", "same.onnx", "--quick", "--set", "candidate.providers=cuda")
    done = isomorph(models, "check", *words)
    assert done.returncode == 3, done.stdout + done.stderr
    text = " ".join(done.stdout.split())
    assert "the candidate ran in CPUExecutionProvider, not in CUDAExecutionProvider" in text
    done = isomorph(models, "check", *words[:-1], "candidate.providers=cuda,cpu")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PROVIDER_FALLBACK" in done.stdout
    for providers, code in (("cuda", 3), ("cuda,cpu", 0), ("cpu", 0)):
        given = ("a.onnx", "--set", f"providers={providers}")
        for words in (("run", *given), ("trace", *given, "-o", f"trace-{providers}")):
            done = isomorph(models, *words)
            assert done.returncode == code, done.stderr
            assert ("warning[PROVIDER_FALLBACK]" in done.stderr) == (providers != "cpu")
