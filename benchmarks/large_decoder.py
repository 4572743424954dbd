"""A decoder of a billion parameters: a Hugging Face folder against its ONNX export over 4 GB.

The weights are random. The folder is read by transformers, the ONNX file has its weights beside it,
and one forward pass with empty caches is compared: on the CPU within a limit of memory, and with
both oracles on CUDA where there is a GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from measuring.processes import run
from measuring.tables import table, write_json
from networks.torch_networks import quiet

BILLION: dict[str, Any] = {"hidden_size": 2048, "num_hidden_layers": 16, "intermediate_size": 8192,
                           "num_attention_heads": 32, "num_key_value_heads": 8,
                           "vocab_size": 32000}  # fmt: skip
BRIEF: dict[str, Any] = {"hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 128,
                         "num_attention_heads": 4, "num_key_value_heads": 2,
                         "vocab_size": 100}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One whole command."""

    what: str
    verdict: str
    reason: str
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    phases: dict[str, float]


def written(folder: Path, sizes: dict[str, Any]) -> tuple[Path, Path, int]:
    """The folder of transformers, the ONNX file, and the number of parameters."""
    import transformers

    from isomorph.frameworks.pytorch.hugging_face import exported_folder

    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes)).eval()
    count = sum(each.numel() for each in model.parameters())
    reference, candidate = folder / "llama", folder / "onnx" / "llama.onnx"
    candidate.parent.mkdir()
    model.save_pretrained(reference)
    del model
    with quiet(), torch.no_grad():
        program = exported_folder(reference)
        torch.onnx.export(program, (), candidate, dynamo=True, external_data=True, verbose=False)
    return reference, candidate, count


def checked(what: str, words: list[str]) -> Measured:
    """``isomorph check`` with these words."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "isomorph", "check", *words, "--format", "json"]
        ran = run([*command, "--output", str(report)], folder=Path(folder))
        facts = json.loads(report.read_text(encoding="utf-8")) if report.exists() else {}
    return Measured(
        what=what,
        verdict=facts.get("verdict", ran.tail),
        reason=facts.get("reason", ""),
        seconds=ran.seconds,
        cpu_seconds=ran.cpu_seconds,
        peak_bytes=ran.peak_bytes,
        phases={each["name"]: each["wall"] for each in facts.get("cost", {}).get("phases", [])},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brief", action="store_true", help="a small decoder")
    parser.add_argument("--memory", default="8GiB", help="the limit of the check on the CPU")
    parser.add_argument("--only", choices=("cpu", "cuda"), help="one of the two")
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        reference, candidate, count = written(Path(folder), BRIEF if given.brief else BILLION)
        print(f"{count / 1e9:.2f} billion parameters", flush=True)
        models = [str(reference), str(candidate)]
        if given.only != "cuda":
            within = ["--memory", given.memory]
            rows.append(checked(f"CPU, within {given.memory}", [*models, *within]))
        if given.only != "cpu" and torch.cuda.is_available():
            on_cuda = ["--set", "oracle.device=cuda"]
            rows.append(checked("both oracles on CUDA", [*models, *on_cuda]))
            on_cuda += ["--set", "reference.device=cuda", "--set", "reference.tf32=no"]
            rows.append(checked("PyTorch and both oracles on CUDA", [*models, *on_cuda]))
    titles = ("what", "verdict", "time", "CPU", "peak memory", "reason")
    print(table(titles, [_shown(row) for row in rows]))
    for row in rows:
        print(row.what, {name: round(seconds, 1) for name, seconds in row.phases.items()})
    write_json(
        "large_decoder_brief" if given.brief else "large_decoder",
        {"parameters": count, "rows": [asdict(row) for row in rows]},
    )


def _shown(row: Measured) -> tuple[str, ...]:
    peak = f"{row.peak_bytes / 1e9:.2f} GB"
    return (
        row.what, row.verdict, f"{row.seconds:.1f} s", f"{row.cpu_seconds:.1f} s", peak, row.reason,
    )  # fmt: skip


if __name__ == "__main__":
    main()
