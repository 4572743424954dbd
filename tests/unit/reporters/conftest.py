"""Reports with every field filled, to be rendered."""

from dataclasses import replace

import pytest

from isomorph.core.divergence import Budget, Distance, Divergence, Part, Verdict
from isomorph.core.model import Source
from isomorph.core.report import (
    Binding,
    Experiment,
    Finding,
    InputSummary,
    ModelSummary,
    Report,
    Skipped,
)
from isomorph.core.trace import Environment


def _part(max_abs, ratio, **changes):
    distance = Distance(
        elements=20,
        compared=20,
        differing=20,
        nonfinite_mismatch=0,
        signed_zero_mismatch=0,
        max_abs=max_abs,
        max_rel=1e-3,
        max_ulp=270.0,
        rms=1e-5,
        relative_l2=1e-5,
        sqnr_db=float("inf"),
        cosine=0.9999998,
        argmax_agreement=1.0,
        worst_index=(1, 7),
    )
    budget = Budget(
        derivation="spread of 10 runs",
        ratio=ratio,
        allowed_max=9e-7,
        allowed_rms=4e-7,
        threshold=5.2,
        draws=10,
    )
    return Part(distance=replace(distance, **changes), budget=budget)


@pytest.fixture
def part():
    """Makes one error of a given size that uses up a given share of its budget."""
    return _part


@pytest.fixture
def divergence():
    """One output, wrong by translation, well run on both sides."""
    return Divergence(
        reference_output="logits",
        candidate_output="output_0",
        dtype="float32",
        shape=(2, 10),
        verdict=Verdict.DIVERGENT,
        reason="translation is beyond allowance and rounding",
        observed=_part(3.2e-5, 12.0),
        translation=_part(3.2e-5, 36.4),
        rounding=_part(3.2e-5, 12.0),
        intended_loss=_part(3.2e-5, None),
        execution_reference=_part(1.2e-7, 0.213),
        execution_candidate=_part(1.1e-7, 0.0),
    )


@pytest.fixture
def report(divergence):
    """A report in which no field is empty."""
    finding = Finding(
        rank=1,
        code="TRANSLATION",
        cause="attribute",
        status="confirmed",
        effect="reaches_output",
        summary="epsilon is 1e-4, expected 1e-5",
        node="norm_3",
        nodes=("norm_3",),
        tensors=("norm_3_out",),
        reference_nodes=("blocks.3.norm",),
        source=Source(module="blocks.3.norm", file="net.py", line=41, text="self.norm(x)"),
        local_error=3e-5,
        inherited_error=0.0,
        share=0.98,
        evidence={"ratio": float("nan"), "shape": (1, 2)},
        experiments=(
            Experiment(
                question="Is epsilon to blame?",
                change="epsilon set to 1e-5",
                predicts="the divergence disappears",
                seen="it did",
                agrees=True,
            ),
        ),
        fix="set epsilon of norm_3 to 1e-5",
    )
    model = ModelSummary(
        role="reference",
        location="net.pt2",
        framework="pytorch",
        digest="sha256:00",
        nodes=58,
        constants=61,
        producer="torch 2.13.0",
        opset={"": 18, "com.microsoft": 1},
        notes=("the suffix says .onnx",),
    )
    environment = Environment(
        runtime="onnxruntime",
        version="1.31.1",
        threads=2,
        isolation="none",
        settings={"optimization": "all"},
        facts={"providers": "CPUExecutionProvider"},
    )
    return Report(
        verdict=Verdict.DIVERGENT,
        reason="logits: translation error is beyond what rounding explains",
        command="check",
        seed=7,
        draws=10,
        false_alarm=1e-6,
        strict=True,
        models=(model, replace(model, role="candidate", location="net.onnx", framework="onnx")),
        environments={"reference": environment, "candidate": environment, "oracle": environment},
        inputs=(
            InputSummary(
                name="x", dtype="float32", shape=(2, 3), origin="generated", digest="sha256:11"
            ),
        ),
        input_bindings=(Binding(reference="x", candidate="input.1", how="position"),),
        output_bindings=(Binding(reference="logits", candidate="output_0", how="position"),),
        outputs=(divergence,),
        findings=(finding,),
        skipped=(Skipped(what="bodies of If", why="the runtime cannot fetch them"),),
        trusted=("net.py:build",),
        elapsed={"load": 0.5, "run": 1.25},
        version="0.1.0",
    )
