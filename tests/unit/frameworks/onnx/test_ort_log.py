"""Lines of ONNX Runtime's own log: those about a node, and no others."""

import onnx
import pytest

import isomorph
from isomorph import registry
from isomorph.core.errors import UsageError
from isomorph.frameworks.onnx.ort_log import MOST_LINES, mentioned
from isomorph.frameworks.onnx.runtime import OnnxRuntime

NET = """<ir_version: 8, opset_import: ["" : 17]>
net (float[1,1,6,6] x) => (float[1,1,4,4] y)
    <float[1,1,3,3] w_1 = {1,2,3,4,5,6,7,8,9}, float[1] s = {0.5}, float[1] o = {0.25},
     float[1] m = {0.125}, float[1] v = {2.0}> {
    [conv] c = Conv (x, w_1)
    [norm] n = BatchNormalization (c, s, o, m, v)
    [last] y = Relu (n)
}"""
START = "2026-01-02 03:04:05.678901234 [I:onnxruntime:, graph.cc:1 Clean] "


@pytest.fixture
def path(tmp_path):
    onnx.save(onnx.parser.parse_model(NET), tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


def lines(path, about):
    found = isomorph.run(path, options=isomorph.RuntimeOptions(settings={"log_about": about}))
    return found.environment.facts["log lines"].splitlines()


def test_the_real_log_names_a_constant_and_an_optimizer(path):
    weight = lines(path, '["w_1"]')
    assert weight
    assert all("w_1" in line for line in weight)
    assert all(line.startswith("[") for line in weight)  # without the time of day
    (ran,) = lines(path, "ConvActivationFusion")
    assert "ConvActivationFusion modified: 1" in ran


def test_nothing_is_returned_for_what_does_not_exist(path):
    assert lines(path, '["no such node, anywhere"]') == []


def test_a_list_that_is_none_is_refused(path):
    with pytest.raises(UsageError, match="log_about"):
        isomorph.run(path, options=isomorph.RuntimeOptions(settings={"log_about": "[1, 2]"}))


@pytest.mark.parametrize(
    ("logged", "name", "counts"),
    [
        ("Removing initializer 'w'.", "w", True),
        ("a node is no longer used", "a", False),
        ("Fused reshape node: /net/Reshape_1", "/net/Reshape_1", True),
        ("Fused reshape node: /net/Reshape_12", "/net/Reshape_1", False),
        ("placed conv.1_bn_nchwc on CPU", "conv.1", True),
        ("placed stem/conv.1 on CPU", "conv.1", False),
        ("GraphTransformer GeluFusion modified: 1 with status: OK", "GeluFusion", True),
        ("GraphTransformer GeluFusion modified: 0 with status: OK", "GeluFusion", False),
    ],
)
def test_a_name_counts_only_as_a_whole(logged, name, counts):
    assert bool(mentioned(START + logged, [name])) is counts


def test_few_lines_each_once_and_printable():
    log = "\n".join(f"{START}node 'n' \x07 took step {k // 2}" for k in range(40))
    found = mentioned(f"\x1b[0;93m{START}'n' is slow\x1b[m\n{log}", ["n"])
    assert len(found) == len(set(found)) == MOST_LINES
    assert found[0].endswith("'n' is slow")
    assert "\\x07" in found[1]


class Wrong(OnnxRuntime):
    """Its kernel of one node is off, alone and in the model, with or without optimizers."""

    def open(self, model, environment):
        return Off(super().open(model, environment))


class Off:
    def __init__(self, session):
        self._session = session
        self.capabilities, self.environment = session.capabilities, session.environment

    def run(self, feeds, fetch, *, noise=None):
        if "x" not in feeds or "c" in feeds:
            return self._session.run(feeds, fetch)
        wrong = self._session.run(feeds, ["c"])["c"][..., ::-1].copy()
        return self._session.run({**feeds, "c": wrong}, fetch)

    def close(self):
        self._session.close()


def test_the_log_is_part_of_the_evidence_of_a_wrong_kernel(path, monkeypatch):
    usual, wrong = registry.runtime, Wrong()
    monkeypatch.setattr(
        registry, "runtime", lambda name: wrong if name == "onnxruntime" else usual(name)
    )
    report = isomorph.check(path, in_process=True)
    first = next(each for each in report.findings if each.node == "conv")
    assert first.cause == "kernel"
    assert 1 <= len(first.evidence["log"]) <= MOST_LINES
    assert all("w_1" in line for line in first.evidence["log"])
