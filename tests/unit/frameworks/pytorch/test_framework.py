import json
import pickle
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from isomorph.core.errors import RefusedError, UnreadableModelError, UsageError
from isomorph.core.trace import Environment
from isomorph.frameworks.pytorch.framework import PytorchFramework
from isomorph.frameworks.pytorch.runtime import PytorchRuntime

FRAMEWORK = PytorchFramework()
X = torch.arange(6.0).reshape(2, 3)


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 4)

    def forward(self, x):
        return torch.relu(self.inner(x)) * 0.5


@pytest.fixture
def module():
    torch.manual_seed(0)
    return Small().eval()


@pytest.fixture
def pt2(module, tmp_path):
    path = tmp_path / "small.pt2"
    torch.export.save(torch.export.export(module, (X,)), path)
    return path


def sniffs(path):
    with path.open("rb") as file:
        return FRAMEWORK.sniff(path, file.read(64))


def answer(model, x=X):
    session = PytorchRuntime().open(model, Environment(runtime="pytorch"))
    name = model.graph.outputs[0].name
    return session.run({model.graph.inputs[0].name: x.numpy()}, [name])[name]


def scripted(module, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.script(module).save(path)
    return path


def test_files_are_known_by_content(module, pt2, tmp_path):
    torch.save(module, tmp_path / "pickled.bin")
    torch.save(module, tmp_path / "old.bin", _use_new_zipfile_serialization=False)
    scripted(module, tmp_path / "scripted.bin")
    pt2.rename(tmp_path / "exported.bin")
    for name in ("pickled", "old", "scripted", "exported"):
        assert sniffs(tmp_path / f"{name}.bin"), name


def test_other_archives_are_not_claimed(tmp_path):
    np.savez(tmp_path / "arrays.npz", x=np.ones(3))
    with zipfile.ZipFile(tmp_path / "model.keras", "w") as archive:
        archive.writestr("config.json", "{}")
        archive.writestr("model.weights.h5", "")
    (tmp_path / "page.pt").write_text("<!doctype html><title>404</title>")
    (tmp_path / "cut.pt2").write_bytes(b"PK\x03\x04 and then nothing")
    for name in ("arrays.npz", "model.keras", "page.pt", "cut.pt2"):
        assert not sniffs(tmp_path / name), name


def test_sniffing_and_claiming_import_nothing_heavy(pt2):
    import subprocess

    program = (
        "import sys, pathlib\n"
        "from isomorph.frameworks.pytorch.framework import PytorchFramework as F\n"
        f"path = pathlib.Path({str(pt2)!r})\n"
        "assert F().sniff(path, path.read_bytes()[:64]) and not F().claims(object())\n"
        "print(sorted({'torch', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_description_of_an_exported_program(module, pt2):
    model = FRAMEWORK.load(pt2, {})
    linear, relu, mul = model.graph.nodes
    assert [node.op for node in model.graph.nodes] == ["Gemm", "Relu", "Mul"]
    assert linear.native_op == "aten.linear.default"
    assert linear.inputs == ("x", "p_inner_weight", "p_inner_bias")
    assert linear.source.module == "inner"
    assert Path(linear.source.file).name == Path(__file__).name
    assert linear.source.line > 0
    assert mul.attributes == {"other": 0.5}
    assert model.graph.inputs[0].shape == (2, 3)
    assert model.graph.tensors[relu.outputs[0]].dtype == "float32"
    constant = model.graph.constants["p_inner_bias"]
    assert constant.values == tuple(module.inner.bias.tolist())
    assert model.graph.constants["p_inner_weight"].shape == (4, 3)
    assert model.graph.outputs[0].name == mul.outputs[0]


def test_defaults_of_the_operators_are_spelled_out():
    exported = torch.export.export(nn.Conv2d(1, 1, 3), (torch.ones(1, 1, 4, 4),))
    (conv,) = FRAMEWORK.load(exported, {}).graph.nodes
    assert conv.op == "Conv"
    assert conv.attributes["dilation"] == (1, 1)
    assert conv.attributes["groups"] == 1


def test_a_step_with_several_outputs_names_them_all():
    class Parts(nn.Module):
        def forward(self, x):
            left, _, right = torch.split(x, 1, dim=1)
            return left + right, x.max(1).indices

    model = FRAMEWORK.load(torch.export.export(Parts(), (X,)), {})
    split = next(node for node in model.graph.nodes if node.op == "Split")
    assert len(split.outputs) == 3
    largest = next(node for node in model.graph.nodes if node.op == "ReduceMax")
    assert [model.graph.tensors[name].dtype for name in largest.outputs] == ["float32", "int64"]
    names = [name for node in model.graph.nodes for name in node.outputs]
    assert len(names) == len(set(names))


def test_a_live_module_and_its_file_are_the_same_model(module, pt2, tmp_path):
    inputs = tmp_path / "inputs.npz"
    np.savez(inputs, x=X.numpy())
    live = FRAMEWORK.load(module, {"inputs": str(inputs)})
    file = FRAMEWORK.load(str(pt2), {})
    assert [node.name for node in live.graph.nodes] == [node.name for node in file.graph.nodes]
    assert live.graph.constants == file.graph.constants
    assert np.array_equal(answer(live), answer(file))
    with pytest.raises(UsageError) as refused:
        FRAMEWORK.load(module, {})
    assert refused.value.code == "EXAMPLE_NEEDED"


@pytest.mark.parametrize("example", [{"x": X.numpy()}, {"0": X.numpy()}])
def test_a_live_module_is_handed_over_as_a_file(module, tmp_path, example):
    assert FRAMEWORK.claims(module)
    path = FRAMEWORK.hand_over(module, example, tmp_path)
    with torch.no_grad():
        assert np.array_equal(answer(FRAMEWORK.load(path, {})), module(X).numpy())


def test_a_module_in_training_mode_is_noted(module, tmp_path):
    np.savez(tmp_path / "inputs.npz", x=X.numpy())
    model = FRAMEWORK.load(module.train(), {"inputs": str(tmp_path / "inputs.npz")})
    assert any("training mode" in note for note in model.notes)
    assert module.training


class Marker:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (Path(self.path),)


@pytest.mark.parametrize("zipped", [True, False])
def test_a_pickle_is_refused_without_being_opened(tmp_path, zipped):
    marker, path = tmp_path / "marker", tmp_path / "model.pt"
    torch.save(
        {"weights": torch.ones(2), "x": Marker(marker)}, path, _use_new_zipfile_serialization=zipped
    )
    with pytest.raises(RefusedError) as refused:
        FRAMEWORK.load(path, {})
    assert (refused.value.code, refused.value.exit_code) == ("UNSAFE_PICKLE", 4)
    assert "touch" in refused.value.where or "getattr" in refused.value.where
    assert "--trust" in refused.value.fix
    assert not marker.exists()


def test_a_plain_pickle_is_refused_by_the_class_it_names(module, tmp_path):
    path = tmp_path / "model.pt"
    path.write_bytes(pickle.dumps(Small))
    with pytest.raises(RefusedError) as refused:
        FRAMEWORK.load(path, {})
    assert f"{Small.__module__}.Small" in refused.value.where


@pytest.mark.parametrize("zipped", [True, False])
def test_a_state_dict_is_called_one_without_asking_for_trust(module, tmp_path, zipped):
    path, options = tmp_path / "state.pt", {"_use_new_zipfile_serialization": zipped}
    for held in (module.state_dict(), {"model": module.state_dict(), "epoch": 3}):
        torch.save(held, path, **options)
        with pytest.raises(UnreadableModelError) as refused:
            FRAMEWORK.load(path, {})
        assert refused.value.code == "NOT_A_MODEL"
        assert "state dict" in refused.value.what
        assert "factory" in refused.value.fix


def test_a_pickled_module_needs_trust_and_inputs(module, tmp_path):
    torch.save(module, tmp_path / "module.pt")
    with pytest.raises(RefusedError) as refused:
        FRAMEWORK.load(tmp_path / "module.pt", {})
    assert refused.value.code == "UNSAFE_PICKLE"
    assert "--trust" in refused.value.fix
    assert "--inputs" in refused.value.fix


def test_a_trusted_pickle_is_a_module_or_an_error(module, tmp_path):
    np.savez(tmp_path / "inputs.npz", x=X.numpy())
    options = {"trust": "yes", "inputs": str(tmp_path / "inputs.npz")}
    torch.save(module, tmp_path / "module.pt")
    with torch.no_grad():
        expected = module(X).numpy()
    assert np.array_equal(answer(FRAMEWORK.load(tmp_path / "module.pt", options)), expected)
    torch.save(module.state_dict(), tmp_path / "state.pt")
    with pytest.raises(UnreadableModelError, match="OrderedDict") as refused:
        FRAMEWORK.load(tmp_path / "state.pt", options)
    assert "factory" in refused.value.fix


@pytest.fixture
def factory(tmp_path, monkeypatch):
    (tmp_path / "zoo_of_one.py").write_text(
        "import torch\n"
        "def build():\n"
        "    return torch.nn.Linear(3, 2).eval(), (torch.zeros(1, 3),)\n"
        "def broken():\n"
        "    raise KeyError('no weights here')\n"
    )
    monkeypatch.chdir(tmp_path)
    yield "zoo_of_one:build"
    sys.modules.pop("zoo_of_one", None)


def test_a_factory_needs_trust(factory):
    with pytest.raises(RefusedError) as refused:
        FRAMEWORK.load(factory, {})
    assert refused.value.code == "FACTORY_NEEDS_TRUST"
    assert "zoo_of_one" not in sys.modules


def test_a_factory_takes_its_state_from_safetensors(factory, tmp_path):
    save_file({"weight": torch.ones(2, 3), "bias": torch.tensor([1.0, 2.0])}, "w.safetensors")
    model = FRAMEWORK.load(factory, {"trust": "yes", "state": "w.safetensors"})
    assert answer(model, torch.ones(1, 3)).tolist() == [[4.0, 5.0]]
    assert model.location == factory
    save_file({"weight": torch.ones(2, 3)}, "short.safetensors")
    with pytest.raises(UnreadableModelError, match="state") as refused:
        FRAMEWORK.load(factory, {"trust": "yes", "state": "short.safetensors"})
    assert "bias" in refused.value.why
    assert str(tmp_path) not in sys.path


def test_a_factory_that_is_missing_or_raises(factory):
    with pytest.raises(UsageError) as missing:
        FRAMEWORK.load("zoo_of_one:nothing", {"trust": "yes"})
    assert missing.value.code == "NO_SUCH_FACTORY"
    with pytest.raises(UnreadableModelError, match="KeyError") as broken:
        FRAMEWORK.load("zoo_of_one:broken", {"trust": "yes"})
    assert "no weights here" in broken.value.why


def test_a_truncated_file_is_known_and_unreadable(module, pt2, tmp_path):
    torch.save(module, tmp_path / "whole.pt")
    for source in (pt2, tmp_path / "whole.pt"):
        data = source.read_bytes()
        path = tmp_path / f"cut{source.suffix}"
        path.write_bytes(data[: len(data) * 2 // 3])
        assert sniffs(path)
        with pytest.raises(UnreadableModelError) as refused:
            FRAMEWORK.load(path, {})
        assert refused.value.code == "MODEL_TRUNCATED"
        assert str(len(data) * 2 // 3) in refused.value.where


def rewritten(source, target, change):
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(target, "w") as after:
        for item in before.infolist():
            after.writestr(item.filename, change(item.filename, before.read(item)))
    return target


def test_an_export_that_would_unpickle_a_class_is_refused(pt2, tmp_path):
    marker = tmp_path / "marker"
    torch.save(((Marker(marker),), {}), tmp_path / "inputs.pt")
    evil = (tmp_path / "inputs.pt").read_bytes()
    bad = rewritten(
        pt2, tmp_path / "bad.pt2", lambda name, data: evil if name.endswith("model.pt") else data
    )
    with pytest.raises(RefusedError) as refused:
        FRAMEWORK.load(bad, {})
    assert refused.value.code == "UNSAFE_PICKLE"
    assert not marker.exists()


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("torch.ops.aten.relu.default", "torch.hub.load", "UNSAFE_TARGET"),
        ("torch.ops.aten.relu.default", "torch.os.system", "UNSAFE_TARGET"),
        ("torch.ops.aten.relu.default", "torch.ops.aten.from_file.default", "UNSAFE_TARGET"),
        ('"as_int": 4}', '"as_expr": {"expr_str": "__import__(\'os\')", "hint": null}}',
         "UNSAFE_EXPRESSION"),
    ],
)  # fmt: skip
def test_an_export_that_would_run_code_is_refused(pt2, tmp_path, old, new, code):
    def change(name, data):
        if not name.endswith("models/model.json"):
            return data
        text = json.dumps(json.loads(data))
        assert old in text, "the change would do nothing"
        return text.replace(old, new).encode()

    with pytest.raises(RefusedError) as refused:
        FRAMEWORK.load(rewritten(pt2, tmp_path / "bad.pt2", change), {})
    assert refused.value.code == code


def test_an_operator_that_nobody_registers_is_refused_by_its_name(pt2, tmp_path):
    def change(name, data):
        return data.replace(b"torch.ops.aten.relu.default", b"torch.ops.example.frobnicate.default")

    with pytest.raises(UnreadableModelError, match="frobnicate") as refused:
        FRAMEWORK.load(rewritten(pt2, tmp_path / "odd.pt2", change), {})
    assert refused.value.code == "UNSUPPORTED_OP"
    assert "relu" in refused.value.where


def test_sizes_written_as_expressions_are_fine(tmp_path):
    path = tmp_path / "dynamic.pt2"
    dims = ({0: torch.export.Dim("batch", max=64)},)

    class Doubling(nn.Module):
        def forward(self, x):
            return torch.cat([x, x]).reshape(-1, 2, 3)

    torch.export.save(torch.export.export(Doubling(), (X,), dynamic_shapes=dims), path)
    model = FRAMEWORK.load(path, {})
    assert answer(model, torch.ones(5, 3)).shape == (5, 2, 3)


def test_save_writes_a_copy_and_never_onto_the_source(pt2, tmp_path):
    model = FRAMEWORK.load(pt2, {})
    copy = tmp_path / "copy.pt2"
    FRAMEWORK.save(model, copy)
    assert np.array_equal(answer(FRAMEWORK.load(copy, {})), answer(model))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.pt2", "small.pt2"]
    before = pt2.read_bytes()
    with pytest.raises(RefusedError) as refused:
        FRAMEWORK.save(model, pt2)
    assert refused.value.code == "OUTPUT_IS_INPUT"
    link = tmp_path / "link.pt2"
    link.symlink_to(copy)
    with pytest.raises(RefusedError):
        FRAMEWORK.save(model, link)
    assert pt2.read_bytes() == before
