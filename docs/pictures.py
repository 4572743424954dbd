"""Make the pictures of terminals in docs/pictures/, each from a run of the command that it shows.

    python docs/pictures.py                    # all
    python docs/pictures.py openvino jax       # these

Models come from the blocks of the pages: a block with a file name is written, and the program that
makes the models is run. A picture is SVG with text in it, so it can be searched and is small. The
temporary folder is left out of paths, and a long answer is cut after some lines, with an ellipsis.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

DOCS = Path(__file__).parent
FOLDER = DOCS / "pictures"
_BLOCK = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.M | re.S)
_WEB_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.S)
_FONT = 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace'


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """``page`` has the blocks that make the models; ``first`` is run before, and not shown."""

    name: str
    page: str
    commands: tuple[str, ...]
    first: tuple[str, ...] = ()
    lines: int = 24
    columns: int = 100


PICTURES = (
    Picture(
        name="getting-started", page="getting-started.md", first=("python make.py",),
        commands=("isomorph check model.pt2 model.onnx -v",),
    ),
    Picture(
        name="why-tflite-differs", page="why-tflite-differs.md", first=("python make.py",),
        commands=("isomorph check model.keras clipped.tflite --inputs x.npz",),
    ),
    Picture(
        name="why-tensorflow-and-onnx-differ", page="why-tensorflow-and-onnx-differ.md",
        first=("python make.py",), commands=("isomorph check model.keras wrong.onnx",),
    ),
    Picture(
        name="what-gets-lost-onnx-to-tensorflow", page="what-gets-lost-onnx-to-tensorflow.md",
        first=("python make.py",), commands=("isomorph convert model.onnx saved_model",),
    ),
    Picture(
        name="pytorch-onnx-tensorflow", page="pytorch-onnx-tensorflow.md",
        first=("python make.py",),
        commands=("isomorph convert model.pt2 model.tflite --via onnx,tensorflow",),
    ),
    Picture(
        name="debugging-onnx-runtime", page="debugging-onnx-runtime.md", first=("python make.py",),
        commands=("isomorph check model.pt2 wrong.onnx --inputs x.npz",),
    ),
    Picture(
        name="bisect", page="gallery.md", first=("python onnx_files.py",),
        commands=("isomorph bisect pad.onnx --over optimizers",), columns=158,
    ),
    Picture(
        name="environments", page="gallery.md",
        first=(
            "python onnx_files.py", "python -m venv ort1.19",
            "ort1.19/bin/python -m pip install --quiet onnxruntime==1.19.2",
        ),
        commands=(
            "isomorph check pad.onnx pad.onnx --runtime reference=onnxruntime@ort1.19",
        ),
    ),
    Picture(
        name="devices", page="devices.md", first=("python make.py",),
        commands=("isomorph check model.pt2 --set compile=yes --inputs x.npz",),
    ),
    Picture(
        name="openvino", page="gallery.md", first=("python openvino_files.py",),
        commands=("isomorph check lrn.xml --set precision=f32",),
    ),
    Picture(
        name="executorch", page="gallery.md", first=("python executorch_files.py",),
        commands=("isomorph check gelu.pt2 gelu.pte",),
    ),
    Picture(
        name="coreml", page="gallery.md", first=("python coreml_files.py",),
        commands=(
            "isomorph check scaled.pt2 scaled.mlpackage --inputs scaled.npz --translation-only",
        ),
    ),
    Picture(
        name="jax", page="jax.md", first=("python make.py",),
        commands=("isomorph check function.jax altered.jax",),
    ),
    Picture(
        name="ranges", page="ranges.md", first=("python make.py",),
        commands=("isomorph ranges model.onnx --range x=-2:2 --to float16",),
    ),
    Picture(
        name="proofs", page="getting-started.md", first=("python make.py",),
        commands=("isomorph prove model.pt2 model.onnx",),
    ),
    Picture(
        name="sweeps", page="sweeps.md", first=("python make.py",), commands=("isomorph sweep",),
    ),
    Picture(
        name="decoding", page="decoding.md", first=("python make.py",),
        commands=("isomorph check decoder.onnx wrong.onnx --decode 8",), lines=34,
    ),
)  # fmt: skip


def draw(picture: Picture) -> Path:
    """Run it in a folder of its own, and write what came out."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for _, name, text in _BLOCK.findall((DOCS / picture.page).read_text(encoding="utf-8")):
            (folder / name).write_text(text, encoding="utf-8")
        for command in picture.first:
            subprocess.run(
                _words(command),
                cwd=folder,
                env=_environment(picture.columns),
                check=True,
                capture_output=True,
            )
        screen = Console(
            record=True,
            width=picture.columns,
            file=StringIO(),
            force_terminal=True,
            highlight=False,
        )
        for command in picture.commands:
            shown = _on_terminal(command, folder, picture.columns).replace(f"{folder}/", "")
            lines = shown.rstrip().splitlines()
            cut = lines[: picture.lines] + ["…"] * (len(lines) > picture.lines)
            screen.print(Text(f"$ {command}", style="bold"))
            screen.print(Text.from_ansi("\n".join(cut)))
    drawn = screen.export_svg(title="", theme=DIMMED_MONOKAI, unique_id=picture.name)
    # A picture in a page may load nothing: each character has its place, in any such font.
    drawn = _WEB_FONTS.sub("", drawn).replace("Fira Code, monospace", _FONT)
    path = FOLDER / f"{picture.name}.svg"
    path.write_text(drawn + "\n", encoding="utf-8")
    return path


def _words(command: str) -> list[str]:
    program, *rest = shlex.split(command)
    if program == "isomorph":
        return [sys.executable, "-m", "isomorph", *rest]
    return [sys.executable if program == "python" else program, *rest]


def _environment(columns: int) -> dict[str, str]:
    own = {"COLUMNS": str(columns), "TERM": "xterm-256color", "TF_CPP_MIN_LOG_LEVEL": "3"}
    return {name: each for name, each in os.environ.items() if name != "NO_COLOR"} | own


def _on_terminal(command: str, folder: Path, columns: int) -> str:
    """Its standard output on a terminal, where it has colors; progress is left out."""
    terminal, screen_side = pty.openpty()
    process = subprocess.Popen(
        _words(command),
        cwd=folder,
        env=_environment(columns),
        stdout=screen_side,
        stderr=subprocess.DEVNULL,
    )
    os.close(screen_side)
    text = b"".join(_chunks(terminal)).decode("utf-8")
    os.close(terminal)
    process.wait()
    return text.replace("\r\n", "\n")


def _chunks(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            found = os.read(descriptor, 1 << 16)
        except OSError:  # how Linux states that the other end is closed
            return
        if not found:
            return
        yield found


def main() -> None:
    """Draw those that are named, or all."""
    known = {picture.name: picture for picture in PICTURES}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *known], metavar="NAME")
    FOLDER.mkdir(exist_ok=True)
    for name in parser.parse_args().names or known:
        print(draw(known[name]).relative_to(DOCS), flush=True)


if __name__ == "__main__":
    main()
