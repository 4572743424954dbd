"""A PyTorch program in OpenVINO without ONNX in between."""

import numpy as np
import pytest

from isomorph import registry
from isomorph.core.conversion import Order
from isomorph.core.errors import RuntimeFailedError, UsageError
from isomorph.core.trace import Environment

openvino = pytest.importorskip("openvino")
torch = pytest.importorskip("torch")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = torch.nn.Linear(6, 5)

    def forward(self, x):
        return torch.softmax(self.dense(x), -1)


@pytest.fixture
def exported(tmp_path):
    torch.manual_seed(0)
    program = torch.export.export(
        Net().eval(), (torch.randn(2, 6),), dynamic_shapes=({0: torch.export.Dim("batch")},)
    )
    torch.export.save(program, tmp_path / "net.pt2")
    return tmp_path / "net.pt2"


def ordered(source, folder):
    x = np.random.default_rng(0).standard_normal((2, 6)).astype(np.float32)
    np.savez(folder / "x.npz", x=x)
    model = registry.framework("pytorch").load(str(source), {})
    return Order(
        source=str(source),
        target=str(folder / "net.xml"),
        example=str(folder / "x.npz"),
        inputs=model.graph.inputs,
    )


def test_the_files_keep_weights_and_sizes(exported, tmp_path):
    (note,) = registry.converter("pytorch_to_openvino").convert(ordered(exported, tmp_path))
    assert note == "weights as they were"
    (port,) = openvino.Core().read_model(tmp_path / "net.xml").inputs
    # The batch stays open, and six stays six.
    assert [each.is_dynamic for each in port.get_partial_shape()] == [True, False]
    # Thirty weights in float32, not in the float16 that OpenVINO saves by default.
    assert (tmp_path / "net.bin").stat().st_size >= 6 * 5 * 4


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_torchscript_is_given_another_way(tmp_path):
    script = torch.jit.trace(Net().eval(), torch.randn(2, 6))
    script.save(tmp_path / "net.pt")
    with pytest.raises(RuntimeFailedError, match="TorchScript") as caught:
        registry.converter("pytorch_to_openvino").convert(ordered(tmp_path / "net.pt", tmp_path))
    assert "--via onnx" in caught.value.fix


def test_the_runtime_runs_a_program_whole(exported):
    model = registry.framework("pytorch").load(str(exported), {})
    runtime = registry.runtime("openvino")
    session = runtime.open(model, Environment(runtime="openvino", settings={"precision": "f32"}))
    x = np.ones((3, 6), np.float32)
    (output,) = (spec.name for spec in model.graph.outputs)
    found = session.run({"x": x}, [output])[output]
    assert found.shape == (3, 5)
    assert found.sum() == pytest.approx(3.0)
    with pytest.raises(UsageError, match="whole"):
        session.run({"x": x}, [model.graph.nodes[0].outputs[0]])
    session.close()
