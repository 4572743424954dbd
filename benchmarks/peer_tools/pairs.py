"""A pair of models with what is known about it, as it lies in a folder of its own."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

MANIFEST = "pair.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two files and one set of inputs. One model that is asked about alone is both.

    ``faulty`` has every name by which a tool may call the faulty node: its own, its module's,
    those of its tensors. It is empty where nothing is wrong.
    """

    name: str
    title: str
    reference: str
    candidate: str
    inputs: str
    faulty: tuple[str, ...] = ()
    lossy: bool = False

    def write(self, folder: Path) -> None:
        """Beside the files."""
        (folder / MANIFEST).write_text(json.dumps(asdict(self), indent=2), encoding="utf-8")


def read_pair(folder: Path) -> Pair:
    """What ``write`` wrote."""
    facts = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return Pair(**{**facts, "faulty": tuple(facts["faulty"])})
