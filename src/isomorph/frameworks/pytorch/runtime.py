"""PyTorch itself, eager unless compilation is set."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isomorph.core.errors import RuntimeFailedError, UsageError
from isomorph.core.execution import OPTIMIZERS_THAT_RAN, Switch
from isomorph.core.lazy import require
from isomorph.core.settings import chosen, thread_count

if TYPE_CHECKING:
    from isomorph.core.extraction import ScriptSource
    from isomorph.core.model import Model
    from isomorph.core.protocols import Session
    from isomorph.core.trace import Environment
    from isomorph.frameworks.pytorch.program import Program

_TF32 = ("torch's choice", "yes", "no")
_NARROW = ("float16", "bfloat16")
_DTYPES = ("as declared", "float64", "float32", *_NARROW)
_STAGES = ("no", "dynamo", "aot", "decompositions", "yes")

_EXCHANGE = "import numpy, torch; torch.from_numpy(numpy.zeros(2)).numpy()"
"""What shows that a release works with the NumPy beside it."""


class PytorchRuntime:
    """The exported program or TorchScript module as it is, on the device one asks for."""

    name = "pytorch"
    extra = "torch"
    worker = "pytorch"
    packages: Mapping[str, str] = {"torch": _EXCHANGE}
    settings: Mapping[str, str] = {
        "device": "cpu",
        "dtype": "as declared",
        "autocast": "no",
        "compile": "no",
        "uncompiled_operators": "",
        "name_optimizers": "no",
        "threads": "",
        "deterministic": "no",
        "tf32": "torch's choice",
    }
    plain: Mapping[str, str] = {"compile": "no"}
    switches = (
        Switch(name="Inductor in torch.compile", settings={"compile": "decompositions"}),
        Switch(name="a decomposition in torch.compile", settings={"compile": "aot"}),
        Switch(name="AOTAutograd in torch.compile", settings={"compile": "dynamo"}),
        Switch(name="torch.compile", settings={"compile": "no"}),
        Switch(name="the declared types", settings={"dtype": "as declared"}, kind="precision"),
        Switch(name="autocast off", settings={"autocast": "no"}, kind="precision"),
        Switch(
            name="TF32 off", settings={"tf32": "no"},
            kind="precision", dtype="tf32", device="cuda",
        ),
    )  # fmt: skip

    def requested_dtype(self, settings: Mapping[str, str]) -> str:
        """The narrowest type that ``dtype``, ``autocast`` or ``tf32`` asks for."""
        asked = {settings["dtype"], settings["autocast"]}
        if settings["tf32"] == "yes" and settings["device"].startswith("cuda"):
            asked.add("tf32")
        return next((each for each in ("bfloat16", "tf32", "float16") if each in asked), "")

    def optimizer_switches(self, facts: Mapping[str, str]) -> tuple[Switch, ...]:
        """Each operator that torch.compile has a form of its own for, as a switch."""
        from isomorph.frameworks.pytorch.compile_stages import operator_switches

        return operator_switches(_words(facts.get(OPTIMIZERS_THAT_RAN, "")))

    def script_source(self, model: Model, settings: Mapping[str, str]) -> ScriptSource | None:
        """How a script runs a model under these settings."""
        del model
        from isomorph.frameworks.pytorch.script_source import script_source

        return script_source({**self.settings, **settings})

    def device_lost(self, error: BaseException) -> bool:
        """Whether an error of CUDA leaves the process unable to compute there."""
        torch = require("torch", extra=self.extra, needed_for=f"runtime {self.name!r}")
        # An index beyond its table, for example: every later call fails with the same error. The
        # releases of another environment may lack the class.
        return isinstance(error, getattr(torch, "AcceleratorError", ()))

    def accepts(self, model: Model) -> bool:
        """Only PyTorch models."""
        return model.framework == "pytorch"

    def open(self, model: Model, environment: Environment) -> Session:
        """Place the weights once; cuts are planned when a run first needs them."""
        torch = require("torch", extra=self.extra, needed_for="runtime 'pytorch'")
        from isomorph.frameworks.pytorch.session import RunMode, TorchSession

        settings = {**self.settings, **environment.settings}
        device = usable_device(torch, settings["device"], fix="--set device=cpu")
        dtype = chosen(self.name, settings, "dtype", _DTYPES)
        stage = chosen(self.name, settings, "compile", _STAGES)
        autocast = chosen(self.name, settings, "autocast", ("no", *_NARROW))
        deterministic = chosen(self.name, settings, "deterministic", ("no", "yes")) == "yes"
        naming = chosen(self.name, settings, "name_optimizers", ("no", "yes")) == "yes"
        threads = thread_count(settings["threads"])
        tf32 = chosen(self.name, settings, "tf32", _TF32)
        if device.type != "cuda":
            settings["tf32"] = "no"  # only CUDA has it
        if stage != "no":
            _need_compiler()
            _refuse_narrow_compilation(dtype)
        facts = _facts(torch, device, tf32, deterministic=deterministic)
        if naming and stage == "yes":
            facts[OPTIMIZERS_THAT_RAN] = ", ".join(_compiled_operators(model.native.program))
        return TorchSession(
            model.native,
            replace(
                environment,
                version=str(torch.__version__),
                device=str(device),
                precision=dtype,
                threads=threads or torch.get_num_threads(),
                settings=settings,
                facts=facts,
            ),
            RunMode(
                device=device,
                dtype=None if dtype == "as declared" else getattr(torch, dtype),
                autocast=None if autocast == "no" else getattr(torch, autocast),
                stage="" if stage == "no" else stage,
                uncompiled=_words(settings["uncompiled_operators"]),
                threads=threads,
                deterministic=deterministic,
                tf32=_asked(tf32),
            ),
        )


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _compiled_operators(program: Program) -> tuple[str, ...]:
    from isomorph.frameworks.pytorch.compile_stages import compiled_operators

    try:
        return compiled_operators(program)
    except (ImportError, AttributeError):  # parts of torch that another release may rename
        return ()


def usable_device(torch: Any, word: str, *, fix: str) -> Any:  # noqa: ANN401
    """The device of this name; an error where torch cannot use it."""
    try:
        device = torch.device(word)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        there = ["cpu", *(f"cuda:{index}" for index in range(torch.cuda.device_count()))]
        raise RuntimeFailedError(
            "NO_SUCH_DEVICE", f"torch {torch.__version__} cannot use device {word!r}",
            why=f"{str(error).strip().splitlines()[0]}; there is: {', '.join(there)}",
            fix=fix,
        ) from error  # fmt: skip
    return device


def _refuse_narrow_compilation(dtype: str) -> None:
    # The steps are run in a narrower type one by one; what is compiled is the model as it is.
    if dtype != "as declared":
        raise UsageError(
            "CONFLICTING_SETTINGS", f"compile and dtype={dtype} exclude each other",
            fix="export the model in that type, or leave one of them out",
        )  # fmt: skip


def _need_compiler() -> None:
    wanted = os.environ.get("CXX")
    if not any(shutil.which(word) for word in ((wanted,) if wanted else ("g++", "clang++"))):
        raise RuntimeFailedError(
            "NO_COMPILER", "torch.compile needs a C++ compiler, and there is none",
            why=f"looked for {wanted or 'g++, clang++'}", fix="install one, or leave compile off",
        )  # fmt: skip


def _asked(tf32: str) -> bool | None:
    return None if tf32 == _TF32[0] else tf32 == "yes"


def _facts(torch: Any, device: Any, tf32: str, *, deterministic: bool) -> dict[str, str]:  # noqa: ANN401
    facts = {
        "cpu capability": torch.backends.cpu.get_cpu_capability(),
        "float32 matmul precision": torch.get_float32_matmul_precision(),
        "mkldnn": "on" if torch.backends.mkldnn.is_available() else "off",
        "deterministic algorithms": "on" if deterministic else "off",
    }
    if device.type == "cuda":
        facts["device name"] = torch.cuda.get_device_name(device)
        facts["cuda"] = str(torch.version.cuda)
        # torch's own choice is to use it in convolutions and not in products.
        backends = {
            "tf32 in products": torch.backends.cuda.matmul,
            "tf32 in convolutions": torch.backends.cudnn,
        }
        asked = _asked(tf32)
        for fact, backend in backends.items():
            facts[fact] = "on" if (backend.allow_tf32 if asked is None else asked) else "off"
    return facts
