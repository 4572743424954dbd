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


# As a library does that opens a model: blocks that go, and between them some that stay.
COPIES = """
import psutil
import numpy as np
from isomorph.core.memory import copying_weights, keep_large_apart
keep_large_apart(16 << 30)
before = psutil.Process().memory_info().rss
with copying_weights():
    copies, stay = [], []
    for _ in range(20):
        copies.append(np.ones(1 << 18))
        stay.append(np.ones(1 << 12))
    del copies
    print(psutil.Process().memory_info().rss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="this is about the memory of glibc")
@pytest.mark.parametrize("returned", [True, False])
def test_copies_of_weights_go_back_to_the_system_although_others_stay(returned):
    program = COPIES if returned else COPIES.replace("with copying_weights()", "if True")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert (int(done.stdout) < 20 << 20) is returned


@pytest.mark.skipif(sys.platform != "linux", reason="this is about the memory of glibc")
def test_after_weights_were_copied_a_run_takes_the_pages_of_the_last_one_again():
    program = RUNS.replace("faults = []", "with copying_weights():\n    pass\nfaults = []")
    program = program.replace("import keep_large", "import copying_weights, keep_large")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < (3 << 22) // resource.getpagesize()


def test_a_process_that_chose_no_threshold_keeps_that_of_its_system(monkeypatch):
    monkeypatch.setattr(memory, "_threshold", None)
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: pytest.fail("glibc was asked"))
    with memory.copying_weights():
        pass


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


# A limit can be lowered but not raised again beyond the hard one, so a process of its own does it.
MAPPED = """
import resource
from isomorph.core.memory import count_mapped, memory_limit, share_of_memory
GIB = 1 << 30
def soft():
    return resource.getrlimit(resource.RLIMIT_DATA)[0]
if soft() == resource.RLIM_INFINITY:
    count_mapped(GIB)
    assert (memory_limit(), soft()) == (None, resource.RLIM_INFINITY)
resource.setrlimit(resource.RLIMIT_DATA, (8 * GIB, 20 * GIB))
assert (memory_limit(), share_of_memory(4 * GIB)) == (8 * GIB, GIB)
count_mapped(8 * GIB)
assert (soft(), memory_limit(), share_of_memory(4 * GIB)) == (16 * GIB, 8 * GIB, GIB)
count_mapped(-8 * GIB)
assert (soft(), memory_limit()) == (8 * GIB, 8 * GIB)
count_mapped(16 * GIB)
assert (soft(), memory_limit()) == (20 * GIB, 8 * GIB)
count_mapped(-16 * GIB)
assert (soft(), memory_limit()) == (8 * GIB, 8 * GIB)
"""


def test_mapped_files_raise_the_limit_and_no_share_of_it():
    subprocess.run([sys.executable, "-c", MAPPED], check=True, timeout=60)
