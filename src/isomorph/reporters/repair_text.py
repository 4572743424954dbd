"""The text of a repair, as the command line shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.core import patch as edits
from isomorph.core.messages import message

if TYPE_CHECKING:
    from isomorph.core.patch import Edit
    from isomorph.core.repair import Measured, Repair, Trade

_MOST_VALUES = 4


def lines(repair: Repair, *, diff: bool = False) -> Iterator[str]:
    """The verdict, every patch with its finding, and the proof; with ``diff`` every edit too."""
    done = repair.repaired and (repair.applied or repair.session)
    yield f"{'REPAIRED' if done else str(repair.verdict).upper()}  {repair.reason}"
    yield from (f"note    {each}" for each in repair.notes)
    for place, each in enumerate(repair.applied, 1):
        yield ""
        yield f"patch {place}  {each.patch.summary}"
        yield f"  because  {each.finding.summary}"
        if diff:
            yield from (f"  edit     {edit_words(edit)}" for edit in each.patch.edits)
    if repair.trades:
        yield ""
        kept, error = message("REPAIR.kept"), message("REPAIR.relative_error")
        yield f"{kept:<13}      size  {error}"
        yield from (_trade(each) for each in repair.trades)
    if repair.session is not None:
        yield ""
        session = repair.session
        yield message("REPAIR.setting", flags=session.flags, name=session.name)
        yield from (f"  code   {line}" for line in repair.session.code)
    yield ""
    yield from (f"before  {_measured_text(each)}" for each in repair.proof.before)
    yield from (f"after   {_measured_text(each)}" for each in repair.proof.after)
    if repair.advice:
        yield ""
        yield from (message("REPAIR.by_hand", advice=each) for each in repair.advice)
    if not repair.applied:
        yield from (f"tried   {each}" for each in repair.refused)
    if repair.output is not None:
        unchanged = repair.repaired and not repair.applied and repair.session is None
        yield message("REPAIR.copy" if unchanged else "REPAIR.written", output=repair.output)
    elif repair.repaired and repair.applied:
        yield message("REPAIR.unwritten")


def _trade(trade: Trade) -> str:
    error = (
        message("FIGURE.not_measured") if trade.relative_l2 is None else f"{trade.relative_l2:.3g}"
    )
    last = trade.nodes[-1] if trade.nodes else "none"
    return f"{len(trade.nodes):3d}  {trade.size:12,d}  {error:>14s}  {trade.verdict}  {last}"


def _measured_text(measured: Measured) -> str:
    errors = [each.relative_l2 for each in measured.outputs if each.relative_l2 is not None]
    text = message("REPAIR.measured", verdict=measured.verdict, origin=measured.origin)
    if any(errors):
        text = message("REPAIR.measured_error", measured=text, error=max(errors))
    if measured.verdict.exit_code:
        # That of a good one is the headline's.
        text = message("REPAIR.measured_reason", measured=text, reason=measured.reason)
    return text


def edit_words(edit: Edit) -> str:
    """One edit as a sentence."""
    match edit:
        case edits.SetAttribute(node=node, name=name, value=value):
            return message(
                "EDIT.attribute",
                node=node,
                name=name,
                value=message("EDIT.default") if value is None else _value(value),
            )
        case edits.SetConstant(tensor=tensor, value=value):
            return message("EDIT.constant", tensor=tensor, value=_value(value))
        case edits.AddConstant(name=name, value=value):
            return message("EDIT.new_constant", name=name, value=_value(value))
        case edits.SetQuantization(tensor=tensor, scale=scale, zero_point=zero):
            return message("EDIT.grid", tensor=tensor, scale=_few(scale), zero=_few(zero))
        case edits.SetInput(node=node, index=index, tensor=tensor):
            return message(
                "EDIT.input", node=node, place=index, tensor=tensor or message("EDIT.no_tensor")
            )
        case edits.SetOp(node=node, op=op):
            return message("EDIT.operator", node=node, op=op)
        case edits.RemoveNode(node=node):
            return message("EDIT.remove", node=node)
        case edits.InsertBehind(tensor=tensor, op=op, name=name):
            return message("EDIT.node_after", name=name, op=op, tensor=tensor)
        case edits.InsertAhead(node=node, index=index, op=op, name=name):
            return message("EDIT.node_before", name=name, op=op, place=index, node=node)
        case _:
            return _other_words(edit)


def _other_words(edit: Edit) -> str:
    """Edits of the whole model, of branches and of precision."""
    match edit:
        case edits.SetOutputs(names=names, called=called):
            pairs = zip(names, called, strict=True) if called else ()
            renamed = [message("EDIT.output_as", tensor=n, name=c) for n, c in pairs]
            return message("EDIT.outputs", names=", ".join(renamed or names))
        case edits.AddNode(name=name, op=op, outputs=outputs):
            return message("EDIT.node", name=name, op=op, outputs=", ".join(filter(None, outputs)))
        case edits.KeepFloat(node=node):
            return message("EDIT.float", node=node)
        case edits.FreeAxis(tensor=tensor, axis=axis, name=name):
            return message("EDIT.free_axis", tensor=tensor, axis=axis, name=name)
        case edits.DeclareShape(tensor=tensor, shape=shape):
            return message(
                "EDIT.shape",
                tensor=tensor,
                shape="×".join(map(str, shape)) or message("EDIT.scalar"),
            )
        case edits.SwapBodies(node=node):
            return message("EDIT.bodies", node=node)
        case edits.EditBody(node=node, edits=inner):
            return message("EDIT.inside", node=node, edits="; ".join(map(edit_words, inner)))
        case edits.RaiseOpset(version=version):
            return message("EDIT.opset", version=version)
        case _:
            return type(edit).__name__


def _few(numbers: Sequence[float]) -> str:
    more = ", …" if len(numbers) > _MOST_VALUES else ""
    return ", ".join(f"{each:.6g}" for each in numbers[:_MOST_VALUES]) + more


def _value(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, float):
        return f"{value:.6g}"
    if not isinstance(value, np.ndarray):
        return str(value)
    flat = value.reshape(-1)
    shown = ", ".join(f"{each:.6g}" for each in flat[:_MOST_VALUES].tolist())
    more = ", …" if flat.size > _MOST_VALUES else ""
    return f"[{shown}{more}] ({'×'.join(map(str, value.shape)) or 'scalar'})"
