"""Names of PyTorch's operators as converters tell them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def taken(torch: Any, told: Iterable[object]) -> list[str]:  # noqa: ANN401
    """Every operator that a converter tells of, and those that fall apart before it sees them."""
    composite = torch._C._dispatch_get_registrations_for_dispatch_key("CompositeImplicitAutograd")
    names = {str(each).replace("::", ".") for each in (*told, *composite)}
    # One that is told without its overload serves the default one.
    return sorted(names | {f"{each}.default" for each in names if each.count(".") == 1})
