"""Files of OpenVINO are known by their content, and models in memory are written down."""

import numpy as np
import pytest

import isomorph
from isomorph import registry
from isomorph.core.errors import RefusedError
from isomorph.core.model import LoadFact
from openvino_building import Net, network

FRAMEWORK = registry.framework("openvino")


@pytest.mark.parametrize(
    ("head", "own"),
    [
        (b'<?xml version="1.0"?>\n<net name="m" version="11">', True),
        (b'<net name="m" version="10">', True),
        (b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- a net --><net name="m" version="11">', True),
        (b'<?xml version="1.0"?>\n<network version="11">', False),
        (b"<html><net name='m'>", False),
        (b"", False),
    ],
)
def test_a_file_by_its_content(tmp_path, head, own):
    assert FRAMEWORK.sniff(tmp_path / "m", head) is own


def test_a_model_in_memory(tmp_path):
    ov = pytest.importorskip("openvino")
    x = ov.opset13.parameter([2, 3], np.float32, name="x")
    live = ov.Model([ov.opset13.relu(x)], [x], "live")
    assert FRAMEWORK.claims(live)
    assert not FRAMEWORK.claims(object())
    report = isomorph.check(live, live, in_process=True)
    assert report.verdict is isomorph.Verdict.EQUIVALENT


def test_a_state_is_stated(tmp_path):
    net = Net()
    x = net.parameter("x", (2,))
    start = net.constant("start", np.zeros(2, np.float32))
    before = net.op("before", "ReadValue", [start], (2,), version="opset6", variable_id="v",
                    variable_type="f32", variable_shape="2")  # fmt: skip
    total = net.op("total", "Add", [before, x], (2,))
    net.op("after", "Assign", [total], (2,), version="opset6", variable_id="v")
    net.result(total)
    model = FRAMEWORK.load(net.write(tmp_path / "state.xml"), {})
    assert model.load_facts[LoadFact.KEEPS_STATE] == "v"
    assert "v" in model.notes[0]


def test_the_weights_belong_to_the_model(tmp_path):
    path = network(tmp_path / "m.xml")
    assert FRAMEWORK.sidecar_files(path) == (path.with_suffix(".bin"),)


def test_a_copy_is_never_written_over_the_original(tmp_path):
    path = network(tmp_path / "m.xml")
    model = FRAMEWORK.load(path, {})
    with pytest.raises(RefusedError):
        FRAMEWORK.save(model, path)
