"""How fix, convert, stress, ranges and extract ended; the verdicts themselves stand elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

OUTCOMES: Mapping[str, str] = {
    # fix
    "REPAIR.nothing": "nothing to repair: {reason}",
    "REPAIR.one_patch": "1 patch applied; {reason}",
    "REPAIR.patches": "{count} patches applied; {reason}",
    "REPAIR.failed": "not repaired: {reason}",
    "REPAIR.run": "the file is right and its run is not: run it with {flags}",
    "REPAIR.floats": "{kept} of {count} quantized nodes stay in float; {reason}",
    "REPAIR.refused": "{patch}: {reason}",
    "REPAIR.no_gain": "{patch}: gains nothing beside the others",
    "REPAIR.not_located": "the search for the faulty node failed: {error}",
    "REPAIR.fix_failed": "the fix for {cause} failed: {error}",
    "REPAIR.beside": " and {nodes}",
    "REPAIR.every_optimizer": "every optimizer",
    "REPAIR.measured": "{verdict} on {origin}",
    "REPAIR.measured_error": "{measured}, relative error {error:.2g}",
    "REPAIR.measured_reason": "{measured}: {reason}",
    "REPAIR.setting": "run with {flags} ({name})",
    "REPAIR.written": "written to {output}",
    "REPAIR.copy": "nothing was changed; {output} is a copy of the candidate",
    "REPAIR.unwritten": "not written: name a file with -o",
    "REPAIR.decoding": "the report is about decoding; give the inputs of one step with --inputs",
    "REPAIR.test_set": "the report is about a test set, so the repair is measured on generated "
    "inputs",
    "REPAIR.no_inputs": "the report names no file of its inputs; give them with --inputs",
    "REPAIR.changed": "{file} has changed since the report",
    "REPAIR.other_options": "{options} differ from the report, so the faults are searched for "
    "again",
    "REPAIR.other_runtime": "the {role} runs in {now}; in the report it ran in {then}",
    # convert
    "CONVERT.step": "{source} → {target} by {converter}: {reason}",
    "CONVERT.not_judged": "it could not be judged",
    "CONVERT.invalid": "the converter wrote an invalid model: {error}",
    "CONVERT.kept_float32": "kept in float32, because they are not proven to stay within float16: "
    "{nodes}",
    "CONVERT.input_name": "the name of input {right!r}: it is {now!r} now",
    "CONVERT.input_type": "the type of input {right!r}: {dtype} became {now}",
    "CONVERT.input_axes": "dynamic axes of input {right!r}: {axes}",
    "CONVERT.fixed_axis": "axis {place} is {size} now",
    "CONVERT.output_name": "the name of output {right!r}: it is {now!r} now",
    "CONVERT.output_order": "the order of the outputs: it is {order} now",
    "CONVERT.metadata": "metadata: {keys}",
    "CONVERT.source": "where in the source a node came from",
    "CONVERT.quantization": "quantization parameters",
    "CONVERT.every_cpu": "on every CPU: no product of bytes can saturate",
    "CONVERT.exact_cpus": "on CPUs with VNNI or without AVX2; on others, products of unsigned and "
    "signed bytes can saturate at 16 bits",
    "CONVERT.this_cpu": "on this CPU; whether products of bytes saturate on others is unknown",
    "CONVERT.written": "written to {output}",
    "CONVERT.unwritten": "nothing was written, because the result is not proven; --keep writes it "
    "anyway",
    "CONVERT.float32": "{kept} of {count} nodes stay in float32",
    "CONVERT.kept": "{node} ({op}): {why}",
    "CONVERT.more_kept": "… and {count} more; the report has all",
    "CONVERT.kept_overflow": "its result {tensor} reaches {value}, beyond {dtype}",
    "CONVERT.kept_reads": "it reads {tensor}, which reaches {value}, beyond {dtype}",
    "CONVERT.kept_near": "{tensor} may reach {value} on other inputs like these, beyond {dtype}",
    "CONVERT.kept_constant": "its constant {tensor} holds {value}, beyond {dtype}",
    "CONVERT.kept_rounding": "its rounding causes {share} of the loss",
    "CONVERT.kept_rounding_unknown": "its rounding causes an unknown part of the loss",
    "CONVERT.kept_operator": "the converter keeps this operator",
    "CONVERT.tried": "{workarounds}; none of them helped",
    # stress
    "STRESS.headline": "{verdict}: the largest error that was found is {ratio:.3g} times its "
    "budget",
    "STRESS.headline_output": "{verdict}: the largest error that was found is {ratio:.3g} times "
    "its budget, at output {output}",
    "STRESS.within": "the models agree on the worst input that was found",
    "STRESS.different": "the functions differ: their float64 evaluations differ as well",
    "STRESS.rounding": "only the runs differ: the float64 evaluations agree, so the budget or a "
    "runtime is wrong. Please report it",
    "STRESS.latent": "the models agree on this input, and a known difference does not show on it",
    "STRESS.undecided": "the check of this input reached no verdict",
    "STRESS.search": "started at {ratio:.3g} times the budget ({origin})",
    "STRESS.input": "{changed} of {elements} differ from that sample and are not zero",
    "STRESS.range": "{input}: {lower:.4g} … {upper:.4g} ({origin})",
    "STRESS.effort": "{runs} of both models, {budgets}, {slopes}; seed {seed}",
    "STRESS.written": "written to {file}",
    "STRESS.again": "again: {command}",
    "STRESS.skipped": "skipped: {what} ({why})",
    # ranges
    "RANGES.overflow": "OVERFLOW: {tensor} exceeds {dtype}; of {total}, {wrong} overflow and "
    "{open} are open",
    "RANGES.open": "OPEN: {open} of {total} are not proven to stay within {dtype}",
    "RANGES.behind": "{text}; {behind} more would be safe if these were",
    "RANGES.bounded": "BOUNDED: each of {total} has a finite bound, and so a scale without "
    "clipping",
    "RANGES.safe": "SAFE: {total} proven to stay within {dtype}",
    "RANGES.declared_type": "its declared type",
    "RANGES.of_tensor": "overflow of {tensor}, {place}",
    "RANGES.first_on_samples": "first beyond {dtype} on the given samples: {tensor}, {place}",
    "RANGES.with_limit": "{text} (largest number: {largest:g})",
    "RANGES.node": "node {node} ({op})",
    "RANGES.input": "an input",
    "RANGES.in_float64": "in float64: {value:.6g}",
    "RANGES.in_run": "in the usual run: {value:.6g}",
    "RANGES.in_type": "in a run in {dtype}: {value:.6g}",
    "RANGES.recipe": "input: {recipe}",
    "RANGES.sample": "sample: {recipe}",
    "RANGES.grown": "grown over {nodes} from {tensor} (largest {largest:.4g})",
    "RANGES.most": "most at {node} ({op}): from {before:.4g} of {tensor} to {after:.4g}, "
    "{factor:.3g} times as large",
    # extract
    "EXTRACT.part": "{folder} holds the part around node {node!r}: {nodes} of {count} nodes",
    "EXTRACT.whole": "it begins at the model's inputs, because no smaller part shows the fault",
    "EXTRACT.shows": "the part alone is divergent: {reason}",
    "EXTRACT.hides": "the part alone does not show the fault: {reason}",
    "EXTRACT.script": "see it without isomorph: cd {folder} && python {script}",
    "EXTRACT.no_script": "no script shows it without isomorph: {why}",
    "EXTRACT.command": "see it with isomorph: cd {folder} && {command}",
}
