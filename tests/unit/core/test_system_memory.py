import psutil

from isomorph.core import system_memory


def test_a_container_has_what_its_group_allows(tmp_path, monkeypatch):
    unlimited, limited = tmp_path / "memory.max", tmp_path / "memory.limit_in_bytes"
    unlimited.write_text("max\n")
    monkeypatch.setattr(system_memory, "_GROUP_LIMITS", (unlimited, limited))
    assert system_memory.total_memory() == psutil.virtual_memory().total
    limited.write_text("1048576\n")
    assert system_memory.total_memory() == 1 << 20
