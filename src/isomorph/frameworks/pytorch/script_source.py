"""PyTorch in a script that needs no isomorph."""

from __future__ import annotations

from collections.abc import Mapping

from isomorph.core.extraction import ScriptSource

_BACKENDS = {
    "dynamo": "eager",
    "aot": "aot_eager",
    "decompositions": "aot_eager_decomp_partition",
    "yes": "inductor",
}


def script_source(words: Mapping[str, str]) -> ScriptSource | None:
    """The exported program as a module; not with some operators left out of compilation."""
    if words["uncompiled_operators"]:
        return None
    lines = [
        "module = torch.export.load(path).module()",
        "values = [torch.from_numpy(np.array(each)) for each in feeds.values()]",
    ]
    if words["threads"]:
        lines.insert(0, f"torch.set_num_threads({int(words['threads'])})")
    if words["deterministic"] == "yes":
        lines.insert(0, "torch.use_deterministic_algorithms(True)")
    if words["tf32"] in {"yes", "no"} and words["device"] != "cpu":
        precision = "high" if words["tf32"] == "yes" else "highest"
        lines.insert(0, f"torch.set_float32_matmul_precision({precision!r})")
    if words["device"] != "cpu":
        lines += [
            f"module.to({words['device']!r})",
            f"values = [each.to({words['device']!r}) for each in values]",
        ]
    if words["dtype"] != "as declared":
        dtype = f"torch.{words['dtype']}"
        lines += [
            f"module.to({dtype})",
            f"values = [each.to({dtype}) if each.is_floating_point() else each for each in values]",
        ]
    if words["compile"] != "no":
        lines.append(f"module = torch.compile(module, backend={_BACKENDS[words['compile']]!r})")
    context = "torch.no_grad()"
    if words["autocast"] != "no":
        device = words["device"].partition(":")[0]
        context += f", torch.autocast({device!r}, dtype=torch.{words['autocast']})"
    lines += [
        f"with {context}:",
        "    result = module(*values)",
        "first = result[0] if isinstance(result, (tuple, list)) else result",
        "return first.double().cpu().numpy()",
    ]
    return ScriptSource(
        imports=("import torch",), packages=("torch",), body=tuple(lines), variables={}
    )
