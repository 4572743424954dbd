"""The program that runs a model in one release of a package and compares it with another's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isomorph.reporters._plain_script import function, preamble

if TYPE_CHECKING:
    from isomorph.core.extraction import ScriptSource

_LOOP = """
for file in sorted(FOLDER.glob("inputs*.npz")):
    arrays = np.load(file)
    feeds = {name: arrays[name] for name in INPUTS}
    outputs = {name: np.asarray(computed(PATH, feeds, name)) for name in OUTPUTS}
    sample = file.stem[len("inputs"):]
    kept = FOLDER / f"outputs{sample}-of-{VERSION}.npz"
    for other in sorted(FOLDER.glob(f"outputs{sample}-of-*.npz")):
        before = np.load(other)
        for name in OUTPUTS if other != kept else ():
            ours, theirs = outputs[name], before[name]
            if ours.shape != theirs.shape:
                print(f"{other.name}: {name}: shapes {ours.shape} and {theirs.shape}")
            elif ours.dtype.kind in "fiub":
                apart = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
                largest = apart.max() if apart.size else 0.0
                print(f"{other.name}: {name}: largest difference {largest:g}")
    np.savez(kept, **outputs)
"""


def release_script(
    file: str, source: ScriptSource, inputs: Sequence[str], outputs: Sequence[str]
) -> str:
    """Python that runs ``file`` on each ``inputs*.npz`` beside it, and keeps the outputs there.

    It compares them with those that another release left.
    """
    package = source.packages[0]
    lines = [
        '"""Run the model on the inputs beside it and compare with the outputs of others."""',
        "",
        *preamble([source]),
        f"PATH = FOLDER / {file!r}",
        f"VERSION = {package}.__version__",
        f"INPUTS = {list(inputs)!r}",
        f"OUTPUTS = {list(outputs)!r}",
        "",
        "",
        *function("computed", file, source),
        f"print({package!r}, VERSION)",
    ]
    return "\n".join(lines) + _LOOP
