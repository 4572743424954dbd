"""What is installed here, what it can do, and what to install for what is missing.

Versions are read from the metadata of the packages. Nothing heavy is imported into this process:
where imports are asked for, each package is imported in a process of its own, with a deadline,
because an import can crash as well as fail.
"""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata
from importlib.util import find_spec

from isomorph import registry
from isomorph.core.cpu import this_cpu
from isomorph.core.errors import IsomorphError
from isomorph.core.execution import NeedsPlatform
from isomorph.core.installation import InstallationItem, InstallationStatus
from isomorph.core.messages import message
from isomorph.sessions.host import Limits
from isomorph.store.tempdirs import TempDirs
from isomorph.version import VERSION
from isomorph.workers.worker_pool import WorkerSlot

IMPORT_SECONDS = 180.0
"""Seconds for one import; a cold tensorflow on a busy machine needs half a minute."""

WORKER_SECONDS = 60.0
_OK = InstallationStatus.OK

# The same package under another name on the index: a build for another device.
_OTHER_BUILDS = {
    "tensorflow-cpu": ("tensorflow", "tensorflow-macos"),
    "onnxruntime": ("onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime-directml"),
}
_CPU_FEATURES = ("avx", "avx2", "fma", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16",
                 "amx_bf16", "amx_int8", "asimd", "sve", "bf16")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A package that isomorph, or one of its extras, asks for."""

    package: str
    minimum: str | None
    extra: str | None


def doctor(
    progress: Callable[[str, str], None] | None = None, *, imports: bool = False
) -> tuple[InstallationItem, ...]:
    """Every package, extension and fact of the machine that a check may depend on.

    With ``imports``, every installed package is imported, too; one that fails is broken.
    """
    report = progress or _no_progress
    packages = tuple(map(_package, requirements()))
    if imports:

        def examine(package: InstallationItem) -> InstallationItem:
            report(message("DOCTOR.importing"), package.name)
            return _imported(package)

        with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
            packages = tuple(pool.map(examine, packages))
    report(message("DOCTOR.starting"), "")
    worker = _worker()
    report(message("DOCTOR.loading"), "")
    return (*_machine(), worker, *packages, *_with_runtimes(tuple(_extensions(packages))))


def _no_progress(phase: str, detail: str) -> None:
    """A progress callback that does nothing."""


def requirements() -> tuple[Requirement, ...]:
    """Read from the installed metadata, so that there is no second list to keep.

    An extra is of use if ``all`` has it, or if a framework or a runtime names it; the others are
    for developing isomorph itself.
    """
    lines = [(line, _extra(line)) for line in metadata.requires("isomorph") or ()]
    parts = [line for line, extra in lines if extra == "all"]
    used = {None, *(name for line in parts for name in re.findall(r"[a-z]+", _bracketed(line)))}
    used |= _named_extras()
    found = []
    for line, extra in lines:
        match = re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*(?:>=\s*([0-9.]+))?", line)
        if match is None or match[1] == "isomorph" or extra not in used:
            continue
        found.append(Requirement(package=match[1], minimum=match[2], extra=extra))
    return tuple(found)


def _named_extras() -> set[str | None]:
    """The extras that frameworks and runtimes name; what cannot be loaded is shown as broken."""
    found: set[str | None] = set()
    for kind in ("frameworks", "runtimes"):
        for name in registry.names(kind):
            with suppress(Exception):
                found.add(registry.load(kind, name).extra)
    return found


def _extra(line: str) -> str | None:
    """The extra that a requirement belongs to; None for one of the base install."""
    found = re.search(r"extra\s*==\s*['\"]([^'\"]+)['\"]", line)
    return found[1] if found else None


def _bracketed(line: str) -> str:
    """The extras that a requirement asks for, as they stand in its brackets."""
    found = re.search(r"\[([^]]*)\]", line)
    return found[1] if found else ""


def _package(required: Requirement) -> InstallationItem:
    name, version = _installed(required.package)
    found = InstallationItem(
        kind="package",
        name=name,
        version=version,
        status=InstallationStatus.OK,
        detail=message("DOCTOR.extra", extra=required.extra)
        if required.extra
        else message("DOCTOR.base"),
        extra=required.extra,
    )
    if version is None:
        whole = f"'isomorph[{required.extra}]'" if required.extra else "isomorph"
        return replace(found, status=InstallationStatus.MISSING, advice=f"pip install {whole}")
    if required.minimum and _numbers(version) < _numbers(required.minimum):
        return replace(
            found,
            status=InstallationStatus.OLD,
            detail=message("DOCTOR.too_old", of=found.detail, minimum=required.minimum),
            advice=f"pip install --upgrade '{name}>={required.minimum}'",
        )
    return found


def _imported(package: InstallationItem) -> InstallationItem:
    """The same package, broken if its version is right and its import fails."""
    if package.status is not InstallationStatus.OK:
        return package
    module = _module(package.name)
    trouble = import_in_subprocess(module)
    if trouble is None:
        return package
    return replace(
        package,
        status=InstallationStatus.BROKEN,
        detail=message("DOCTOR.import_failed", module=module, error=trouble),
        advice=f"pip install --force-reinstall {package.name}=={package.version}",
    )


def _installed(package: str) -> tuple[str, str | None]:
    for name in (package, *_OTHER_BUILDS.get(package, ())):
        try:
            return name, metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return package, None


def _module(package: str) -> str:
    """What to import for a package: not always the name it is installed by."""
    flat = package.replace("-", "_")
    normal = re.sub(r"[-_.]+", "-", package).lower()
    provided = [
        module
        for module, owners in _distributions().items()
        if not module.startswith("_")
        and any(re.sub(r"[-_.]+", "-", owner).lower() == normal for owner in owners)
    ]
    return flat if flat in provided or not provided else min(provided, key=len)


@cache
def _distributions() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


def import_in_subprocess(module: str, *, seconds: float = IMPORT_SECONDS) -> str | None:
    """Import in a process of its own: None when that works, else what happened."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", f"import {module}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return message("DOCTOR.import_late", seconds=seconds)
    if done.returncode == 0:
        return None
    if done.returncode < 0:
        return message("DOCTOR.import_killed", signal=signal.Signals(-done.returncode).name)
    last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
    return last[0] if last else message("DOCTOR.import_ended", code=done.returncode)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3])


def _machine() -> Iterator[InstallationItem]:
    yield _machine_item("isomorph", version=VERSION)
    system = message("DOCTOR.system", system=platform.system(), machine=platform.machine())
    yield _machine_item("python", version=platform.python_version(), detail=system)
    features = " ".join(_cpu_features()) or message("DOCTOR.no_features")
    # Which kernels a runtime picks depends on these, and so do the last bits of its results.
    yield _machine_item(
        "cpu", detail=message("DOCTOR.cpu", cores=os.cpu_count(), features=features)
    )


def _machine_item(name: str, *, version: str | None = None, detail: str = "") -> InstallationItem:
    return InstallationItem(
        kind="machine", name=name, version=version, status=InstallationStatus.OK, detail=detail
    )


def _cpu_features() -> tuple[str, ...]:
    here = this_cpu().features or frozenset()
    return tuple(feature for feature in _CPU_FEATURES if feature in here)


def _worker() -> InstallationItem:
    """Start one worker process and exchange one message with it."""
    scratch = TempDirs()
    slot = WorkerSlot("doctor", scratch, Limits())
    try:
        slot.start().exchange({"command": "ping"}, doing="starting", seconds=WORKER_SECONDS)
    except (IsomorphError, OSError) as error:
        return replace(
            _machine_item("worker", detail=str(error)),
            status=InstallationStatus.BROKEN,
            advice=message("DOCTOR.worker_failed"),
        )
    else:
        return _machine_item("worker", detail=message("DOCTOR.worker"))
    finally:
        if slot.process is not None:
            slot.process.stop()
        scratch.remove()


def _extensions(packages: tuple[InstallationItem, ...]) -> Iterator[InstallationItem]:
    """Load each extension; one whose extra is not installed is missing."""
    absent = {found.extra for found in packages if found.status is not InstallationStatus.OK}
    for kind in registry.KINDS:
        for name in registry.names(kind):
            yield _extension(kind, name, absent)


def _with_runtimes(found: tuple[InstallationItem, ...]) -> Iterator[InstallationItem]:
    """A framework whose models are read, and not run, says so."""
    runtimes = {each.name: each for each in found if each.kind == registry.singular("runtimes")}
    for each in found:
        whole = each.kind == registry.singular("frameworks") and each.status is _OK
        runtime = runtimes.get(registry.framework(each.name).runtime) if whole else None
        if runtime is None or runtime.status is _OK:
            yield each
            continue
        why = message("DOCTOR.read_only", why=runtime.detail)
        yield replace(each, detail=why, advice=runtime.advice)


def _extension(kind: str, name: str, absent: set[str | None]) -> InstallationItem:
    item = InstallationItem(
        kind=registry.singular(kind), name=name, version=None, status=InstallationStatus.OK
    )
    try:
        found = registry.load(kind, name)
        extra = found.extra if kind in {"frameworks", "runtimes"} else None
    except Exception as error:  # noqa: BLE001 - a third-party extension may fail in any way
        detail = f"{type(error).__name__}: {error}"
        return replace(item, status=InstallationStatus.BROKEN, detail=detail)
    if isinstance(found, NeedsPlatform) and (why := found.unavailable()):
        return replace(item, status=InstallationStatus.MISSING, detail=why)
    packages = found.packages if kind == "converters" else ()
    lacking = [each for each in packages if find_spec(each) is None]
    if lacking:
        needs, advice = ", ".join(lacking), found.install
    elif extra is not None and extra in absent:
        needs, advice = message("DOCTOR.extra", extra=extra), f"pip install 'isomorph[{extra}]'"
    else:
        return item
    return replace(
        item,
        status=InstallationStatus.MISSING,
        detail=message("DOCTOR.needs", packages=needs),
        advice=advice,
        extra=extra,
    )
