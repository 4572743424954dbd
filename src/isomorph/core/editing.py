"""One dispatch of edits: every framework's editor marks the method that applies each kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from isomorph.core.errors import UsageError
from isomorph.core.patch import Edit

E = TypeVar("E", bound=Edit)
Self = TypeVar("Self")
T = TypeVar("T")

_KIND = "__edit__"


def applies(kind: type[E]) -> Callable[[Callable[[Self, E], None]], Callable[[Self, E], None]]:
    """Mark a method of an editor as the one that applies this kind of edit."""

    def mark(method: Callable[[Self, E], None]) -> Callable[[Self, E], None]:
        setattr(method, _KIND, kind)
        return method

    return mark


class EditDispatcher:
    """Base of an editor: ``apply_edit`` calls the method that is marked for the edit's kind."""

    edited: ClassVar[str]
    """What is edited, for the message about an edit that it does not take: ``a TFLite model``."""
    _methods: ClassVar[Mapping[type, Callable[[Any, Any], None]]] = {}

    def __init_subclass__(cls) -> None:
        """Collect the marked methods once."""
        marked = {
            kind: method
            for method in vars(cls).values()
            if (kind := getattr(method, _KIND, None)) is not None
        }
        cls._methods = {**cls._methods, **marked}

    @classmethod
    def kinds(cls) -> frozenset[type]:
        """The kinds of edits that it applies."""
        return frozenset(cls._methods)

    def apply_edit(self, edit: Edit) -> None:
        """Apply one edit; raise where this format does not take its kind."""
        method = self._methods.get(type(edit))
        if method is None:
            raise not_possible(f"{self.edited} takes no edit {type(edit).__name__}")
        method(self, edit)


def not_possible(what: str) -> UsageError:
    """The error about an edit that a model cannot take."""
    return UsageError("PATCH_NOT_POSSIBLE", what)


def unknown_name(what: str, name: str) -> UsageError:
    """The error about an edit of something that the model does not have."""
    return UsageError("PATCH_UNKNOWN_NAME", f"the model has no {what} named {name!r}")


def named(known: Mapping[str, T], what: str, name: str) -> T:
    """What an edit names, which the model must have."""
    if name not in known:
        raise unknown_name(what, name)
    return known[name]


@runtime_checkable
class EditsValues(Protocol):
    """A framework that patches the values in its files; nodes are neither added nor replaced."""

    edits_values_only: bool


@runtime_checkable
class ChangesNodes(Protocol):
    """A fix whose every patch adds, replaces or removes a node."""

    changes_nodes: bool
