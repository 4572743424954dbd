"""Repairs written into files of PyTorch, Keras and TensorFlow, and proven like any other."""

import warnings
import zipfile

import numpy as np
import pytest

from isomorph import api
from isomorph.frameworks.tensorflow.silence_logs import import_tensorflow, quietly


def fixed(reference, candidate, output, **more):
    return api.fix(reference, candidate, output=output, in_process=True, **more)


@pytest.fixture(scope="module")
def torch_files(tmp_path_factory):
    torch = pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("torch")

    def net(slope=0.1, *, flipped=False):
        torch.manual_seed(0)
        layers = [torch.nn.Linear(6, 5), torch.nn.LeakyReLU(slope), torch.nn.Linear(5, 4)]
        made = torch.nn.Sequential(*layers).eval()
        if flipped:
            with torch.no_grad():
                made[2].weight.copy_(made[2].weight.flip(1))
        return made

    x = (torch.ones(3, 6),)
    wrong = {"ref": net(), "slope": net(0.3), "weight": net(flipped=True)}
    with warnings.catch_warnings(action="ignore"):
        for name, module in wrong.items():
            torch.export.save(torch.export.export(module, x), folder / f"{name}.pt2")
            torch.jit.trace(module, x).save(folder / f"{name}.pt")
    return folder


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("slope.pt2", "negative_slope from 0.3 to 0.1"),
        ("weight.pt2", "constant 'p_2_weight'"),
        ("weight.pt", "constant 'p_2_weight'"),
    ],
)
def test_a_torch_copy_is_right(torch_files, tmp_path, name, words):
    before = (torch_files / name).read_bytes()
    repair = fixed(torch_files / "ref.pt2", torch_files / name, tmp_path / name)
    assert repair.repaired, (repair.reason, repair.refused)
    assert words in repair.applied[0].patch.summary
    assert (torch_files / name).read_bytes() == before
    assert api.check(torch_files / "ref.pt2", tmp_path / name, in_process=True).exit_code == 0


def test_weights_alone_are_written_as_a_state(torch_files, tmp_path):
    from safetensors.numpy import load_file

    repair = fixed(torch_files / "ref.pt2", torch_files / "weight.pt2", tmp_path / "w.safetensors")
    assert repair.repaired, (repair.reason, repair.refused)
    state = load_file(tmp_path / "w.safetensors")
    assert sorted(state) == ["0.bias", "0.weight", "2.bias", "2.weight"]
    assert np.array_equal(state["2.weight"], repair.applied[0].patch.edits[0].value)


def test_what_torchscript_states_stays_and_the_change_is_reported(torch_files, tmp_path):
    repair = fixed(torch_files / "ref.pt2", torch_files / "slope.pt", tmp_path / "slope.pt")
    assert not repair.repaired
    assert any("set negative_slope to 0.1" in line for line in repair.advice)
    assert not (tmp_path / "slope.pt").exists()


@pytest.fixture(scope="module")
def keras_files(tmp_path_factory):
    import_tensorflow("this test")
    import keras

    folder = tmp_path_factory.mktemp("keras")

    def net(slope=0.1, epsilon=1e-3, *, flipped=False):
        x = keras.Input((6,), name="x")
        y = keras.layers.Dense(5, name="first")(x)
        y = keras.layers.LeakyReLU(negative_slope=slope, name="leaky")(y)
        y = keras.layers.LayerNormalization(epsilon=epsilon, name="norm")(y)
        made = keras.Model(x, keras.layers.Dense(4, name="last")(y))
        drawn = np.random.default_rng(0)
        for each in made.variables:
            each.assign(drawn.uniform(0.1, 1.0, each.shape))
        if flipped:
            kernel = made.get_layer("last").kernel
            kernel.assign(kernel.numpy()[::-1].copy())
        made.compile("adam")
        return made

    made = {
        "ref": net(), "slope": net(0.3), "norm": net(epsilon=0.1), "weight": net(flipped=True)
    }  # fmt: skip
    with quietly():
        for name, model in made.items():
            model.save(folder / f"{name}.keras")
            if name != "ref":
                model.export(folder / name, verbose=False)
    return folder


@pytest.mark.parametrize("form", ["", ".keras"])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("slope", "alpha from 0.3 to 0.1"),
        ("norm", "norm_1/add/y'"),
        ("weight", "constant 'last/kernel'"),
    ],
)
def test_a_keras_or_saved_copy_is_right(keras_files, tmp_path, name, words, form):
    output = tmp_path / f"fixed{form}"
    repair = fixed(keras_files / "ref.keras", keras_files / f"{name}{form}", output)
    assert repair.repaired, (repair.reason, repair.refused)
    assert words in repair.applied[0].patch.summary
    assert api.check(keras_files / "ref.keras", output, in_process=True).exit_code == 0
    if form:
        with zipfile.ZipFile(output) as archive:
            assert b'"adam"' in archive.read("config.json").lower(), "training was lost"


def test_a_frozen_graph_takes_a_missing_operator(keras_files, tmp_path):
    from isomorph.frameworks.tensorflow.framework import TensorflowFramework

    native = TensorflowFramework().load(keras_files / "ref.keras", {}).native
    graph = native.program.graph_def
    whole, cut = tmp_path / "whole.pb", tmp_path / "cut.pb"
    [last] = [node for node in graph.node if node.op == "Identity"]
    last.op = "Tanh"
    whole.write_bytes(graph.SerializeToString())
    last.op = "Identity"
    cut.write_bytes(graph.SerializeToString())
    repair = fixed(whole, cut, tmp_path / "fixed.pb")
    assert repair.repaired, (repair.reason, repair.refused)
    assert api.check(whole, tmp_path / "fixed.pb", in_process=True).exit_code == 0
