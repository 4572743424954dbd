"""The options of a conversion, beside those that it shares with other commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from isomorph.cli.options import ranges, separated
from isomorph.cli.parameters import Option

To = Annotated[
    str | None,
    Option("--to", metavar="FORMAT", help="The target, if the suffix of DST does not name it."),
]
Precision = Annotated[
    str | None,
    Option(
        "--precision",
        metavar="TYPE",
        help="float16, with the fewest nodes in float32 that the loss or --budget needs.",
    ),
]
CalibrationData = Annotated[
    Path | None,
    Option("--data", help="Real samples: they calibrate int8, and the proof is made on them."),
]
Via = Annotated[
    list[str] | None,
    Option(
        "--via",
        metavar="STOP,…",
        help="Formats or converters on the way, in their order.",
        parse=separated,
    ),
]
Opset = Annotated[int | None, Option("--opset", min=1, help="The opset of an ONNX file.")]
ConvertRange = Annotated[
    list[str] | None,
    Option(
        "--range",
        metavar="[INPUT=]LOW:HIGH",
        help="Keep nodes in float32 that may leave float16 on such inputs.",
        sets="ranges",
        parse=ranges,
    ),
]
Repair = Annotated[bool, Option("--repair", help="Repair a faulty hop, as fix does, and go on.")]
Keep = Annotated[bool, Option("--keep", help="Write the model even where it is not proven.")]
