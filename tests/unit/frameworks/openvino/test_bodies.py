"""Bodies are connected to the layers around them; what is connected to nothing is refused."""

import pytest

from isomorph.core.errors import UnreadableModelError
from isomorph.frameworks.openvino.read import open_path

INNER = """<body><layers>
<layer id="0" name="inner" type="Parameter" version="opset1"><output><port id="0" names="inner"/>
</output></layer>
<layer id="1" name="done" type="Result" version="opset1"><input><port id="0"/></input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></body>"""
NET = """<net name="n" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><output><port id="0" names="x"/></output>
</layer>
<layer id="1" name="loop" type="TensorIterator" version="opset1">
<input><port id="0"/></input><output><port id="1"/></output>
<port_map><input external_port_id="0" internal_layer_id="0" axis="1" start="-1" stride="-1"/>
<output external_port_id="1" internal_layer_id="1"/></port_map>
<back_edges><edge from-layer="1" to-layer="0"/></back_edges>BODY</layer>
<layer id="2" name="y" type="Result" version="opset1"><input><port id="0"/></input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>""".replace(
    "BODY", INNER
)


def read(tmp_path, text):
    path = tmp_path / "m.xml"
    path.write_text(text)
    return open_path(path)[0].graph


def test_how_a_body_is_connected(tmp_path):
    loop = next(each for each in read(tmp_path, NET).layers if each.type == "TensorIterator")
    body = loop.bodies["body"]
    (taken,), (given,) = body.takes, body.gives
    assert (taken.place, taken.tensor, taken.axis, taken.start, taken.stride) == (
        0, "inner", 1, -1, -1,
    )  # fmt: skip
    assert (given.place, given.tensor, given.axis) == (0, "inner", None)
    assert body.back == (("inner", "inner"),)
    assert not body.condition


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('external_port_id="0"', 'external_port_id="7"'),
        ('internal_layer_id="1"', 'internal_layer_id="9"'),
        ('<back_edges><edge from-layer="1"', '<back_edges><edge from-layer="5"'),
    ],
)
def test_a_connection_to_nothing(tmp_path, old, new):
    with pytest.raises(UnreadableModelError) as caught:
        read(tmp_path, NET.replace(old, new))
    assert caught.value.code == "DANGLING_INPUT"
