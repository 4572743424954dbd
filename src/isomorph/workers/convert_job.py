"""What a worker does with an order: copy the source, convert the copy, watch what happens.

The converter works in a folder of its own, prints into a file of its own, and reaches no network.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from isomorph import registry
from isomorph.core.conversion import Order
from isomorph.core.converter_abilities import HasPasses
from isomorph.core.errors import IsomorphError, RuntimeFailedError
from isomorph.core.protocols import HasSidecarFiles, ReportsCapabilities
from isomorph.sessions.error_codec import translate
from isomorph.store.codec import decode
from isomorph.workers.ipc import Message

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "", None})


def convert(message: Message) -> Message:
    """Carry out one order; its result, or the converter's failure as an error of ours."""
    converter = registry.converter(message["converter"])
    order = decode(Order, message["order"])
    with _printing_to(Path(message["log"])), offline() as refused:
        os.chdir(message["folder"])
        files = _copied(message["original"], order.source, converter.source)
        before = [_digest(path) for path in files]
        try:
            notes = list(converter.convert(order))
        except (Exception, SystemExit) as error:
            raise _failed(converter.name, error, refused) from error
    if any(_digest(path) != digest for path, digest in zip(files, before, strict=True)):
        notes.append("the converter wrote to its input file; that was a copy")
    notes += [f"it tried to reach {host} and was refused" for host in dict.fromkeys(refused)]
    return {"notes": notes}


def abilities(message: Message) -> Message:
    """The abilities that a converter or runtime reports; empty where it reports none."""
    extension = registry.load(message["kind"], message["name"])
    if not isinstance(extension, ReportsCapabilities):
        return {"abilities": {}}
    with _printing_to(Path(message["log"])), offline():
        return {"abilities": dict(extension.abilities())}


def passes(message: Message) -> Message:
    """The passes that a converter can leave out; none where it has not that ability."""
    converter = registry.converter(message["converter"])
    if not isinstance(converter, HasPasses):
        return {"passes": []}
    with _printing_to(Path(message["log"])), offline():
        return {"passes": list(converter.passes())}


def _failed(name: str, error: BaseException, refused: list[str]) -> IsomorphError:
    if isinstance(error, IsomorphError):
        return error
    if isinstance(error, SystemExit):
        code, why = "CONVERTER_FAILED", f"it ended its process with sys.exit({error.code!r})"
    else:
        ours = translate(error, f"converter {name!r}")
        code = "CONVERTER_FAILED" if ours.code == "RUNTIME_FAILED" else ours.code
        why = ours.why or type(error).__name__
    if refused:
        why += f"; it tried to reach {', '.join(dict.fromkeys(refused))} and was refused"
    return RuntimeFailedError(code, f"converter {name!r} failed", why=why)


def _copied(original: str, copy: str, framework: str) -> list[Path]:
    """The files of the model, copied; a factory has none."""
    source, target = Path(original), Path(copy)
    if original == copy or not source.exists():
        return []
    if source.is_dir():
        shutil.copytree(source, target)
        return [path for path in sorted(target.rglob("*")) if path.is_file()]
    shutil.copyfile(source, target)
    # Weights that lie beside the file are found by their names, so they keep them.
    owner = registry.framework(framework)
    companions = owner.sidecar_files(source) if isinstance(owner, HasSidecarFiles) else ()
    for companion in companions:
        place = target.parent / companion.relative_to(source.parent)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(companion, place)
        # Those that are found by the name of the model are found by the name of its copy, too.
        after = place.with_name(f"{target.stem}{companion.suffix}")
        if companion.stem == source.stem and not after.exists():
            after.symlink_to(place.name)
    return [target, *(target.parent / each.relative_to(source.parent) for each in companions)]


def _digest(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _printing_to(path: Path) -> Iterator[None]:
    """Whatever is printed meanwhile, by Python or past it, goes into the file."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for fd, original in zip((1, 2), kept, strict=True):
            os.dup2(original, fd)
            os.close(original)


class _Gate:
    """An audit hook cannot be taken out again, so it is put in once and switched."""

    def __init__(self) -> None:
        self.refused: list[str] | None = None
        self.installed = False

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.refused is None or event not in {"socket.getaddrinfo", "socket.connect"}:
            return
        host = arguments[0] if event == "socket.getaddrinfo" else _host(arguments[1])
        if host in _LOCAL:
            return
        self.refused.append(str(host))
        raise ConnectionRefusedError(f"a conversion reaches no network; it asked for {host}")


def _host(address: object) -> object:
    # A path or bytes is a socket of this machine.
    return address[0] if isinstance(address, tuple) and address else None


_gate = _Gate()


@contextmanager
def offline() -> Iterator[list[str]]:
    """No connection leaves this machine meanwhile; the hosts that were asked for are listed."""
    if not _gate.installed:
        sys.addaudithook(_gate.hook)
        _gate.installed = True
    refused: list[str] = []
    _gate.refused = refused
    try:
        yield refused
    finally:
        _gate.refused = None
