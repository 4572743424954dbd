"""Reports with every field filled, to be rendered."""

from dataclasses import replace

import pytest

from isomorph.core.alignment import Alignment, Confidence, Group, Pair, Unaligned
from isomorph.core.coverage import Coverage, OutputCoverage
from isomorph.core.dataset_summary import (
    AxisProfile,
    MetricOverSamples,
    OutputOverSamples,
    OverSamples,
)
from isomorph.core.divergence import Budget, Distance, Divergence, ErrorTerm, Verdict
from isomorph.core.model import Source
from isomorph.core.profile import (
    CloseUp,
    Element,
    ErrorProfile,
    GraphProfile,
    HeatMap,
    Histogram,
)
from isomorph.core.proof import (
    Assumptions,
    NodeProof,
    OpenReason,
    OutputProof,
    Proof,
    Reason,
    Rerounded,
    Standing,
)
from isomorph.core.quantized_tensor import QuantizedTensor
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

PROOF = Proof(
    reference="net.pt2",
    candidate="net.onnx",
    outputs=(
        OutputProof(
            reference="logits",
            candidate="output_0",
            standing=Standing.OPEN,
            open=OpenReason(reason=Reason.NO_MEANING, node="top", op="TopK", details="a tie"),
        ),
    ),
    nodes=(
        NodeProof(
            side="reference",
            node="relu",
            op="Relu",
            standing=Standing.PROVEN,
            equal_to="relu_nhwc",
        ),
        NodeProof(side="candidate", node="top", op="TopK", standing=Standing.TESTED),
    ),
    chance=1e-15,
    seed=5,
    assumptions=Assumptions(
        shapes={"x": (2, 3)},
        largest_rounding=1e-7,
        rerounded=(Rerounded(constant="w", expression="mul(c[2, 3], …)", relative=1e-7),),
    ),
    version="0.1.0",
)


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
    return ErrorTerm(distance=replace(distance, **changes), budget=budget)


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
def quantized():
    """A row of the quantization table with every field filled."""
    return QuantizedTensor(
        tensor="conv_q",
        dtype="uint8",
        kind="activation",
        channels=8,
        scale=(0.01, 0.02),
        zero_point=(0, 128),
        axis=1,
        node="conv",
        representable=(-1.28, 1.27),
        seen=(-2.5, 1.0),
        clipped=0.25,
        rectified=0.0,
        used=0.9,
        sqnr_db=12.5,
        ideal_sqnr_db=float("inf"),
        local_quanta=3.0,
        gain=0.5,
        counterpart="conv_q",
        changed=("scale", "zero_point"),
        misread=("axis",),
    )


@pytest.fixture
def over_samples():
    """A test set of a sequence model, with a metric and one bad sample."""
    return OverSamples(
        location="samples",
        samples=500,
        outputs=(
            OutputOverSamples(
                reference_output="logits",
                candidate_output="output_0",
                samples=500,
                worst="s17.npz",
                worst_absolute=0.5,
                worst_relative=float("inf"),
                worst_ratio=36.4,
                quantiles={"0.5": 1e-7, "0.99": 2e-3, "1": float("inf")},
                label_agreement=0.978,
                not_finite=2,
                nonfinite_mismatch=1,
                misshapen=3,
                by_axis=(
                    AxisProfile(axis=1, length=8, relative=(1e-7, 2e-7, 9e-4, 3e-5), step=2,
                                input="tokens"),
                ),
            ),
        ),
        metric=MetricOverSamples(name="scores:top1", samples=500, reference=0.91, candidate=0.87),
        examined=("s17.npz",),
    )  # fmt: skip


@pytest.fixture
def profile():
    """Two small graphs, the second with a fault at its second node."""
    left = GraphProfile(
        role="reference",
        nodes=("blocks.3.conv", "blocks.3.norm"),
        ops=("Conv", "BatchNormalization"),
        tensors=("conv", "norm"),
        sources=((), (0,)),
        execution=(1e-7, None),
        budget=(1e-6, 2e-6),
    )
    right = GraphProfile(
        role="candidate",
        nodes=("conv_3", "norm_3", "shape_7"),
        ops=("Conv", "BatchNormalization", "Shape"),
        tensors=("conv_3_out", "norm_3_out", ""),
        sources=((), (0,), (1,)),
        execution=(1e-7, 2e-7, None),
        budget=(1e-6, 2e-6, None),
        counterpart=(0, 1, None),
        translation=(1e-15, 3e-5, None),
        local=(1e-15, float("inf"), None),
    )
    seen = CloseUp(
        kind="node",
        tensor="norm_3_out",
        counterpart="norm",
        dtype="float32",
        shape=(1, 4, 2, 2),
        node="norm_3",
        max_abs=3e-5,
        relative=3e-5,
        histogram=Histogram(
            least=-1.0, most=1.0, reference=(1, 2, 1), candidate=(2, 1, 1), candidate_not_finite=1
        ),
        heat_map=HeatMap(
            row_axis=2, column_axis=3, rows=2, columns=2, values=((0.0, 1e-5), (3e-5, 0.0))
        ),
        by_axis=(AxisProfile(axis=1, length=4, relative=(0.0, 1e-5, 3e-5, 0.0), input=None),),
        worst=(Element(index=(0, 2, 1, 0), reference=0.5, candidate=0.50003),),
    )
    return ErrorProfile(origin="generated", graphs=(left, right), close_ups=(seen,))


@pytest.fixture
def report(divergence, quantized, over_samples, profile):
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
        evidence={
            "ratio": float("nan"),
            "shape": (1, 2),
            "where": {"words": "3 of 8 elements, at the border", "elements": 3, "of": 8},
        },
        experiments=(
            Experiment(
                question="Is epsilon the cause?",
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
    covered = OutputCoverage(output="logits", within=1)
    return Report(
        verdict=Verdict.DIVERGENT,
        coverage=Coverage(given=1, inputs=1, values=20, outputs=(covered,)),
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
        alignment=Alignment(
            inputs=2,
            pairs=(
                Pair(
                    kind="tensor",
                    reference=("relu",),
                    candidate="relu_nhwc",
                    transform="axes permuted by (0, 2, 3, 1)",
                    permutation=(0, 2, 3, 1),
                    shape=(1, 8, 8, 4),
                    evidence=("value", "structure"),
                    inputs=2,
                    confidence=Confidence.CERTAIN,
                ),
                Pair(
                    kind="constant",
                    reference=("w", "gamma", "var"),
                    candidate="w_folded",
                    transform="folded with a batch normalization",
                    evidence=("value",),
                ),
            ),
            groups=(Group(reference=("conv", "norm"), candidate=("conv",)),),
            unaligned_reference=(Unaligned(name="c1", kind="tensor", reason="a step inside"),),
            unaligned_candidate=(Unaligned(name="axes", kind="constant", reason="no values"),),
        ),
        quantization=(quantized,),
        test_set=over_samples,
        profile=profile,
        proof=PROOF,
        skipped=(Skipped(what="bodies of If", why="the runtime cannot fetch them"),),
        trusted=("net.py:build",),
        elapsed={"load": 0.5, "run": 1.25},
        version="0.1.0",
    )
