"""The pages beside what extract and bisect write; whole sentences, with their periods."""

from __future__ import annotations

from collections.abc import Mapping

READMES: Mapping[str, str] = {
    # extract: the smallest pair that shows a fault
    "README.extract_title": "A fault at node `{node}`",
    "README.extract_pair": "The candidate's part does not compute what the reference's part does.",
    "README.extract_run": "The run of this part differs from its own graph, evaluated in float64.",
    "README.extract_hides": "The whole model shows a fault; this part alone does not.",
    "README.extract_whole": "It begins at the model's inputs, because no smaller part shows the "
    "fault.",
    "README.extract_reference": "`{file}`: what is right",
    "README.extract_candidate": "`{file}`: what is wrong, {nodes} of {count} nodes",
    "README.extract_inputs": "`{file}`: the inputs of the part, as they arrive there",
    "README.extract_script": "To see it in this folder with the frameworks alone (exit code 0: the "
    "difference is there):",
    "README.extract_no_script": "No script shows it without isomorph: {why}.",
    "README.extract_isomorph": "With isomorph, in this folder:",
    "README.extract_see": "To see it, in this folder:",
    "README.extract_verdict": "isomorph's verdict is {verdict}: {reason}.",
    "README.extract_output": "output {output!r}: {count} of {elements} values differ, by "
    "{size:.3g} at most",
    "README.extract_environment": "{name}: {runtime} {version} on {device}, {precision}",
    # bisect: both releases beside a model that one of them computes otherwise
    "README.release_title": "{package} {point} changes what a model computes",
    "README.release_run": "Run the model in both. `{program}` needs {package} and NumPy alone. The "
    "second run compares its outputs with those of the first:",
    "README.release_check": "To check it again, and to see the node and the cause:",
    "README.verdict": "verdict of isomorph",
    "README.environments": "Make both environments:",
    "README.printed": "It printed:",
    # bisect --convert: both results of a conversion
    "README.conversion_title": "{package} {point} changes what a conversion makes",
    "README.verdict_of_result": "verdict of isomorph on the result",
    "README.file": "file",
    "README.conversion_route": "The conversion goes along {route}. Its step {converter} ran in the "
    "environment of each release.",
    "README.conversion_failed": "With {point}: {reason}",
    "README.conversion_run": "Convert in both. `{program}` needs no isomorph; it wrote the same "
    "bytes as above:",
    "README.conversion_here": "To convert with the release that is installed beside isomorph:",
    "README.conversion_check": "To check the results, and to see the node and the cause:",
}
"""The sentences of these pages, by command."""
