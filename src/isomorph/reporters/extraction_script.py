"""The script that shows the fault of an extracted part, and needs no isomorph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from isomorph.core.escaping import printable
from isomorph.reporters._plain_script import function, preamble
from isomorph.version import VERSION

if TYPE_CHECKING:
    from isomorph.core.extraction import ScriptFacts, ScriptFeed, ScriptSide
    from isomorph.core.model import Quantization

_REALS = (
    "def real(whole, scale, zero, axis):",
    '    """The real numbers that integers on a grid stand for."""',
    "    shape = [-1 if place == axis else 1 for place in range(whole.ndim)]",
    "    scale, zero = (np.array(each, np.float64) for each in (scale, zero))",
    "    if scale.size > 1:",
    "        scale, zero = scale.reshape(shape), zero.reshape(shape)",
    "    return (whole.astype(np.float64) - zero) * scale",
    "",
    "",
    "def whole(real, scale, zero, axis, dtype):",
    '    """The integers of a grid that are nearest to real numbers."""',
    "    if np.asarray(real).dtype.kind != 'f':",
    "        return real",
    "    shape = [-1 if place == axis else 1 for place in range(real.ndim)]",
    "    scale, zero = (np.array(each, np.float64) for each in (scale, zero))",
    "    if scale.size > 1:",
    "        scale, zero = scale.reshape(shape), zero.reshape(shape)",
    "    ends = np.iinfo(dtype)",
    "    return np.clip(np.rint(real / scale) + zero, ends.min, ends.max).astype(dtype)",
    "",
    "",
)


def script(facts: ScriptFacts) -> str:
    """Python that runs both parts, prints their values, and exits with 0 where they differ."""
    sides = [side for side in (facts.reference, facts.candidate) if side is not None]
    packages = list(dict.fromkeys(name for side in sides for name in side.source.packages))
    lines = [
        *_head(facts),
        "",
        *preamble([side.source for side in sides]),
        "# The largest difference that rounding and intended loss explain, as isomorph derived it.",
        f"EXPLAINED = {facts.explained!r}",
        "",
        "",
        *(_REALS if any(_gridded(side) for side in sides) else ()),
    ]
    if facts.reference is not None:
        lines += function("reference", facts.reference.file, facts.reference.source)
    lines += function("candidate", facts.candidate.file, facts.candidate.source)
    lines += _compared(facts)
    lines += [f"print({name!r}, {name}.__version__)" for name in packages]
    lines += [
        "difference = np.abs(computed - right)",
        "same = (computed == right) | (np.isnan(computed) & np.isnan(right))",
        "most = np.max(np.where(same, 0.0, difference), initial=0.0)",
        "print('right:   ', right.ravel()[:8])",
        "print('computed:', computed.ravel()[:8])",
        "print(f'largest difference {most:.3g}, explained {EXPLAINED:.3g}')",
        "sys.exit(1 if most <= EXPLAINED else 0)",
    ]
    return "\n".join(lines) + "\n"


def _head(facts: ScriptFacts) -> Iterator[str]:
    # Names come out of models: they must not end the string that describes the script.
    node = printable(facts.node, limit=200).replace("\\", "/").replace('"', "'")
    right = facts.reference.file if facts.reference is not None else facts.expected
    yield f'"""Node {node}: {facts.candidate.file} does not compute what is right by {right}.'
    yield ""
    yield f"Written by isomorph {VERSION}, which is not needed to run it."
    yield 'The exit code is 0 where the difference is there, and 1 where it is not."""'


def _gridded(side: ScriptSide) -> bool:
    return side.grid is not None or any(feed.grid is not None for feed in side.feeds)


def _compared(facts: ScriptFacts) -> Iterator[str]:
    yield "given = np.load(FOLDER / 'inputs.npz')"
    if facts.reference is not None:
        yield from _called("right", "reference", facts.reference)
    else:
        yield f"right = np.load(FOLDER / {facts.expected!r})['expected']"
    yield from _called("computed", "candidate", facts.candidate)
    if facts.order is not None:
        yield f"right = right.transpose({facts.order!r})"
    if facts.shape is not None:
        yield f"right = right.reshape({facts.shape!r})"
    yield "right, computed = (np.asarray(each, np.float64) for each in (right, computed))"
    yield "if right.shape != computed.shape:"
    yield "    sys.exit(print('shapes differ:', right.shape, computed.shape))"


def _called(name: str, function: str, side: ScriptSide) -> Iterator[str]:
    yield "feeds = {"
    yield from (f"    {feed.name!r}: {_fed(feed)}," for feed in side.feeds)
    yield "}"
    yield f"{name} = {function}(FOLDER / {side.file!r}, feeds, {side.output!r})"
    if side.grid is not None:
        yield f"{name} = real({name}, {_grid(side.grid)}) if {name}.dtype.kind in 'iu' else {name}"


def _fed(feed: ScriptFeed) -> str:
    text = f"given[{feed.key!r}]"
    text += f".transpose({feed.order!r})" if feed.order is not None else ""
    text += f".reshape({feed.shape!r})" if feed.shape is not None else ""
    if feed.grid is None:
        return text
    return f"whole({text}, {_grid(feed.grid)}, {feed.grid.dtype!r})"


def _grid(grid: Quantization) -> str:
    zero = grid.zero_point or (0,) * len(grid.scale)
    return f"{list(grid.scale)!r}, {list(zero)!r}, {grid.axis!r}"
