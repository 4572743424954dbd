"""A run that is wrong although its graph is right, and the ways to run it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from isomorph.core.model import Model
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Array, Environment

OPTIMIZERS_THAT_RAN = "optimizers that ran"
"""The fact under which a runtime lists the optimizers that changed this model."""

LOG_LINES = "log lines"
"""The fact under which a runtime gives the lines of its own log that it was asked for."""

PROVIDERS_ASKED, PROVIDERS_USED = "providers asked", "providers used"
"""The facts under which a runtime lists execution providers: as set, and as a session has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderFallback:
    """Another execution provider is in use than the first that was asked for."""

    asked: tuple[str, ...]
    used: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """Whether the one in use was asked for as well, as the next choice."""
        return self.used[0] in self.asked


def provider_fallback(facts: Mapping[str, str]) -> ProviderFallback | None:
    """The fallback that the facts of a run show; None where the first provider is in use."""
    asked, used = (
        tuple(name.strip() for name in facts.get(key, "").split(",") if name.strip())
        for key in (PROVIDERS_ASKED, PROVIDERS_USED)
    )
    if not asked or not used or asked[0] == used[0]:
        return None
    return ProviderFallback(asked=asked, used=used)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """One optimization or kernel of a runtime, and the settings that disable it.

    ``dtype``: the only type that a run which they make right can have been in, where there is one.
    ``device``: the only kind of device on which they have an effect, where there is one.
    """

    name: str
    settings: Mapping[str, str]
    kind: Literal["optimizer", "kernel", "precision"] = "optimizer"
    dtype: str = ""
    device: str = ""

    def has_effect(self, settings: Mapping[str, str]) -> bool:
        """Whether the device of these settings has what it disables."""
        return not self.device or settings.get("device", "").startswith(self.device)


def _no_switches(_settings: Mapping[str, str]) -> tuple[Switch, ...]:
    return ()


def _nothing(_change: Callable[[Array], Array]) -> Array | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """What an experiment may ask of the runtime under suspicion; None where it cannot be run.

    ``right``: are the wrong outputs right under these changed settings? ``steady``: do two runs
    under them agree bit for bit? ``alone``: the wrong tensor, computed by the faulty nodes alone
    from the oracle's values, in a runtime under changed settings. ``single``: the optimizers that
    ran on this model under these settings, each to be switched off by itself. ``imitated``: the
    wrong tensor in the oracle, if this is done to everything that the faulty nodes read.
    """

    environment: Environment
    plain: Mapping[str, str]
    right: Callable[[Mapping[str, str]], bool | None] = field(repr=False)
    steady: Callable[[Mapping[str, str]], bool | None] = field(repr=False)
    alone: Callable[[str, Mapping[str, str]], Array | None] = field(repr=False)
    single: Callable[[Mapping[str, str]], tuple[Switch, ...]] = field(
        default=_no_switches, repr=False
    )
    imitated: Callable[[Callable[[Array], Array]], Array | None] = field(
        default=_nothing, repr=False
    )
    switches: tuple[Switch, ...] = ()
    others: tuple[str, ...] = ()
    """Further runtimes that can run this model."""


@runtime_checkable
class LosesDevice(Protocol):
    """The ability of a runtime to tell errors after which its device fails in this process."""

    def device_lost(self, error: BaseException) -> bool:
        """Whether nothing more can be computed on the device in this process."""
        ...


class StoredProducts(Protocol):
    """Products with stored matrices, computed elsewhere than on the processor.

    A matrix is moved there when it is first used, in its stored type, and stays.
    """

    device: str
    """Where they are computed, in the words of a setting."""

    def product(self, rows: Array, stored: Array, *, absolute: bool) -> Array | None:
        """``rows @ stored`` in float64; None where the processor has to compute it.

        ``absolute``: the sizes of the stored numbers take their place.
        """
        ...

    def close(self) -> None:
        """Release the matrices."""
        ...


@runtime_checkable
class MultipliesElsewhere(Protocol):
    """The ability of an oracle to compute products with stored matrices for any other."""

    def products_on(self, device: str) -> StoredProducts | None:
        """The products on this device; None for the processor."""
        ...


@runtime_checkable
class NeedsPlatform(Protocol):
    """The ability of a runtime to state that this kind of machine cannot run it."""

    def unavailable(self) -> str:
        """Why it cannot run on this machine, in a few words; empty where it can."""
        ...


@runtime_checkable
class LoadsLibraries(Protocol):
    """The ability of a runtime to load libraries with code whose paths its settings give."""

    library_settings: frozenset[str]
    """The settings whose value is such a path. A file of options that has one needs trust."""


class OpensElsewhere(Protocol):
    """Opens sessions of extensions in the worker process of another environment."""

    def open(
        self,
        source: str,
        *,
        extensions: Mapping[str, str],
        settings: Mapping[str, str],
    ) -> Session:
        """A session of a file.

        ``extensions`` has the ``module:attribute`` of a framework and of a runtime, under these
        two words, and the name that messages give them; entry points are not visible there.
        """
        ...


@runtime_checkable
class StartsInterpreter(Protocol):
    """The ability of a runtime to start another environment's interpreter for its package alone.

    What else a session needs stays in the worker of isomorph's own environment. The worker of any
    other runtime is started with that interpreter as a whole.
    """

    def open_elsewhere(
        self, model: Model, environment: Environment, elsewhere: OpensElsewhere
    ) -> Session:
        """As ``open``, in the environment of ``environment.interpreter``."""
        ...


@runtime_checkable
class InstalledFrom(Protocol):
    """The ability of a runtime to name the packages whose releases can be compared."""

    packages: Mapping[str, str]
    """By the name of each package in an index, a statement in Python that hands an array of NumPy
    to it and takes one back; a release that was built for another NumPy may fail only then."""
