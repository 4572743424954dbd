"""From a file, a factory or a live object to a model that can be run step by step."""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from isomorph.core.errors import (
    IsomorphError,
    RefusedError,
    UnreadableModelError,
    UsageError,
    message_lines,
)
from isomorph.core.model import LoadFact
from isomorph.frameworks.pytorch.archive import (
    holds_traced_inputs,
    kind_of,
    operators_of,
    read_programs,
    refuse_pickle,
    refuse_unsafe_export,
)
from isomorph.frameworks.pytorch.export import Example, export, read_example
from isomorph.frameworks.pytorch.export_reader import read_exported
from isomorph.frameworks.pytorch.in_place_ops import alters_state
from isomorph.frameworks.pytorch.model import TorchModel
from isomorph.frameworks.pytorch.op_recorder import record
from isomorph.frameworks.pytorch.operator_packages import import_packages, package_of
from isomorph.frameworks.pytorch.pt2_reader import read_static
from isomorph.frameworks.pytorch.script_reader import read_script
from isomorph.frameworks.pytorch.silence_logs import quietly
from isomorph.store.intact_files import NOT_BUILT, NOT_BUILT_FIX, intact

FACTORY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def load_file(
    path: Path, options: Mapping[str, str], *, steps_suffice: bool = False
) -> tuple[TorchModel, tuple[str, ...]]:
    """Whatever PyTorch writes, as far as it may be opened; and notes for the user."""
    if path.is_dir():
        from isomorph.frameworks.pytorch.hugging_face import exported_folder

        return from_exported(exported_folder(path)), ()
    with path.open("rb") as file:
        kind = kind_of(path, file.read(16))
    if kind == "exported":
        return load_exported(path, options, steps_suffice=steps_suffice), ()
    if kind == "script":
        return load_script(path), ()
    if kind == "gguf":
        from isomorph.frameworks.pytorch.hugging_face import GGUF_NOTE, exported_gguf

        return from_exported(exported_gguf(path)), (GGUF_NOTE,)
    if kind is None:
        raise UnreadableModelError(
            "NOT_A_MODEL", "this is no PyTorch file", file=str(path),
            why="it is neither an archive of torch.export or TorchScript nor a pickle",
        )  # fmt: skip
    if options.get("trust") != "yes":
        refuse_pickle(path, kind)
    return from_module(_unpickle(path), example_in(options), str(path))


def load_exported(
    path: Path, options: Mapping[str, str], *, steps_suffice: bool = False
) -> TorchModel:
    """A .pt2 file; without trust nothing in it may run code.

    Where its steps suffice, torch's own object is loaded only for what cannot do without.
    """
    trusted = options.get("trust") == "yes"
    try:
        documents = read_programs(path) if trusted else refuse_unsafe_export(path)
        _refuse_unknown_operators(path, documents)
        static = read_static(path, documents) if steps_suffice else None
        if static is not None and not (_caches_outside(options) and alters_state(static[0])):
            return TorchModel(
                kind="exported",
                program=static[0],
                whole=lambda: load_exported(path, options),
                release=static[1].release,
            )
        with quietly(), _only_tensors(active=not trusted):
            exported = torch.export.load(path)
    except pickle.UnpicklingError as error:
        raise RefusedError(
            "UNSAFE_PICKLE", "refused to load an exported program", file=str(path),
            why=_first_line(error), fix="if you trust the file, add --trust",
        ) from error  # fmt: skip
    except IsomorphError:
        raise
    except Exception as error:  # torch raises whatever its readers raise
        raise unreadable(path, error) from error
    if _caches_outside(options):
        from isomorph.frameworks.pytorch.state_outside import with_state_outside

        exported = with_state_outside(exported) or exported
    return from_exported(exported)


def _caches_outside(options: Mapping[str, str]) -> bool:
    """Whether caches that a program writes in place are to be inputs and outputs."""
    return options.get("caches") == "outside"


def _refuse_unknown_operators(path: Path, documents: Mapping[str, Any]) -> None:
    operators = list(operators_of(documents))
    import_packages(operator for operator, _ in operators)
    for operator, node in operators:
        package = package_of(operator)
        found: Any = torch.ops
        try:
            for word in operator.split("."):
                found = getattr(found, word)
        except (AttributeError, RuntimeError) as error:
            raise UnreadableModelError(
                "UNSUPPORTED_OP", f"operator {operator} is not supported", file=str(path),
                where=f"node {node}", why="no package that isomorph imports registers it",
                fix="import the module that registers it: --ops MODULE --trust"
                if package is None
                else f"pip install {package}",
            ) from error  # fmt: skip


@contextmanager
def _only_tensors(*, active: bool) -> Iterator[None]:
    """torch.export.load retries without its safe unpickler; this switch of torch forbids that."""
    word = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
    before = os.environ.get(word)
    if active:
        os.environ[word] = "1"
    try:
        yield
    finally:
        if active and before is None:
            del os.environ[word]
        elif active and before is not None:
            os.environ[word] = before


def from_exported(exported: Any) -> TorchModel:  # noqa: ANN401
    """An ``ExportedProgram``, which stays as it is."""
    with quietly():
        try:
            # Its guards are Python text out of the file; the shapes are checked by the operators.
            deployed = exported.module(check_guards=False)
        except TypeError:
            deployed = exported.module()
    specs = exported.graph_signature.output_specs
    changed = [str(each.target) for each in specs if each.kind.name.endswith("_MUTATION")]
    return TorchModel(
        kind="exported",
        program=read_exported(exported),
        deployed=deployed,
        exported=exported,
        load_facts={LoadFact.KEEPS_STATE: ", ".join(changed)} if changed else {},
    )


def load_script(path: Path) -> TorchModel:
    """A TorchScript archive; its code can only call operators."""
    try:
        with quietly():
            script = torch.jit.load(path, map_location="cpu")
            typed = None
            if holds_traced_inputs(path):
                typed = torch.jit.load(path, map_location="cpu", _restore_shapes=True)
    except Exception as error:  # torch raises whatever its readers raise
        raise unreadable(path, error) from error
    return from_script(script, typed)


def from_script(script: Any, typed: Any = None) -> TorchModel:  # noqa: ANN401
    """A scripted or traced module; ``typed`` is the same with the types it was traced with."""
    with quietly():
        program, writes = read_script(script, typed)
    return TorchModel(kind="script", program=program, deployed=script, cuttable=not writes)


def from_module(
    module: Any,  # noqa: ANN401
    example: Example | None,
    location: str,
) -> tuple[TorchModel, tuple[str, ...]]:
    """A live module: exported, or recorded where Python decides on values."""
    if isinstance(module, torch.jit.ScriptModule):
        return from_script(module), ()
    if not isinstance(module, torch.nn.Module):
        raise UnreadableModelError(
            "NOT_A_MODEL", f"this is a {type(module).__name__}, not a model", file=location,
            why="a state dict alone holds weights, but not what is computed with them",
            fix="give a factory that builds the module: package.module:factory --state weights",
        )  # fmt: skip
    if example is None:
        raise UsageError(
            "EXAMPLE_NEEDED", "a module can only be followed with example inputs", file=location,
            fix="give --inputs, or let the factory return (module, inputs)",
        )  # fmt: skip
    facts = {LoadFact.TRAINING_MODE: ""} if module.training else {}
    notes = ("the module is in training mode",) if module.training else ()
    try:
        exported = from_exported(export(module, example))
        return replace(exported, load_facts={**exported.load_facts, **facts}), notes
    except UnreadableModelError as error:
        details = f"({error.why}); it runs by itself, outputs only"
        known = {**facts, LoadFact.EXPORT_REFUSED: details}
        return replace(record(module, example), load_facts=known), (
            *notes,
            f"torch.export refused the module {details}",
        )


def from_factory(word: str, options: Mapping[str, str]) -> tuple[TorchModel, tuple[str, ...]]:
    """``package.module:factory``, called; it gives a module, or a module and its inputs."""
    if options.get("trust") != "yes":
        raise RefusedError(
            "FACTORY_NEEDS_TRUST", f"refused to call the factory {word}",
            why="calling it runs that Python module", fix="if you trust it, add --trust",
        )  # fmt: skip
    module, example = _made(word, options)
    given = example_in(options)
    if given is None and example is not None:
        given = Example.of(example)
    return from_module(module, given, word)


def call_factory(word: str, options: Mapping[str, str]) -> Any:  # noqa: ANN401
    """The live module alone, with the user's weights in it."""
    return _made(word, options)[0]


def _made(word: str, options: Mapping[str, str]) -> tuple[Any, Any]:
    made = _call_factory(word)
    module, example = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    state = options.get("state")
    if state and isinstance(module, torch.nn.Module):
        _load_state(module, Path(state))
    return module, example


def _call_factory(word: str) -> Any:  # noqa: ANN401
    name, _, attribute = word.partition(":")
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found: Any = import_module(name)
        for part in attribute.split("."):
            found = getattr(found, part)
        return found()
    except (ImportError, AttributeError) as error:
        raise UsageError(
            "NO_SUCH_FACTORY", f"there is no {word}", why=_first_line(error),
            fix="the module is looked for in the current folder and among installed packages",
        ) from error  # fmt: skip
    except Exception as error:  # the user's own code may raise anything
        raise UnreadableModelError(
            "FACTORY_FAILED", f"the factory {word} raised {type(error).__name__}",
            why=_first_line(error),
        ) from error  # fmt: skip
    finally:
        if here in sys.path:
            sys.path.remove(here)


def _load_state(module: Any, path: Path) -> None:  # noqa: ANN401
    from safetensors.torch import load_file as load_safetensors

    try:
        module.load_state_dict(load_safetensors(path), strict=True)
    except Exception as error:  # safetensors and torch have a dozen ways to refuse
        raise UnreadableModelError(
            "STATE_MISMATCH", "the state does not fit the module", file=str(path),
            why=" ".join(str(error).split())[:300],
            fix="the names and shapes must be those of the module's own state_dict()",
        ) from error  # fmt: skip


def _unpickle(path: Path) -> Any:  # noqa: ANN401
    try:
        with quietly():
            return torch.load(path, map_location="cpu", weights_only=False)
    except Exception as error:  # unpickling runs the file's own code
        raise unreadable(path, error) from error


def example_in(options: Mapping[str, str]) -> Example | None:
    """The example inputs the user gave as a file."""
    return read_example(Path(options["inputs"])) if options.get("inputs") else None


def unreadable(path: Path, error: Exception) -> UnreadableModelError:
    """The error for a file that torch's readers, or ours after them, stumble over."""
    if intact(path):
        return UnreadableModelError(
            NOT_BUILT, "this torch cannot build the model of the file", file=str(path),
            why=_first_and_last_line(error), fix=NOT_BUILT_FIX,
        )  # fmt: skip
    return UnreadableModelError(
        "MODEL_TRUNCATED", "torch cannot read the model", file=str(path),
        where=f"{path.stat().st_size} bytes", why=_first_line(error),
    )  # fmt: skip


def _first_line(error: BaseException) -> str:
    lines = message_lines(error)
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _first_and_last_line(error: BaseException) -> str:
    """TorchScript's interpreter puts the error last, after the source."""
    first, last = _first_line(error), str(error).strip().rpartition("\n")[2].strip()
    return first if not last or last in first else f"{first} {last}"
