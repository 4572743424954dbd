"""Load the model, ask what the target can do, and apply every rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph import registry
from isomorph.core.errors import IsomorphError
from isomorph.core.lint import Lint, LintedModel, Remark, Severity
from isomorph.core.model import Graph, LoadFact, Model
from isomorph.core.not_done import not_done
from isomorph.core.report import summarize
from isomorph.linting.target_support import abilities
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.checking.loader import Loader
    from isomorph.conversion.converter_worker import ConverterWorker
    from isomorph.core.ranges import Ranges

_WORST_FIRST = (Severity.ERROR, Severity.WARNING, Severity.NOTE)


def lint(
    source: str,
    loader: Loader,
    converter_worker: ConverterWorker,
    *,
    to: str | None = None,
    width: str = "",
    ignore: Sequence[str] = (),
    ranges: Ranges | None = None,
) -> Lint:
    """Every remark on one model, the gravest first; ``ignore`` are codes or names of checks."""
    model = _loaded(source, loader)
    able, skipped = abilities(model, to, width, converter_worker)
    linted = LintedModel(model=model, to=to, width=width, abilities=able, ranges=ranges)
    remarks: list[Remark] = []
    for name in registry.names("rules"):
        check = registry.rule(name)
        if name not in ignore and check.code not in ignore:
            remarks += check.check(linted)
    remarks.sort(key=lambda remark: (_WORST_FIRST.index(remark.severity), remark.code))
    ignored = tuple(not_done("rule", code=word) for word in ignore)
    return Lint(
        model=summarize(model, role="model"),
        to=to,
        width=width,
        remarks=tuple(remarks),
        skipped=(*skipped, *ignored),
        version=VERSION,
    )


def _loaded(source: str, loader: Loader) -> Model:
    """The model; one whose weights beside it cannot be read is a remark, not the end."""
    try:
        return loader.load(source)
    except IsomorphError as error:
        if not error.code.startswith("EXTERNAL_DATA"):
            raise
        note = f"{error.code}: {error.sentence}" + (f" ({error.why})" if error.why else "")
        empty = Graph(name="", inputs=(), outputs=(), nodes=(), tensors={}, constants={})
        return Model(framework="onnx", location=source, digest="", graph=empty, notes=(note,),
                     load_facts={LoadFact.EXTERNAL_WEIGHTS_UNREADABLE: note})  # fmt: skip
