"""The entry points of installed packages, read without ``importlib.metadata``.

That module parses every description of every package and takes longer to import than a small
model takes to check. What it finds elsewhere than in folders is still found by it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.machinery import PathFinder
from typing import Any, NamedTuple

_SUFFIXES = (".dist-info", ".egg-info")


class EntryPoint(NamedTuple):
    """A name, and the ``module:attribute`` that it stands for."""

    name: str
    value: str

    def load(self) -> Any:  # noqa: ANN401
        """Import the module and return the attribute."""
        module, _, attribute = self.value.partition("[")[0].strip().partition(":")
        found: Any = import_module(module.strip())
        for part in filter(None, attribute.strip().split(".")):
            found = getattr(found, part)
        return found


def entry_points(prefix: str) -> dict[str, dict[str, EntryPoint]]:
    """The entry points of every group whose name begins with ``prefix``, by group and name."""
    groups: dict[str, dict[str, EntryPoint]] = {}
    found = _in_folders(prefix) if _only_folders() else _by_metadata(prefix)
    for group, point in found:
        groups.setdefault(group, {}).setdefault(point.name, point)
    return groups


def _only_folders() -> bool:
    """Whether packages can be installed in folders only: no archive, and no finder of another."""
    others = (each for each in sys.meta_path if each is not PathFinder)
    archives = (path for path in sys.path if os.path.isfile(path))  # noqa: PTH113
    return not any(hasattr(each, "find_distributions") for each in others) and not any(archives)


def _in_folders(prefix: str) -> Iterator[tuple[str, EntryPoint]]:
    known: set[str] = set()
    for folder in sys.path:
        try:
            names = sorted(os.listdir(folder or "."))  # noqa: PTH208
        except OSError:
            continue
        for name in names:
            stem, suffix = os.path.splitext(name)  # noqa: PTH122
            package = stem.partition("-")[0].lower().replace("_", "-").replace(".", "-")
            if suffix not in _SUFFIXES or package in known:
                continue
            known.add(package)  # as for modules, the first on the path counts
            path = os.path.join(folder, name, "entry_points.txt")  # noqa: PTH118
            yield from _listed(path, prefix)


def _listed(path: str, prefix: str) -> Iterator[tuple[str, EntryPoint]]:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return
    if f"[{prefix}" not in text:
        return
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1].strip()
        elif group.startswith(prefix) and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield group, EntryPoint(name.strip(), value.strip())


def _by_metadata(prefix: str) -> Iterator[tuple[str, EntryPoint]]:
    from importlib import metadata

    for group in metadata.entry_points().groups:
        if group.startswith(prefix):
            for point in metadata.entry_points(group=group):
                yield group, EntryPoint(point.name, point.value)
