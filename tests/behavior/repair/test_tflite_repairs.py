"""Broken TFLite files, repaired in TFLite's own words, and held against the unbroken ones."""

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

import tflite_faulty as faulty
from isomorph import api
from isomorph.core.errors import UsageError
from tflite_faulty import grid, inputs, option, stored


def outputs(path, seed):
    image = np.random.default_rng(seed).normal(size=faulty.IMAGE.shape).astype(np.float32)
    session = Interpreter(str(path))
    session.allocate_tensors()
    session.set_tensor(session.get_input_details()[0]["index"], image)
    session.invoke()
    return session.get_tensor(session.get_output_details()[0]["index"])


def repaired(tmp_path, reference, clean, edit):
    """The repair of a broken copy of ``clean``, and how far it is from the unbroken one."""
    paths = {name: tmp_path / f"{name}.tflite" for name in ("reference", "clean", "broken")}
    paths["reference"].write_bytes(reference().data())
    paths["clean"].write_bytes(clean().data())
    model = clean()
    edit(model)
    paths["broken"].write_bytes(model.data())
    fixed = tmp_path / "fixed.tflite"
    repair = api.fix(
        paths["reference"],
        paths["broken"],
        output=fixed,
        inputs={"x": faulty.IMAGE},
        in_process=True,
    )
    assert repair.repaired, (repair.reason, repair.refused)
    assert repair.applied
    gaps = [np.abs(outputs(fixed, s) - outputs(paths["clean"], s)).max() for s in range(3)]
    return repair, max(gaps)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (option(0, fusedActivationFunction=faulty.RELU), "fused_activation_function from RELU"),
        (option(0, dilationWFactor=2), "dilation_w_factor from 2 to 1"),
        (option(1, alpha=0.1), "alpha from 0.1 to 0.3"),
        (inputs(2, 1, 0), "inputs in the order"),
        (option(3, halfPixelCenters=False), "half_pixel_centers"),
        (stored("kernel", lambda k: k[[1, 0, 3, 2]]), "constant 'kernel'"),
        (stored("kernel", lambda k: k.transpose(0, 2, 1, 3)), "constant 'kernel'"),
        (stored("dense", lambda w: w.astype(np.float16)), "constant 'dense'"),
        (inputs(5, 0, 1, None), "as the bias of"),
    ],
    ids=["activation", "dilation", "alpha", "operands", "resize", "channels", "turned", "half",
         "no_bias"],
)  # fmt: skip
def test_the_repaired_file_is_the_unbroken_one(tmp_path, edit, expected):
    repair, gap = repaired(tmp_path, faulty.network, faulty.network, edit)
    assert gap <= 1e-5
    assert expected in "; ".join(each.patch.summary for each in repair.applied)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (stored("kernel", lambda k: k[::-1]), "constant 'kernel'"),
        (stored("bias", np.zeros_like), "constant 'bias'"),
        (grid("kernel", scale=1.5), "quantize 'kernel' with"),
        (grid("held", scale=0.4), "quantize 'held' with"),
    ],
    ids=["channels", "bias", "weight_scale", "data_scale"],
)
def test_a_quantized_model_stays_quantized_and_gets_its_numbers_back(tmp_path, edit, expected):
    repair, gap = repaired(tmp_path, faulty.floats_of_eight_bits, faulty.eight_bits, edit)
    assert expected in "; ".join(each.patch.summary for each in repair.applied)
    # One step of the output's grid: a weight that is rounded again may fall on its neighbor.
    assert gap <= 40 / 255 + 1e-6
    left = api.inspect(tmp_path / "fixed.tflite", in_process=True).graph
    assert [node.native_op for node in left.nodes] == ["QUANTIZE", "CONV_2D", "DEQUANTIZE"]
    assert left.constants["kernel"].dtype == "int8"


def test_every_range_that_is_too_narrow_is_calibrated_again_with_the_bias_behind_it(tmp_path):
    edit = faulty.too_narrow
    repair, _ = repaired(tmp_path, faulty.floats_of_eight_bits, faulty.eight_bits, edit)
    (first, second) = (each.patch for each in repair.applied)
    assert first.tensors == ("held", "bias")
    assert second.tensors == ("conv",)
    # On the values that it was calibrated on it is as good as one that was calibrated well.
    assert repair.proof.after[0].verdict == "degraded"
    assert repair.proof.after[0].outputs[0].relative_l2 < 0.02
    assert repair.proof.before[0].outputs[0].relative_l2 > 0.4


def test_nodes_kept_in_float_are_a_trade_of_size_against_error(tmp_path):
    reference, candidate = tmp_path / "reference.tflite", tmp_path / "candidate.tflite"
    reference.write_bytes(faulty.floats_of_eight_bits().data())
    candidate.write_bytes(faulty.eight_bits().data())
    fixed = tmp_path / "fixed.tflite"
    repair = api.fix(
        reference,
        candidate,
        output=fixed,
        inputs={"x": faulty.IMAGE},
        keep_float=1,
        in_process=True,
    )
    assert repair.repaired, (repair.reason, repair.refused)
    before, after = repair.trades
    assert (before.nodes, after.nodes) == ((), ("CONV_2D:1",))
    assert after.size > before.size
    assert after.relative_l2 < before.relative_l2
    left = api.inspect(fixed, in_process=True).graph
    kept = next(node for node in left.nodes if node.native_op == "CONV_2D")
    assert {left.tensors[name].dtype for name in (*kept.inputs, *kept.outputs)} == {"float32"}
    # Its neighbors still exchange whole numbers.
    assert left.tensors["conv"].dtype == "int8"


def test_where_nothing_is_quantized_nothing_is_kept_in_float(tmp_path):
    path = tmp_path / "float.tflite"
    path.write_bytes(faulty.network().data())
    with pytest.raises(UsageError, match="computes on quantized numbers"):
        api.fix(path, path, inputs={"x": faulty.IMAGE}, keep_float="auto", in_process=True)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (faulty.operator(0, "RELU6"), "with HardSwish"),
        (faulty.operator(1, "MAXIMUM"), "with SquaredDifference"),
    ],
    ids=["spelled_out", "of_two"],
)
def test_another_operator_becomes_the_function_of_the_reference(tmp_path, edit, expected):
    repair, gap = repaired(tmp_path, faulty.spelled_out, faulty.squared_difference, edit)
    assert gap <= 1e-5
    assert expected in "; ".join(each.patch.summary for each in repair.applied)
