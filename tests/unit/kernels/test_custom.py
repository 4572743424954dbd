import numpy as np
import onnx
import pytest

import isomorph
from isomorph.core.errors import RefusedError, UsageError
from isomorph.kernels import registry
from isomorph.kernels.custom import import_ops, op, origins
from isomorph.oracle.call import Call

HEAD = '<ir_version: 9, opset_import: ["" : 18, "com.example" : 1]>'
MODULE = """
import numpy as np
import isomorph


@isomorph.op("com.example", "Bend")
def bend(x, *, by):
    return np.where(x > 0, x, by * np.sin(x))
"""


def model(by):
    text = (
        f"g (float[3,4] x) => (float[3,4] y) {{ b = com.example.Bend <by={by}> (x) y = Exp (b) }}"
    )
    return onnx.parser.parse_model(f"{HEAD} {text}")


@pytest.fixture
def ops(tmp_path):
    path = tmp_path / "bending.py"
    path.write_text(MODULE)
    return str(path)


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch):
    """Nothing that is registered here is left behind."""
    monkeypatch.setattr(registry, "_TABLE", {key: list(v) for key, v in registry._TABLE.items()})
    monkeypatch.setattr("isomorph.kernels.custom._ORIGINS", {})


def test_the_function_is_the_meaning(ops, tmp_path):
    path = tmp_path / "bend.onnx"
    onnx.save(model(0.5), path)
    x = np.array([[-1.0, 2.0, -3.0, 0.5]] * 3, np.float32)
    with pytest.raises(isomorph.IsomorphError, match="Bend"):
        isomorph.run(path, inputs={"x": x}, options=isomorph.RuntimeOptions(name="onnx_oracle"))
    found = isomorph.run(
        path,
        inputs={"x": x},
        trust=True,
        options=isomorph.RuntimeOptions(name="onnx_oracle", ops=[ops]),
    )
    right = np.exp(np.where(x > 0, x, 0.5 * np.sin(x.astype(np.float64))))
    np.testing.assert_allclose(found.tensors["y"], right, rtol=1e-12)


def test_a_check_names_a_custom_node_and_its_attribute(ops, tmp_path):
    for name, by in (("ref", 0.5), ("cand", 0.7)):
        onnx.save(model(by), tmp_path / f"{name}.onnx")
    report = isomorph.check(
        tmp_path / "ref.onnx",
        tmp_path / "cand.onnx",
        trust=True,
        in_process=True,
        options=isomorph.CheckOptions(
            runtime=isomorph.RuntimeOptions(name="onnx_oracle", ops=[ops])
        ),
    )
    assert report.verdict == "divergent"
    first = report.findings[0]
    assert (first.code, first.cause) == ("GUILTY_NODE", "attribute")
    assert "by is 0.7, not 0.5" in first.summary


def test_a_part_with_a_custom_node_is_cut_out_with_its_meaning(ops, tmp_path):
    for name, by in (("ref", 0.5), ("cand", 0.7)):
        onnx.save(model(by), tmp_path / f"{name}.onnx")
    found = isomorph.extract(
        tmp_path / "ref.onnx",
        tmp_path / "cand.onnx",
        output=tmp_path / "part",
        trust=True,
        in_process=True,
        options=isomorph.PairOptions(
            runtime=isomorph.RuntimeOptions(name="onnx_oracle", ops=[ops])
        ),
    )
    assert found.shows
    assert found.nodes == 1
    assert found.command.endswith(f"--ops {ops} --trust")


def test_foreign_code_needs_trust(ops, tmp_path):
    onnx.save(model(0.5), tmp_path / "m.onnx")
    with pytest.raises(RefusedError) as caught:
        isomorph.run(tmp_path / "m.onnx", options=isomorph.RuntimeOptions(ops=[ops]))
    assert caught.value.code == "OPS_NEED_TRUST"
    assert caught.value.exit_code == 4


def test_what_this_process_registered_is_known_to_workers_too():
    @op("com.example", "Twice")
    def twice(x):
        return 2 * x

    assert origins() == (__file__,)
    assert registry.find("com.example", "Twice", 1) is not None


def test_a_second_registration_takes_the_place_of_the_first():
    op("com.example", "Once")(lambda x: x)
    op("com.example", "Once")(lambda x: -x)
    meaning = registry.find("com.example", "Once", 1)
    assert meaning(Call(op="Once"), np.ones(2))[0].tolist() == [-1, -1]


def test_an_error_inside_is_the_users_and_reported(ops):
    op("com.example", "Break")(lambda x: x.nonsense)
    with pytest.raises(UsageError, match=r"com\.example::Break raised AttributeError"):
        registry.find("com.example", "Break", 1)(Call(op="Break"), np.ones(2))


def test_a_module_that_is_not_there_is_reported(tmp_path):
    for word in ("no.such.module", str(tmp_path / "none.py")):
        with pytest.raises(UsageError) as caught:
            import_ops([word])
        assert caught.value.code == "NO_SUCH_OPS"


def test_an_operator_needs_a_name():
    with pytest.raises(UsageError):
        op("com.example", "")
