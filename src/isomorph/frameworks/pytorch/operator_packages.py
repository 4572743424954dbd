"""Imports the installed packages that define operators which an exported program calls."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec

from isomorph.frameworks.pytorch.silence_logs import quietly

_PACKAGES = {"torchao": "torchao", "export.access_subclass_inner_tensor": "torchao"}
"""The package by the namespace of an operator, or by its name."""


def package_of(operator: str) -> str | None:
    """The package that defines ``torchao.dequantize_affine.default``; None where none is known."""
    namespace, _, rest = operator.partition(".")
    return _PACKAGES.get(namespace) or _PACKAGES.get(f"{namespace}.{rest.partition('.')[0]}")


def import_packages(operators: Iterable[str]) -> None:
    """Import what defines these operators, as far as it is installed."""
    for name in sorted({found for each in operators if (found := package_of(each)) is not None}):
        if find_spec(name) is None:
            continue
        with quietly(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import_module(name)
