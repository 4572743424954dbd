"""A record in the place of a session: it repeats, it is disturbed as recorded, it refuses."""

import numpy as np
import pytest

from isomorph.core.errors import RuntimeFailedError
from isomorph.core.recording import OracleRecord
from isomorph.core.trace import Environment, Noise
from isomorph.sessions.trace_session import SEEDS, Elsewhere, Playback

ENVIRONMENT = Environment(runtime="onnx_oracle")
X, A, Y = np.ones(3), np.arange(100.0), np.arange(4.0)


@pytest.fixture
def session():
    meaning = OracleRecord(
        environment=ENVIRONMENT,
        tensors={"a": A, "y": Y, "s[0]": X, "s[1]": Y},
        spread={"rounding": {"a": (0.5, 2.0)}},
        draws={"rounding/2": {"y": Y + 0.125}},
    )
    return Playback(ENVIRONMENT, {"x": X}, meaning.tensors, meaning)


def test_what_was_recorded_is_repeated(session):
    found = session.run({"x": X}, ["y", "s"])
    assert np.array_equal(found["y"], Y)
    assert [len(each) for each in found["s"]] == [3, 4], "a sequence is whole again"


def test_a_recorded_draw_is_that_draw(session):
    noise = Noise(seed=7 * SEEDS + 2, rounding=True)
    assert np.array_equal(session.run({"x": X}, ["y"], noise=noise)["y"], Y + 0.125)


def test_a_tensor_inside_moves_by_what_was_recorded(session):
    moved = session.run({"x": X}, ["a"], noise=Noise(seed=2, rounding=True))["a"] - A
    assert np.sqrt(np.mean(moved**2)) == pytest.approx(0.5)
    assert np.max(np.abs(moved)) == pytest.approx(2.0)


def test_noise_that_was_not_recorded_moves_nothing(session):
    noise = Noise(seed=0, constants=("w",), attributes=True)
    assert np.array_equal(session.run({"x": X}, ["a"], noise=noise)["a"], A)


@pytest.mark.parametrize("feeds", [{"x": X + 1}, {"x": X, "a": A}, {"x": np.ones(4)}])
def test_other_values_are_refused_by_name(session, feeds):
    with pytest.raises(RuntimeFailedError) as caught:
        session.run(feeds, ["y"])
    assert caught.value.code == "TRACE_IS_FIXED"


def test_what_was_not_recorded_is_reported(session):
    with pytest.raises(RuntimeFailedError) as caught:
        session.run({"x": X}, ["z"])
    assert caught.value.code == "NOT_RECORDED"
    with pytest.raises(RuntimeFailedError):
        Elsewhere().load("model.onnx", "onnx", {})
