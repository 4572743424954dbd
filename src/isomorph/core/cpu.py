"""The instruction sets of the CPU, as far as the results of a runtime depend on them."""

from __future__ import annotations

import ctypes
import platform
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from isomorph.core.divergence import Judgment

_CPUINFO = Path("/proc/cpuinfo")

# Of each feature: the number of glibc's leaf, the register (eax, ebx, ecx, edx) and the bit.
_LEAVES = {
    "ssse3": (0, 2, 9),
    "fma": (0, 2, 12),
    "sse4_1": (0, 2, 19),
    "sse4_2": (0, 2, 20),
    "avx": (0, 2, 28),
    "f16c": (0, 2, 29),
    "avx2": (1, 1, 5),
    "avx512f": (1, 1, 16),
    "avx512_vnni": (1, 2, 11),
    "amx_bf16": (1, 3, 22),
    "amx_int8": (1, 3, 25),
    "avx_vnni": (6, 0, 4),
    "avx512_bf16": (6, 0, 5),
}

_EXACT = frozenset({"avx512_vnni", "avx_vnni"})
"""Instructions that add four products of bytes in 32 bits."""


class CpuScope(StrEnum):
    """The CPUs on which a quantized model is computed exactly."""

    EVERY = "every CPU"
    EXACT_SUMS = "CPUs with VNNI or without AVX2"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """An architecture and its features, named as Linux names them; None where unknown."""

    architecture: str
    features: frozenset[str] | None

    @property
    def saturates(self) -> Judgment:
        """Whether ONNX Runtime's products of unsigned and signed bytes stop at 16 bits here.

        Its kernels for AVX2 and for AVX-512 without VNNI use vpmaddubsw, which adds two products
        in 16 bits; the older ones widen first, and VNNI adds in 32 bits.
        """
        if self.features is None or self.architecture not in {"x86_64", "amd64"}:
            return Judgment.UNKNOWN
        if self.features & _EXACT or "avx2" not in self.features:
            return Judgment.NO
        return Judgment.YES


@cache
def this_cpu() -> Cpu:
    """The CPU as this process sees it: under an emulator, the emulated one."""
    architecture = platform.machine().lower()
    listed, asked = _listed(_CPUINFO), _asked()
    if asked is None:
        return Cpu(architecture=architecture, features=listed)
    # The file describes the machine; where the two contradict each other, the process is right.
    return Cpu(architecture=architecture, features=(listed or frozenset()) - set(_LEAVES) | asked)


def _listed(path: Path) -> frozenset[str] | None:
    """What the kernel lists; None where there is no such file or no such line."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    line = re.search(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return frozenset(line[1].split()) if line else None


class _Leaf(ctypes.Structure):
    """glibc's ``struct cpuid_feature``: what the CPU has, and what a program may use of it."""

    _fields_ = (("present", ctypes.c_uint * 4), ("active", ctypes.c_uint * 4))


def _asked() -> frozenset[str] | None:
    """The features of ``_LEAVES`` that glibc found usable; None where it cannot be asked."""
    try:
        leaf = ctypes.CDLL(None).__x86_get_cpuid_feature_leaf
    except (AttributeError, OSError, TypeError):
        return None
    leaf.argtypes, leaf.restype = (ctypes.c_uint,), ctypes.POINTER(_Leaf)
    found = set()
    for name, (number, register, bit) in _LEAVES.items():
        answer = leaf(number)
        if answer and answer.contents.active[register] >> bit & 1:
            found.add(name)
    return frozenset(found)
