"""Every reference, type, size and offset of a file is checked before anything is believed."""

import os

import numpy as np
import pytest

from isomorph.core.errors import IsomorphError, RefusedError, UnreadableModelError
from isomorph.frameworks.openvino.read import MAX_BODIES, open_path
from openvino_building import Net, network


@pytest.fixture
def path(tmp_path):
    return network(tmp_path / "model.xml")


def code(path):
    with pytest.raises(IsomorphError) as caught:
        open_path(path)
    return caught.value.code


def edited(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return path


def test_layers_come_after_those_that_they_read(path):
    model, digest = open_path(path)
    known = set()
    for layer in model.graph.layers:
        assert set(layer.inputs) <= known
        known |= {port.name for port in layer.outputs}
    assert model.graph.inputs == ("x",)
    assert model.graph.results == ("logits", "label:1")
    assert len(digest) == 64


def test_the_digest_is_of_both_files(path):
    _, before = open_path(path)
    weights = path.with_suffix(".bin")
    data = bytearray(weights.read_bytes())
    data[5] ^= 1
    weights.write_bytes(data)
    assert open_path(path)[1] != before


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_file_that_was_cut_off(path, share):
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    assert code(path) == "MODEL_TRUNCATED"


def test_an_empty_file(path):
    path.write_bytes(b"")
    assert code(path) == "MODEL_EMPTY"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('<net name="sample" version="11">', '<net name="sample" version="99">', "OPSET_TOO_NEW"),
        ('<net name="sample" version="11">', '<net name="sample" version="7">',
         "UNSUPPORTED_FORMAT"),
        ('<net name="sample" version="11">', '<net name="sample" version="x">', "INVALID_GRAPH"),
        ('element_type="f32" shape="4, 3, 3, 3"', 'element_type="q9" shape="4, 3, 3, 3"',
         "BAD_DTYPE"),
        ('shape="4, 3, 3, 3"', 'shape="4, 3, 3, 5"', "TENSOR_SIZE_MISMATCH"),
        ('shape="4, 3, 3, 3"', 'shape="-4, 3, 3, -3"', "BAD_DIMS"),
        ('shape="4, 3, 3, 3"', 'shape="4294967296, 4294967296"', "BAD_DIMS"),
        ('offset="0"', 'offset="9223372036854775807"', "EXTERNAL_DATA_SHORT"),
        ('offset="0"', 'offset="-8"', "EXTERNAL_DATA_SHORT"),
        ('offset="0"', 'offset="a"', "INVALID_GRAPH"),
        ('from-layer="0"', 'from-layer="99"', "DANGLING_INPUT"),
        ('to-layer="2" to-port="0"', 'to-layer="2" to-port="7"', "DANGLING_INPUT"),
        ('to-layer="2" to-port="1"', 'to-layer="2" to-port="0"', "NOT_SSA"),
        ('<layer id="1" ', '<layer id="0" ', "INVALID_GRAPH"),
        ('from-layer="1" from-port="0" to-layer="2"', 'from-layer="4" from-port="2" to-layer="2"',
         "GRAPH_CYCLE"),
        ("<edges>", "<edge_list>", "INVALID_GRAPH"),
    ],
)  # fmt: skip
def test_a_file_that_contradicts_itself(path, old, new, expected):
    assert code(edited(path, old, new)) == expected


def test_another_root(path):
    path.write_text('<svg version="1.1"></svg>')
    assert code(path) == "NOT_A_MODEL"


def test_weights_that_are_missing_or_short(path):
    weights = path.with_suffix(".bin")
    weights.write_bytes(weights.read_bytes()[:-1])
    assert code(path) == "EXTERNAL_DATA_SHORT"
    weights.unlink()
    assert code(path) == "EXTERNAL_DATA_SHORT"


def test_a_model_without_constants_needs_no_weights(tmp_path):
    net = Net()
    net.result(net.op("y", "ReLU", [net.parameter("x", (2,))], (2,)))
    path = net.write(tmp_path / "m.xml")
    path.with_suffix(".bin").unlink()
    assert open_path(path)[0].graph.results == ("y",)


def test_weights_behind_a_link_are_refused_until_trusted(path, tmp_path):
    weights, elsewhere = path.with_suffix(".bin"), tmp_path / "elsewhere"
    weights.rename(elsewhere)
    weights.symlink_to(elsewhere)
    with pytest.raises(RefusedError) as caught:
        open_path(path)
    assert (caught.value.code, caught.value.exit_code) == ("EXTERNAL_DATA_ESCAPE", 4)
    assert open_path(path, trusted=True)[0].graph.inputs == ("x",)
    weights.unlink()
    os.link(elsewhere, weights)
    assert code(path) == "EXTERNAL_DATA_ESCAPE"


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo], ids=["folder", "pipe"])
@pytest.mark.parametrize("trusted", [False, True])
def test_what_is_no_file_in_the_place_of_weights_is_never_opened(path, make, trusted):
    path.with_suffix(".bin").unlink()
    make(path.with_suffix(".bin"))
    with pytest.raises(UnreadableModelError) as caught:
        open_path(path, trusted=trusted)
    assert (caught.value.code, caught.value.exit_code) == ("NOT_REGULAR_FILE", 2)


def test_one_damaged_byte_is_an_error_or_another_file(path):
    rng = np.random.default_rng(0)
    original, (_, digest) = path.read_bytes(), open_path(path)
    opened = 0
    for _ in range(150):
        data = bytearray(original)
        data[rng.integers(len(data))] = rng.integers(32, 127)
        path.write_bytes(data)
        try:
            _, found = open_path(path)
        except UnreadableModelError:
            continue
        else:
            opened += 1
            assert found != digest or bytes(data) == original
    assert 0 < opened < 150


@pytest.mark.parametrize(("depth", "right"), [(30, True), (MAX_BODIES + 5, False)])
def test_bodies_in_bodies(tmp_path, depth, right):
    inner = (
        '<layers><layer id="0" name="a" type="Parameter"><output><port id="0"/></output></layer>'
    )
    inner += '<layer id="1" name="r" type="Result"><input><port id="0"/></input></layer></layers>'
    edges = '<edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges>'
    text = inner + edges
    for _ in range(depth):
        loop = f'<layer id="2" name="l" type="TensorIterator"><body>{text}</body></layer>'
        text = inner.replace("</layers>", f"{loop}</layers>") + edges
    path = tmp_path / "deep.xml"
    path.write_text(f'<net name="n" version="11">{text}</net>')
    if right:
        assert open_path(path)[0].graph.inputs == ("a",)
    else:
        assert code(path) == "NESTING_TOO_DEEP"
