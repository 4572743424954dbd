"""How often Python looks for unused objects in a process that is isomorph's own."""

from __future__ import annotations

import gc

_NEW_OBJECTS = 10_000
"""New objects from which on the newest are looked at; Python's own 700 are a few calls here."""
_ROUNDS = 20
"""Rounds of one age after which the next older objects are looked at as well."""


def collect_seldom() -> None:
    """Look for unused cycles of objects less often.

    Imports and descriptions of models make hundreds of thousands of objects that stay. Tensors
    are freed when nobody refers to them, without the collector.
    """
    gc.set_threshold(_NEW_OBJECTS, _ROUNDS, _ROUNDS)


def skip_final_collection() -> None:
    """Look at no object any more, before a process ends.

    Python looks for unused cycles once more on its way out, in memory that the system is about to
    take back. What has to be done at the end is registered (``atexit``) and not left to that.
    """
    gc.freeze()
