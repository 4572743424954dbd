"""A route is followed plainly: one step is repeated, and no workaround is tried."""

from pathlib import Path

import pytest

from isomorph.api.environment import open_loader
from isomorph.conversion.converter_samples import SampleSource
from isomorph.conversion.converter_worker import ConverterWorker
from isomorph.conversion.plain_route import PlainRoute, route_through
from isomorph.core.conversion import Route, Step
from isomorph.core.converter_abilities import HasPasses


def named(*names):
    return lambda each: each.name in names


def test_a_converter_that_must_be_named_counts_as_named(strange):
    route, at = route_through("onnx", "onnx", "", (), named("wrong"))
    assert [step.converter for step in route.steps] == ["wrong"]
    assert at == 0
    route, at = route_through("onnx", "onnx", "", ("correct",), named("wrong"))
    assert [step.converter for step in route.steps] == ["correct", "wrong"]
    assert at == 1


def test_only_the_repeated_step_may_be_missing(strange):
    assert route_through("onnx", "onnx", "", (), named("absent")) is not None
    assert route_through("onnx", "onnx", "", ("absent",), named("correct")) is None
    assert route_through("onnx", "pytorch", "", (), named("correct")) is None


@pytest.fixture
def opened(strange, dense):
    worker = ConverterWorker(timeout=60)
    with open_loader(dense) as loader:
        model = loader.load(dense)
        samples = SampleSource(first=model, given=None, data=None, dims={}, seed=0)

        def plain(*names, at=0):
            steps = tuple(Step(converter=each, source="onnx", target="onnx") for each in names)
            return PlainRoute(
                source=str(dense), first=model, route=Route(steps=steps), at=at, samples=samples,
                worker=worker, load=loader.load, options={},
            )  # fmt: skip

        yield plain
    worker.close()


def test_options_are_those_of_the_repeated_step(opened):
    assert opened("needs_workaround").made().trouble.code == "CONVERTER_FAILED"
    made = opened("needs_workaround").made(options={"medicine": "yes"})
    assert made.trouble is None
    assert made.path.is_file()


def test_steps_before_are_made_once_and_those_after_follow(opened):
    route = opened("wrong", "correct", "correct", at=1)
    first, second = route.made(), route.made()
    assert first.trouble is second.trouble is None
    assert first.path != second.path
    assert first.path.read_bytes() == second.path.read_bytes()
    # The step before was made at the first call alone.
    folders = {each.name for each in Path(first.path).parents[2].iterdir()}
    assert sum(name.startswith("wrong-") for name in folders) == 1
    assert sum(name.startswith("correct-") for name in folders) == 4


def test_a_failure_on_the_way_is_the_answer(opened):
    assert opened("raises", "correct", at=1).made().trouble.code == "CONVERTER_FAILED"
    assert opened("correct", "raises").made().trouble.code == "CONVERTER_FAILED"


def test_passes_are_asked_in_the_worker(strange):
    worker = ConverterWorker(timeout=60)
    try:
        assert worker.passes("wrong_pass") == ("cleaning", "scaling", "renaming")
        assert worker.passes("correct") == ()
    finally:
        worker.close()
    route, _ = route_through(
        "onnx", "onnx", "", ("wrong_pass",), lambda e: isinstance(e, HasPasses)
    )
    assert route.steps[0].converter == "wrong_pass"
