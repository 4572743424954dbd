"""A matrix of small ONNX pairs for measurements of sweeps."""

from __future__ import annotations

from pathlib import Path

ENVIRONMENTS = {
    "usual": "",
    "plain": 'settings = { optimization = "none" }',
    "basic": 'settings = { optimization = "basic" }',
    "extended": 'settings = { optimization = "extended" }',
    "one_thread": 'settings = { threads = "1" }',
    "strict": "strict = true",
}
_TEXT = (
    '<ir_version: 9, opset_import: ["": 17]> net (float[2,4] x) => (float[2,4] y) '
    "<float slope = {{{slope}}}> {{ a = Mul (x, slope)  y = Tanh (a) }}"
)


def write_matrix(folder: Path, models: int, environments: int) -> Path:
    """The sweep file of so many pairs, each with a slope of its own; every third is divergent."""
    from onnx import parser

    (folder / "models").mkdir(parents=True)
    lines = []
    for at in range(models):
        slope = 1.0 + at / 100
        sides = {"reference": slope, "candidate": slope * (1.25 if at % 3 == 2 else 1.0)}
        lines.append(f"[models.net{at:02}]")
        for side, value in sides.items():
            path = folder / "models" / f"{at:02}_{side}.onnx"
            path.write_bytes(parser.parse_model(_TEXT.format(slope=value)).SerializeToString())
            lines.append(f'{side} = "models/{path.name}"')
    for name, settings in list(ENVIRONMENTS.items())[:environments]:
        lines += [f"[environments.{name}]", "quick = true", settings]
    file = folder / "sweep.toml"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file
