"""What is known of the CPU, and what follows for products of bytes."""

import pytest

from isomorph.core import cpu
from isomorph.core.cpu import Cpu, this_cpu
from isomorph.core.divergence import Judgment


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ({"ssse3", "sse4_1", "sse4_2"}, "no"),
        ({"avx", "avx2", "fma"}, "yes"),
        ({"avx", "avx2", "avx512f"}, "yes"),
        ({"avx", "avx2", "avx512f", "avx512_vnni"}, "no"),
        ({"avx", "avx2", "avx_vnni"}, "no"),
        (None, "unknown"),
    ],
)
def test_what_saturates(features, expected):
    known = None if features is None else frozenset(features)
    assert Cpu(architecture="x86_64", features=known).saturates == expected


def test_another_architecture_is_not_guessed_at():
    assert Cpu(architecture="aarch64", features=frozenset({"asimd"})).saturates == "unknown"


def test_the_runtime_agrees_with_the_features_of_this_cpu(largest_pair):
    stated = this_cpu().saturates
    assert stated is Judgment.UNKNOWN or (largest_pair() < 2 * 255 * 127) == (stated == "yes")


def test_the_list_of_the_kernel_is_read(tmp_path):
    listed = tmp_path / "cpuinfo"
    assert cpu._listed(listed) is None
    listed.write_text("processor\t: 0\n")
    assert cpu._listed(listed) is None
    listed.write_text("processor\t: 0\nflags\t\t: fpu avx2 ssse3\nprocessor\t: 1\n")
    assert cpu._listed(listed) == {"fpu", "avx2", "ssse3"}


def test_what_the_process_may_use_overrules_what_the_machine_has(tmp_path, monkeypatch):
    listed = tmp_path / "cpuinfo"
    listed.write_text("flags\t: fpu avx2 avx512_vnni\n")
    monkeypatch.setattr(cpu, "_CPUINFO", listed)
    monkeypatch.setattr(cpu, "_asked", lambda: frozenset({"avx2"}))
    assert this_cpu.__wrapped__().features == {"fpu", "avx2"}
    monkeypatch.setattr(cpu, "_asked", lambda: None)
    assert this_cpu.__wrapped__().features == {"fpu", "avx2", "avx512_vnni"}
