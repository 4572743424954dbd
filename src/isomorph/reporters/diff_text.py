"""What differs between two models, as text: counts, then what changed, then the rest."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from isomorph.core.escaping import counted, printable
from isomorph.core.messages import message
from isomorph.core.model_diff import ChangeKind, Relation
from isomorph.core.report import ModelForm
from isomorph.reporters.table import columns, shape_text

if TYPE_CHECKING:
    from isomorph.core.model import Quantization, TensorSpec
    from isomorph.core.model_diff import DiffNode, DiffRow, ModelDiff, NodeChange, SpecPair

_ABSENT = "—"
_PARAGRAPHS = 12
"""Nodes of one section that are shown singly; ``verbose`` shows all of them."""
_NAMES = 3
"""Names of nodes in one line; ``verbose`` shows all of them."""

_CONSTANTS = 6
"""Constants of one line; ``verbose`` shows all of them."""
_NAME = 72
"""Characters of a constant's name; converters join the names of all that they folded."""

_TITLES = {
    Relation.CHANGED: "DIFF.changed",
    Relation.REGROUPED: "DIFF.regrouped",
    Relation.REMOVED: "DIFF.removed",
    Relation.ADDED: "DIFF.added",
    Relation.MOVED: "DIFF.moved",
    Relation.CONVERSION: "DIFF.conversion",
    Relation.MATCHED: "DIFF.matched",
}
_KEYS = {ChangeKind.TYPE: "DIFF.type_of", ChangeKind.SHAPE: "DIFF.shape_of"}
_COUNTS = {
    Relation.MATCHED: "DIFF.count_matched",
    Relation.CHANGED: "DIFF.count_changed",
    Relation.REGROUPED: "DIFF.count_regrouped",
    Relation.REMOVED: "DIFF.count_removed",
    Relation.ADDED: "DIFF.count_added",
    Relation.MOVED: "DIFF.count_moved",
    Relation.CONVERSION: "DIFF.count_conversion",
}


def as_text(found: ModelDiff, *, verbose: bool = False) -> str:
    """The counts, what changed, what only one side has; ``verbose`` lists every node."""
    parts = [_headline(found), f"  {counts_text(found)}"]
    for relation, heading in _TITLES.items():
        title = heading
        rows = [row for row in found.rows if row.relation is relation]
        if relation is Relation.MATCHED and not verbose:
            rows = [row for row in rows if row.leaves_open]
            title = "DIFF.partly_matched"
        if rows:
            parts += ["", message(title), *_section(relation, rows, verbose=verbose)]
    parts += _left_open(found)
    parts += _tables(found)
    if found.skipped:
        parts += ["", message("DIFF.not_looked_at")]
        parts += [f"  {printable(each.what)}: {printable(each.why)}" for each in found.skipped]
    return "\n".join(parts)


def _headline(found: ModelDiff) -> str:
    reference, candidate = (printable(side.location) for side in (found.reference, found.candidate))
    names = message("DIFF.pair", reference=reference, candidate=candidate)
    return f"{headline_words(found).upper()}  {names}"


def headline_words(found: ModelDiff) -> str:
    """``structure differs``; what was compared only in part is never ``same structure``."""
    if found.same:
        return message("DIFF.same")
    return message("DIFF.differs" if found.differs else "DIFF.incomplete")


def counts_text(found: ModelDiff) -> str:
    """``58 nodes matched (12 renamed), 1 changed, 21 groups: 25 nodes ↔ 63 nodes``."""
    parts = []
    for relation, key in _COUNTS.items():
        rows = [row for row in found.rows if row.relation is relation]
        if not rows:
            continue
        nodes = sum(max(len(row.reference), len(row.candidate)) for row in rows)
        if relation is Relation.MATCHED:
            renamed = sum(row.renamed for row in rows)
            named = "DIFF.count_renamed" if renamed else key
            parts.append(message(named, nodes=counted(nodes, "node"), renamed=renamed))
        elif relation is Relation.REGROUPED:
            parts.append(_regrouped(rows))
        else:
            parts.append(message(key, nodes=nodes))
    return ", ".join(parts) or message("DIFF.no_nodes")


def _regrouped(rows: Sequence[DiffRow]) -> str:
    sides = sum(len(row.reference) for row in rows), sum(len(row.candidate) for row in rows)
    text = message(
        "DIFF.count_regrouped",
        groups=counted(len(rows), "group"),
        reference=sides[0],
        candidate=counted(sides[1], "node"),
    )
    wrong = sum(any(c.kind is ChangeKind.CONSTANT for c in row.changes) for row in rows)
    unknown = sum(bool(row.uncompared) for row in rows)
    notes = [message("DIFF.other_constants", count=wrong)] if wrong else []
    notes += [message("DIFF.unknown_constants", count=unknown)] if unknown else []
    return f"{text} ({', '.join(notes)})" if notes else text


def _left_open(found: ModelDiff) -> Iterator[str]:
    """What was not compared, where two models were compared node by node."""
    constants = sum(len(row.uncompared) for row in found.rows)
    groups = sum(not row.attributes_compared for row in found.rows)
    frameworks = dict.fromkeys((found.reference.framework, found.candidate.framework))
    if not constants and not groups and len(frameworks) == 1:
        return
    yield ""
    yield message("DIFF.not_compared")
    if constants:
        left = message("DIFF.left_constants", constants=counted(constants, "constant"))
        yield f"  {left}"
    if groups:
        left = message("DIFF.left_attributes", groups=counted(groups, "group"))
        yield f"  {left}"
    if len(frameworks) > 1:
        names = message("DIFF.left_own_each").join(frameworks)
        yield f"  {message('DIFF.left_own', frameworks=names)}"
    sides = found.reference, found.candidate
    if all(side.form is ModelForm.FILE for side in sides):
        words = " ".join(shlex.quote(printable(side.location)) for side in sides)
        yield f"  {message('DIFF.measure', files=words)}"


def _section(relation: Relation, rows: Sequence[DiffRow], *, verbose: bool) -> Iterator[str]:
    if relation is Relation.MATCHED:
        yield columns(
            [
                (_op(row), _both_names(row), _source(row), *_uncompared(row, verbose=verbose))
                for row in rows
            ]
        )
    elif relation in (Relation.REGROUPED, Relation.CONVERSION):
        yield from _patterns(relation, rows, verbose=verbose)
    else:
        yield from _singly(rows, verbose=verbose)


def _singly(rows: Sequence[DiffRow], *, verbose: bool) -> Iterator[str]:
    """One paragraph for each node; nodes that differ in the same are in one."""
    alike: dict[object, list[DiffRow]] = {}
    for row in rows:
        key = _op(row), tuple((c.kind, _in_key(c), c.reference, c.candidate) for c in row.changes)
        # A constant is one of a kind, and so is a node that has no counterpart.
        one_of_a_kind = not row.changes or any(c.kind is ChangeKind.CONSTANT for c in row.changes)
        alike.setdefault((key, id(row)) if one_of_a_kind else key, []).append(row)
    shown_groups = list(alike.values()) if verbose else list(alike.values())[:_PARAGRAPHS]
    for group in shown_groups:
        first = group[0]
        if len(group) == 1:
            yield f"  {_op(first)} {_both_names(first)}{_behind(_source(first))}"
        else:
            shown = group if verbose else group[:_NAMES]
            names = ", ".join(_both_names(row) for row in shown)
            yield f"  {len(group)} × {_op(first)}: {_with_rest(names, len(group) - len(shown))}"
        yield from (f"    {_change(change)}" for change in first.changes)
        yield from (f"    {line}" for each in group for line in _uncompared(each, verbose=verbose))
    left = len(alike) - len(shown_groups)
    if left:
        yield f"  {message('DIFF.and_more', count=left)}"
        constants = sum(any(c.kind is ChangeKind.CONSTANT for c in row.changes) for row in rows)
        if constants > len(rows) // 2:
            yield f"  {message('DIFF.checkpoint', count=constants)}"


def _uncompared(row: DiffRow, *, verbose: bool) -> Iterator[str]:
    """The constants that were not compared, on one line; of many the first ones."""
    shown = row.uncompared if verbose else row.uncompared[:_CONSTANTS]
    more = len(row.uncompared) - len(shown)
    if shown:
        names = ", ".join(abridged(printable(name)) for name in shown)
        yield message("DIFF.uncompared", names=_with_rest(names, more))


def _with_rest(names: str, left: int) -> str:
    return message("DIFF.more", names=names, count=left) if left else names


def abridged(name: str) -> str:
    """A name without its middle, where it is long."""
    return name if len(name) <= _NAME else f"{name[: _NAME // 2]}…{name[-_NAME // 2 :]}"


def _in_key(change: NodeChange) -> str:
    return "" if change.kind in (ChangeKind.TYPE, ChangeKind.SHAPE) else change.name


def _patterns(relation: Relation, rows: Sequence[DiffRow], *, verbose: bool) -> Iterator[str]:
    """Groups of the same operators in one line, the rare ones first: they are the odd ones."""
    patterns: dict[str, list[DiffRow]] = {}
    for row in rows:
        patterns.setdefault(_pattern(relation, row), []).append(row)
    for pattern, group in sorted(patterns.items(), key=lambda each: _oddness(each[1])):
        shown = group if verbose else group[:_NAMES]
        names = ", ".join(_first_name(row) for row in shown)
        times = f"{len(group)} × " if len(group) > 1 else ""
        yield f"  {times}{pattern}: {_with_rest(names, len(group) - len(shown))}"
        for row in group:
            if verbose:
                yield f"      {_all_names(row)}{_behind(_source(row))}"
            yield from (
                f"    {_first_name(row)}: {_change(change)}"
                for change in row.changes
                if change.kind is not ChangeKind.OPERATOR
            )
            yield from (
                f"    {_first_name(row)}: {each}" for each in _uncompared(row, verbose=verbose)
            )


def _oddness(rows: Sequence[DiffRow]) -> tuple[bool, int]:
    return not any(row.changes or row.uncompared for row in rows), len(rows)


def _pattern(relation: Relation, row: DiffRow) -> str:
    if relation is Relation.CONVERSION:
        key = "DIFF.conversion_added" if row.candidate else "DIFF.conversion_removed"
        return message(key, nodes=_ops(row.candidate or row.reference))
    return f"{_ops(row.reference)} ↔ {_ops(row.candidate)}"


def _ops(nodes: Iterable[DiffNode]) -> str:
    """``3 Slice, 3 Squeeze``: the operators with their numbers, in the order of the nodes."""
    found = Counter(node.op for node in nodes)
    return ", ".join(printable(op if n == 1 else f"{n} {op}") for op, n in found.items())


def _change(change: NodeChange) -> str:
    detail = f": {printable(change.detail)}" if change.detail else ""
    if (
        change.kind is ChangeKind.CONSTANT
        and change.detail
        and change.reference == change.candidate
    ):
        return f"{abridged(printable(change.name))} {printable(change.reference)}{detail}"
    values = f"{printable(change.reference)} → {printable(change.candidate)}"
    name, key = abridged(printable(change.name)), _KEYS.get(change.kind)
    return f"{message(key, name=name) if key else name}: {values}{detail}"


def _op(row: DiffRow) -> str:
    return printable((row.reference or row.candidate)[0].op)


def _both_names(row: DiffRow) -> str:
    return printable(
        " / ".join(dict.fromkeys(node.name for node in (*row.reference, *row.candidate)))
    )


def _all_names(row: DiffRow) -> str:
    sides = (", ".join(node.name for node in side) for side in (row.reference, row.candidate))
    return printable(" ↔ ".join(side or _ABSENT for side in sides), limit=2000)


def _first_name(row: DiffRow) -> str:
    node = (row.reference or row.candidate)[0]
    return printable(node.name)


def _source(row: DiffRow) -> str:
    """The module and the line of the user's program, of whichever side knows them."""
    for node in (*row.reference, *row.candidate):
        source = node.source
        if source is None or not (source.module or source.file):
            continue
        file = (source.file or "").replace("\\", "/").rpartition("/")[2]
        place = f"{file}:{source.line}" if file and source.line else file
        where = message("DIFF.in_module", module=source.module) if source.module else ""
        return printable("  ".join(filter(None, (where, place))))
    return ""


def _behind(text: str) -> str:
    return f"  {text}" if text else ""


def _tables(found: ModelDiff) -> Iterator[str]:
    """Interface, operator sets and quantized tensors, where they differ."""
    heading = ("", "reference", "candidate", "differs")
    rows = [row for pair in (*found.inputs, *found.outputs) if (row := _signature(pair))]
    rows += [
        (
            message("DIFF.opset", domain=pair.domain),
            _version(pair.reference),
            _version(pair.candidate),
            "yes",
        )
        for pair in found.opsets
        if None not in (pair.reference, pair.candidate) and pair.reference != pair.candidate
    ]
    if rows:
        yield ""
        yield columns([heading, *rows])
    quantized = list(_quantized(found))
    if quantized:
        moved = sum(bool(pair.changed) for pair in found.quantization)
        alone = sum(pair.reference is None or pair.candidate is None for pair in found.quantization)
        tensors = counted(len(found.quantization), message("DIFF.quantized_tensor"))
        summary = message("DIFF.quantized", tensors=tensors, changed=moved)
        yield ""
        yield message("DIFF.quantized_alone", text=summary, count=alone) if alone else summary
        changed = [row for row in quantized if row[3]]
        if changed:
            yield columns([("tensor", "reference", "candidate", "changed"), *changed])


def _signature(pair: SpecPair) -> tuple[str, str, str, str] | None:
    if pair.reference is None or pair.candidate is None:
        return pair.kind, _spec(pair.reference), _spec(pair.candidate), pair.how
    if not pair.changed:
        return None
    changed = ", ".join(pair.changed)
    if "name" in pair.changed:
        changed = message("DIFF.by", changed=changed, how=pair.how)
    return pair.kind, _spec(pair.reference), _spec(pair.candidate), changed


def _version(version: int | None) -> str:
    return _ABSENT if version is None else str(version)


def _spec(spec: TensorSpec | None) -> str:
    if spec is None:
        return _ABSENT
    return f"{spec.name} {spec.dtype or 'unknown'} {shape_text(spec.shape)}"


def _quantized(found: ModelDiff) -> Iterator[tuple[str, str, str, str]]:
    for pair in found.quantization:
        names = [each.tensor for each in (pair.reference, pair.candidate) if each is not None]
        yield (
            " / ".join(dict.fromkeys(names)),
            parameters(pair.reference),
            parameters(pair.candidate),
            ", ".join(pair.changed).replace("_", " "),
        )


def parameters(entry: Quantization | None) -> str:
    """Type, scale and zero point; of many channels the smallest and largest."""
    if entry is None:
        return _ABSENT
    if len(entry.scale) == 1:
        zero = entry.zero_point[0] if entry.zero_point else 0
        return message("DIFF.one_scale", dtype=entry.dtype, scale=entry.scale[0], zero=zero)
    text = message(
        "DIFF.scales",
        dtype=entry.dtype,
        count=len(entry.scale),
        least=min(entry.scale),
        most=max(entry.scale),
        axis=entry.axis,
    )
    zeros = sorted(set(entry.zero_point))
    if zeros in ([], [0]):
        return text
    return message("DIFF.zero_points", text=text, least=zeros[0], most=zeros[-1])
