"""The assertion on live models, which are handed to workers as files."""

import pytest

from isomorph.testing import assert_equivalent


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the exporter
def test_a_live_module_against_itself_and_against_an_export_with_another_bias(tmp_path):
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh()).eval()
    assert_equivalent(module, module, inputs={"input": torch.zeros(2, 4).numpy() + 1.0})
    torch.onnx.export(module, (torch.ones(2, 4),), tmp_path / "tanh.onnx", dynamo=False)
    module[0].bias.data += 0.5
    with pytest.raises(AssertionError, match=r"repair: isomorph\.fix\(reference, ") as caught:
        assert_equivalent(module, tmp_path / "tanh.onnx", inputs=(torch.ones(2, 4),))
    assert "cause: weight" in str(caught.value)


def test_a_live_keras_model():
    keras = pytest.importorskip("keras")
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, activation="tanh")])
    assert_equivalent(model, model)
