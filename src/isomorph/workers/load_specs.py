"""How each model was loaded, so that another worker, or the next one, can load it again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.core.errors import UsageError
from isomorph.store.file_stamp import Stamp, stamp_of

if TYPE_CHECKING:
    from isomorph.core.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadSpec:
    """One way to load one model. ``folder`` is what relative paths are relative to."""

    number: int
    source: str
    framework: str
    options: Mapping[str, str]
    folder: str
    digest: str = ""

    def stamp(self) -> Stamp | None:
        """What changes when something writes to the file; None where there is no file."""
        return stamp_of(Path(self.folder) / self.source)


class LoadSpecs:
    """Load specs by the description of the model, so that a copy with a note finds them."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._kept: dict[tuple[str, str, str], LoadSpec] = {}

    def draft(self, source: str, framework: str, options: Mapping[str, str]) -> LoadSpec:
        """The recipe of a model that is about to be loaded."""
        return LoadSpec(
            number=next(self._numbers),
            source=source,
            framework=framework,
            options=dict(options),
            folder=os.getcwd(),  # noqa: PTH109 - it crosses as a string
        )

    def remember(self, recipe: LoadSpec, model: Model) -> None:
        """It led to this model."""
        self._kept[_key(model)] = replace(recipe, digest=model.digest)

    def of(self, model: Model) -> LoadSpec:
        """How this model was loaded."""
        recipe = self._kept.get(_key(model))
        if recipe is None:
            raise UsageError(
                "UNKNOWN_MODEL",
                "the model was not loaded by this host",
                file=model.location,
                fix="load it with the host that is to open it",
            )
        return recipe


def _key(model: Model) -> tuple[str, str, str]:
    return model.framework, model.location, model.digest
