import os

import psutil

from isomorph.core import system_memory


def test_a_container_has_what_its_group_allows(tmp_path, monkeypatch):
    unlimited, limited = tmp_path / "memory.max", tmp_path / "memory.limit_in_bytes"
    unlimited.write_text("max\n")
    monkeypatch.setattr(system_memory, "_GROUP_LIMITS", (unlimited, limited))
    assert system_memory.total_memory() == psutil.virtual_memory().total
    limited.write_text("1048576\n")
    assert system_memory.total_memory() == 1 << 20


def test_what_a_process_holds_is_what_the_system_says():
    ours = system_memory.resident_memory(os.getpid())
    used = psutil.Process().memory_info()
    assert abs(ours - (used.rss - getattr(used, "shared", 0))) < 16 << 20
    assert system_memory._resident_elsewhere(os.getpid()) > 0


def test_a_process_that_has_ended_holds_nothing():
    assert system_memory.resident_memory(2**22 + 1) is None
