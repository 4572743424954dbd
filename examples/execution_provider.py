"""Which execution provider did ONNX Runtime really use?

The folklore: pass ``providers=["CUDAExecutionProvider"]``, and the model runs on the GPU.

Measured: where CUDA is not there, ONNX Runtime raises nothing. It warns, falls back to the CPU and
returns numbers, so "tested on CUDA" may mean nothing at all. isomorph keeps what was asked for
and what was used side by side in the environment of every report, a fallback is a finding
(PROVIDER_FALLBACK), and the verdict is unknown: what was asked about did not run. Where the CPU is
named as a further choice, the verdict is what the numbers say. A provider that ONNX Runtime has
never heard of is refused (BAD_SETTING) instead of ignored.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnxruntime
from building import helper, onnx_model
from showing import Facts, show

import isomorph

ASKED = "CUDAExecutionProvider"


def main() -> Facts:
    weights = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
    with TemporaryDirectory() as name:
        model = onnx_model(
            Path(name) / "linear.onnx",
            [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
            {"x": (np.float32, ["batch", 8])},
            {"y": (np.float32, ["batch", 4])},
            {"w": weights},
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            session = onnxruntime.InferenceSession(model, providers=[ASKED])
        report = isomorph.check(
            model,
            options=isomorph.CheckOptions(
                runtime=isomorph.RuntimeOptions(settings={"providers": ASKED})
            ),
        )
        try:
            isomorph.check(
                model,
                options=isomorph.CheckOptions(
                    runtime=isomorph.RuntimeOptions(
                        settings={"providers": "NoSuchExecutionProvider"}
                    )
                ),
            )
            refused = ""
        except isomorph.IsomorphError as error:
            refused = error.code
    facts = report.environments["candidate run"].facts
    return {
        "ONNX Runtime itself": {"asked": ASKED, "used": ", ".join(session.get_providers())},
        "in isomorph's report": {
            "asked": facts["providers asked"],
            "used": facts["providers used"],
        },
        "available": onnxruntime.get_available_providers(),
        "findings": [finding.code for finding in report.findings],
        "verdict": report.verdict.value,
        "an unknown provider": refused,
    }


if __name__ == "__main__":
    show(main())
