"""Names of PyTorch's operators as converters list them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def taken(torch: Any, operators: Iterable[object]) -> list[str]:  # noqa: ANN401
    """Every operator that a converter lists, and those that are decomposed before it sees them."""
    composite = torch._C._dispatch_get_registrations_for_dispatch_key("CompositeImplicitAutograd")
    names = {str(each).replace("::", ".") for each in (*operators, *composite)}
    # A name without an overload stands for the default one.
    return sorted(names | {f"{each}.default" for each in names if each.count(".") == 1})
