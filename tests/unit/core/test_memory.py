"""Memory that is handed back."""

import gc
import resource
import subprocess
import sys

import pytest

from isomorph.core import memory

# Layers of equal size, as aligned blocks of memory: what one leaves, the next does not fit into.
PROGRAM = """
import psutil, torch
from isomorph.core.memory import keep_large_apart
torch.set_num_threads(1)
keep_large_apart(512 << 20)
weight = torch.zeros(4, 4, 3, 3, dtype=torch.float64)
x = torch.zeros(1, 4, 300, 300, dtype=torch.float64)
peak = []
with torch.no_grad():
    for _ in range(60):
        y = torch.nn.functional.conv2d(x, weight, padding=1)
        x = torch.nn.functional.leaky_relu(y)
        peak.append(psutil.Process().memory_info().rss)
print(peak[-1] - peak[2])
"""


# Each run takes the same blocks of memory and frees them, together more than one of them twice.
RUNS = """
import resource
import numpy as np
from isomorph.core.memory import keep_large_apart
keep_large_apart(16 << 30)
faults = []
for _ in range(40):
    blocks = [np.ones(1 << 19) for _ in range(3)]
    del blocks
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
print(faults[-1] - faults[2])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="this is about the memory of glibc")
def test_with_enough_memory_a_run_takes_the_pages_that_the_last_one_freed():
    done = subprocess.run([sys.executable, "-c", RUNS], capture_output=True, text=True, check=True)
    pages_of_a_run = (3 << 22) // resource.getpagesize()
    assert int(done.stdout) < pages_of_a_run


@pytest.mark.skipif(sys.platform != "linux", reason="this is about the memory of glibc")
def test_equal_layers_do_not_take_the_memory_of_all_of_them():
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 20e6


def test_the_collector_rests_while_something_is_built_and_is_then_as_it_was():
    assert gc.isenabled()
    with memory.building():
        with memory.building():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    try:
        with memory.building():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
