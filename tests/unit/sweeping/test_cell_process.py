"""A process of a cell: its exit code, its messages, and its end from outside."""

import threading
import time

import pytest

from isomorph.sweeping.cell_process import CellProcess


def test_the_exit_code_and_the_messages_are_kept(tmp_path):
    ended = CellProcess(["check", "absent.onnx", "gone.onnx"], tmp_path).run()
    assert ended.exit_code == 2
    assert "error[FILE_NOT_FOUND]" in ended.stderr
    assert ended.cpu_seconds > 0
    assert ended.peak_bytes > 1 << 20


@pytest.mark.parametrize("delay", [0.0, 0.5])
def test_a_process_that_is_stopped_has_no_exit_code(tmp_path, delay):
    process = CellProcess(["view", "."], tmp_path)
    threading.Timer(delay, process.stop).start()
    began = time.monotonic()
    assert process.run().exit_code is None
    assert time.monotonic() - began < 60
