"""How much work something is, counted in lines of code: the same on a busy machine."""

import sys
import threading
from pathlib import Path

import isomorph

OURS = str(Path(isomorph.__file__).parent)


def lines_run(work):
    """How many lines of isomorph ran, in whatever thread."""
    counted = 0

    def line(frame, event, argument):
        nonlocal counted
        counted += event == "line"
        return line

    def called(frame, event, argument):
        return line if frame.f_code.co_filename.startswith(OURS) else None

    before = sys.gettrace(), threading.gettrace()
    threading.settrace(called)
    sys.settrace(called)
    try:
        work()
    finally:
        sys.settrace(before[0])
        threading.settrace(before[1])
    return counted
