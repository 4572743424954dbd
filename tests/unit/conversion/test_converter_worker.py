"""A converter may do what it likes: it does it to a copy, in a process of its own."""

import pytest

from isomorph.conversion.converter_worker import ConverterWorker
from isomorph.core.conversion import Order, Step

ORDER = Order(source="", target="", example="")


@pytest.fixture
def converter_worker(strange):
    shop = ConverterWorker(timeout=60)
    yield shop
    shop.close()


def make(converter_worker, name, source):
    step = Step(converter=name, source="onnx", target="onnx")
    return converter_worker.make(step, str(source), ORDER, "made.onnx")


def test_a_correct_one_leaves_a_model_and_its_notes(converter_worker, dense):
    before = dense.read_bytes()
    attempt = make(converter_worker, "correct", dense)
    assert attempt.trouble is None
    assert attempt.path.is_file()
    assert attempt.notes == ("done",)
    assert dense.read_bytes() == before


def test_a_crash_is_caught_and_the_next_order_is_carried_out(converter_worker, dense):
    trouble = make(converter_worker, "crashes", dense).trouble
    assert trouble.code == "RUNTIME_CRASHED"
    assert "SIGSEGV" in trouble.why
    assert "the last words" in trouble.log
    assert make(converter_worker, "correct", dense).trouble is None


def test_sys_exit_is_a_failure_of_the_converter(converter_worker, dense):
    trouble = make(converter_worker, "exits", dense).trouble
    assert trouble.code == "CONVERTER_FAILED"
    assert "sys.exit(1)" in trouble.why


def test_an_exception_is_reported_with_its_message(converter_worker, dense):
    trouble = make(converter_worker, "raises", dense).trouble
    assert trouble.code == "CONVERTER_FAILED"
    assert "no rule for Frobnicate" in trouble.why


def test_a_hang_has_a_deadline(strange, dense):
    shop = ConverterWorker(timeout=3)
    try:
        assert make(shop, "hangs", dense).trouble.code == "TIMEOUT"
    finally:
        shop.close()


def test_nothing_written_is_no_success(converter_worker, dense):
    assert make(converter_worker, "writes_nothing", dense).trouble.code == "NOTHING_WRITTEN"


def test_a_download_is_refused_and_reported(converter_worker, dense):
    attempt = make(converter_worker, "downloads", dense)
    assert attempt.trouble is None, "it can do without"
    assert "it tried to reach models.example.org and was refused" in attempt.notes
    trouble = make(converter_worker, "needs_download", dense).trouble
    assert trouble.code == "CONVERTER_FAILED"
    assert "models.example.org" in trouble.why


def test_a_converter_that_changes_its_input_changes_a_copy(converter_worker, dense):
    before = dense.read_bytes()
    attempt = make(converter_worker, "spoils", dense)
    assert "the converter wrote to its input file; that was a copy" in attempt.notes
    assert dense.read_bytes() == before


def test_weights_beside_the_model_come_along(converter_worker, dense, tmp_path):
    import onnx

    folder = tmp_path / "apart"
    folder.mkdir()
    path = folder / "apart.onnx"
    onnx.save(
        onnx.load(dense), path, save_as_external_data=True, location="weights.bin", size_threshold=0
    )
    assert (folder / "weights.bin").is_file()
    attempt = make(converter_worker, "correct", path)
    assert attempt.trouble is None
    assert onnx.load(attempt.path).graph.initializer[0].dims == [6, 5]
