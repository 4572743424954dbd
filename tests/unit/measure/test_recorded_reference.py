"""Recorded outputs as a side of a comparison, and a model's oracle as that of its run."""

from types import SimpleNamespace

import numpy as np

from isomorph.core.model import Graph, TensorSpec
from isomorph.measure.recorded_reference import Recording


def recording(**arrays):
    return Recording(location="r.npz", digest="d", arrays=arrays)


def graph(inputs, outputs):
    def specs(names):
        return tuple(TensorSpec(name=name, dtype="float32", shape=(2,)) for name in names)

    return Graph(
        name="g", inputs=specs(inputs), outputs=specs(outputs), nodes=(), tensors={}, constants={}
    )


def names(made, *where):
    return [(spec.name, spec.kind) for spec in made.specs_for(graph(*where))]


def test_the_signature_is_that_of_the_arrays():
    (spec,) = recording(y=np.zeros((2, 3), np.float16)).specs
    assert (spec.name, spec.dtype, spec.shape) == ("y", "float16", (2, 3))


def test_an_input_that_was_recorded_as_well_is_no_output():
    made = recording(x=np.zeros(2), y=np.zeros(2))
    assert names(made, ["x"], ["y"]) == [("y", "tensor")]
    assert names(made, ["x"], ["x", "y"]) == [("x", "tensor"), ("y", "tensor")]


def test_elements_of_a_sequence_are_one_output():
    made = recording(**{"s[0]": np.zeros(1), "s[1]": np.zeros(2), "m.keys": np.zeros(1)})
    assert names(made, [], ["s", "m"]) == [("s", "sequence"), ("m", "sequence")]


def test_a_name_that_only_looks_like_an_element_stays_its_own():
    made = recording(**{"s[0]": np.zeros(1)})
    assert names(made, [], ["other"]) == [("s[0]", "tensor")]
    assert names(made, [], ["s", "s[0]"]) == [("s[0]", "tensor")]
    whole = recording(**{"s": np.zeros(1), "s[0]": np.zeros(1)})
    assert names(whole, [], ["s"]) == [("s", "tensor"), ("s[0]", "tensor")]


def test_recorded_values_have_no_oracle_no_rounding_and_no_draws():
    candidate = SimpleNamespace(model=SimpleNamespace(framework="onnx"))
    side = recording(y=np.ones(2)).comparand(candidate)
    assert side.recorded
    assert list(side.runtime_outputs()) == list(side.unoptimized_outputs()) == ["y"]
    for nothing in (side.oracle_outputs(), side.rounding(), side.intended_loss(),
                    side.execution_loss(), side.allowance(("w",))):  # fmt: skip
        assert nothing == {}
    assert not side.draw_more(8)
    assert not side.draw_wider()
    assert (side.model.framework, side.model.graph.nodes) == ("onnx", ())


def test_the_oracle_of_a_model_is_the_reference_of_its_run():
    class Evaluated:
        model = "model"

        def oracle_outputs(self):
            return {"y": np.array([1.0])}

        def runtime_outputs(self):
            raise AssertionError("the run is the other side")

        def rounding(self):
            return {"y": "rounding"}

        def draw_more(self, draws, *, allowance=True):
            return draws == 8 and allowance

    side = Recording.of_oracle(Evaluated())
    assert not side.recorded
    assert side.model == "model"
    assert side.runtime_outputs() == side.oracle_outputs() == side.unoptimized_outputs()
    # Its constants are its own: none can have been rounded again.
    assert side.rounding() == side.allowance(("w",)) == {"y": "rounding"}
    assert side.draw_more(8)
    assert not side.draw_more(8, allowance=False)
