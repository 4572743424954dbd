"""Models whose ranges are known."""

import warnings

import pytest
import torch

from residual_stream import Transformer


@pytest.fixture(scope="session")
def transformers(tmp_path_factory):
    """Files of the transformer by format and factor."""
    folder = tmp_path_factory.mktemp("transformers")
    made = {}

    def model(factor, suffix="onnx"):
        path = folder / f"{factor}.{suffix}"
        if path not in made:
            module, x = Transformer(factor).eval(), torch.zeros(1, 3, 8)
            if suffix == "pt2":
                torch.export.save(torch.export.export(module, (x,)), path)
            else:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    torch.onnx.export(
                        module, (x,), path, dynamo=False, input_names=["x"], opset_version=17
                    )
            made[path] = str(path)
        return made[path]

    return model
