"""What the command line and the API refuse, by code and variant: what happened, why, what to do.

These are the errors of words that a user typed: commands, options, names. Errors of files, formats
and runtimes stand where they are raised, since only that place has their facts. What is empty or
left out of a fix is taken from the code (``isomorph explain CODE``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

PARTS = ("what", "why", "fix")

_PAGE = "{name} is a file to open in a browser, and no file is named"

_TEXTS: Mapping[str, tuple[str, ...]] = {
    # The command line
    "USAGE.command": ("there is no command {name!r}", "", "isomorph --help"),
    "USAGE.command_near": (
        "there is no command {name!r}",
        "",
        "did you mean {near!r}? isomorph --help lists all",
    ),
    "USAGE.option": ("there is no option {name}", "", "{help}"),
    "USAGE.option_near": (
        "there is no option {name}",
        "",
        "did you mean {near}? {help} lists all",
    ),
    "USAGE.no_value": ("option {name} takes no value", "", "{help}"),
    "USAGE.value_missing": ("option {name} needs a value", "", "{help}"),
    "USAGE.integer": ("{name} {value!r} is not an integer", "", "{help}"),
    "USAGE.number": ("{name} {value!r} is not a number", "", "{help}"),
    "USAGE.least": ("{name} {value!r} is less than {least}", "", "{help}"),
    "USAGE.range": ("{name} {value!r} is not between {least} and {most}", "", "{help}"),
    "USAGE.too_many": ("too many arguments: {words}", "", "{help}"),
    "USAGE.argument": ("{label} is missing", "", "{help}"),
    "USAGE.candidate": (
        "CANDIDATE is missing: one model is given, and no report",
        "",
        "isomorph fix {reference} CANDIDATE, or isomorph fix REPORT.json",
    ),
    "BAD_OPTION.word": ("{flag} {word!r} cannot be read", "", "write {flag} {expected}"),
    "BAD_OPTION.choice": ("{flag} does not know {word!r}", "", "choose one of: {known}"),
    "BAD_COUNT.keep_float": (
        "--keep-float {word} is not a count",
        "",
        "--keep-float 3, or --keep-float auto",
    ),
    "CONFLICTING_SETTINGS.verbosity": (
        "--verbose and --quiet exclude each other",
        "",
        "give one of them",
    ),
    "UNKNOWN_NAME.pair": (
        "{word!r} is neither a file nor the name of a pair",
        "the pairs: {pairs}",
    ),
    "UNKNOWN_NAME.pair_near": (
        "{word!r} is neither a file nor the name of a pair",
        "the pairs: {pairs}",
        "did you mean {near!r}?",
    ),
    "UNKNOWN_NAME.extension": ("there is no {kind} {name!r}", "known: {known}"),
    "UNKNOWN_NAME.extension_near": (
        "there is no {kind} {name!r}",
        "known: {known}",
        "did you mean {near!r}?",
    ),
    "UNKNOWN_SETTING.unknown": (
        "runtime {runtime!r} has no setting {name!r}",
        "it knows: {known}",
        "name one of these",
    ),
    "UNKNOWN_SETTING.near": (
        "runtime {runtime!r} has no setting {name!r}",
        "it knows: {known}",
        "--set {near}=…",
    ),
    "UNKNOWN_SETTING.near_other": (
        "runtime {runtime!r} has no setting {name!r}",
        "it knows: {known}",
        "did you mean {near!r}, a setting of {owners}?",
    ),
    "UNKNOWN_SETTING.of_other": (
        "runtime {runtime!r} has no setting {name!r}",
        "it is a setting of {owners}; {runtime} knows: {known}",
        "leave it out for this side",
    ),
    "EXTENSION_INCOMPLETE.members": (
        "the {kind} {name!r} lacks {members}",
        "{protocol} in isomorph.core.protocols has them",
        "update the package that provides it, or remove that package",
    ),
    # What is written
    "UNKNOWN_FORMAT.stated": ("this command does not write {format!r}", "", "one of: {known}"),
    "UNKNOWN_FORMAT.near": (
        "this command does not write {format!r}",
        "it writes: {known}",
        "did you mean {near!r}?",
    ),
    "UNKNOWN_FORMAT.suffix_near": (
        "the suffix of {file_name!r} names no format",
        "it writes: {known}",
        "did you mean {near!r}? --format terminal writes text",
    ),
    "UNKNOWN_FORMAT.other_suffix": (
        "{file_name!r} looks like {kind}, which this command does not write",
        "it writes: {known}",
        "--format {first}, or another suffix",
    ),
    "OUTPUT_UNWRITABLE.stdout": ("the standard output cannot be written", "{error}"),
    "OUTPUT_EXISTS.demo": (
        "the folder for the demo exists already",
        "",
        "name a new folder, or remove this one",
    ),
    "BAD_OPTION.page": (_PAGE, "", "--format {name} -o page.{name}"),
    "BAD_OPTION.diff_page": (_PAGE, "", "--format html -o diff.html"),
    "BAD_OPTION.sweep_page": (_PAGE, "", "-o sweep.html"),
    "BAD_OPTION.repair_page": ("only a page shows a repair", "", "write it to a .html file"),
    "BAD_OPTION.export": (
        "--export {file_name} has an ending that is not known",
        "",
        "use one of: {known}",
    ),
    "BAD_OPTION.one_document": (
        "{count} pairs are checked, and a {name} document holds one report",
        "",
        "name a folder for them: isomorph check --format {name} -o FOLDER",
    ),
    "BAD_OPTION.one_file": (
        "{count} pairs are checked, and {file_name} looks like one file",
        "each pair has a report of its own",
        "name a folder for them: -o {stem} --format {name}",
    ),
    "BAD_OPTION.folder_name": (
        "{file_name!r} looks like a file, and this command writes a folder",
        "",
        "name a folder: -o {stem}",
    ),
    "BAD_OPTION.pair_name": (
        "--pair names two files, and the pairs of a project have their names",
        "",
        "leave --pair out",
    ),
    "PORT_IN_USE.listen": (
        "port {port} cannot be used",
        "{error}",
        "name another with --port, or none for a free one",
    ),
    "FILE_NOT_FOUND.reports": ("there is no such file or folder:", "", "check the path"),
    # What is asked
    "NOTHING_TO_CHECK.no_project": (
        "no model is named",
        "there is no project file",
        "isomorph check REFERENCE CANDIDATE, or name pairs in {project}",
    ),
    "NOTHING_TO_CHECK.no_pairs": (
        "no model is named",
        "the project file holds no pair to check",
        "isomorph check REFERENCE CANDIDATE, or name pairs in {project}",
    ),
    "NOTHING_GIVEN.only_given": (
        "--only-given restricts the check to the given inputs, and none are given",
        "",
        "give them with --inputs or --data, or leave out --only-given",
    ),
    "BAD_OPTION.metric": ("--metric needs samples", "", "give them with --data"),
    "BAD_OPTION.cache": ("--cache needs --decode", "", "say how many tokens: --decode N"),
    "BAD_OPTION.no_tokens": (
        "--decode {count} decodes nothing",
        "",
        "give a number of tokens, such as --decode 16",
    ),
    "BAD_OPTION.decode_one": (
        "--decode compares two models, and one is given",
        "",
        "name the candidate as well",
    ),
    "BAD_OPTION.decode_data": (
        "--decode takes one prompt, and --data gives many samples",
        "",
        "give the prompt with --inputs; it may have several rows",
    ),
    "BAD_OPTION.prove_one": (
        "--prove compares two models, and one is given",
        "",
        "name the candidate as well",
    ),
    "BAD_OPTION.prove_decode": (
        "--prove is about one call of a model, and --decode makes many",
        "",
        "isomorph prove with the inputs of one step",
    ),
    "BAD_OPTION.diff_mixed": (
        "a report cannot be compared with a model",
        "{report} is a JSON report",
        "name two models, or two reports that check wrote with --format json",
    ),
    "BAD_OPTION.inspect_two": (
        "inspect shows one model, and two are given",
        "",
        "isomorph diff {model} {other} compares them",
    ),
    "BAD_OPTION.inputs_and_data": (
        "--inputs and --data are both given",
        "",
        "give one sample with --inputs, or many with --data",
    ),
    "BAD_OPTION.state": (
        "--state was given, and no model is built by a factory",
        "a model file holds its own weights",
        "leave out --state, or give package.module:factory",
    ),
    "OPS_NEED_TRUST.module": (
        "--ops {module} would run code",
        "importing a module runs whatever it holds",
        "add --trust if it is yours",
    ),
    "BAD_OPTION.range_type": ("ranges does not know type {dtype!r}", "", "use one of: {known}"),
    "BAD_OPTION.range": (
        "the range of {name} is not two finite numbers, the lower one first",
        "",
        "--range x=-1:1",
    ),
    "BAD_OPTION.range_all": (
        "the range of all inputs is not two finite numbers, the lower one first",
        "",
        "--range -1:1",
    ),
    "PROOF_CONTRADICTED.outputs": (
        "proven equal, and measured to differ: output {outputs}",
        "this is a fault of isomorph, not of your model: rely on neither answer",
        "report it with both models and {path}",
    ),
    # sweep and bisect
    "BAD_OPTION.engine": ("there is no engine {name!r}", "", "use one of: {known}"),
    "BAD_OPTION.address": ("--address needs --engine ray", "", "add --engine ray"),
    "BAD_OPTION.not_run": ("the {side} was not run", "{reason}"),
    "BAD_OPTION.no_optimizers": (
        "runtime {runtime!r} does not list its optimizers",
        "",
        "search over releases, or run the model in ONNX Runtime",
    ),
    "BAD_OPTION.package": (
        "no runtime is known to come from the package {package!r}",
        "known: {known}",
        "--package onnxruntime",
    ),
    "BAD_OPTION.no_package": (
        "a search over releases needs the name of a package",
        "known: {known}",
        "--package onnxruntime",
    ),
    "BAD_OPTION.no_conversion": (
        "{option} needs a conversion",
        "",
        "name its format: --convert onnx",
    ),
    "BAD_OPTION.candidate_and_conversion": (
        "a candidate and --convert are both given",
        "what the conversion makes is the candidate",
        "leave one of them out",
    ),
    "BAD_OPTION.side_and_conversion": (
        "--side and --convert are both given",
        "what the conversion makes is the candidate",
        "leave one of them out",
    ),
    "BAD_OPTION.optimizers_of_conversion": (
        "--over optimizers searches the optimizers of a run, and --convert makes a model",
        "",
        "search the passes of the converter: --over passes",
    ),
    "BAD_OPTION.one_release": (
        "--versions {versions!r} names no single release",
        "passes are those of one release",
        "--package {package} --versions 1.2.3, or leave both out",
    ),
    "BAD_OPTION.release": (
        "{package} {release} cannot be used",
        "{reason}",
        "name another release, or another Python with --python",
    ),
    "BAD_OPTION.converter_package": (
        "no converter is known to run with other releases of {package!r}",
        "known: {known}",
        "name one of these, or convert in each environment yourself",
    ),
    "BAD_OPTION.no_converter_package": (
        "a search over releases needs the name of a package",
        "known: {known}",
        "--package NAME",
    ),
    "SAMPLES_NEEDED.bisect": (
        "{width} needs samples to calibrate on, which bisect does not take",
        "",
        "choose another width, or convert in each environment",
    ),
    "NO_ROUTE.bisect": (
        "no way from {framework} to {format} has a converter that {ability}",
        "",
        "isomorph convert {source} {target} --plan",
    ),
    "UNKNOWN_NAME.target": (
        "there is no format {name!r} to convert to",
        "known: {known}; or a file name whose suffix names the format",
        "name one of these",
    ),
    "WRONG_RUNTIME.side": (
        "runtime {runtime!r} runs only the {side}",
        "",
        "--side {side}",
    ),
    "WRONG_RUNTIME.neither": (
        "runtime {runtime!r} runs neither of these models",
        "",
        "name another package",
    ),
}

_EXPECTED: Mapping[str, str] = {
    "runtime": "NAME, reference=NAME or candidate=NAME, each once",
    "setting": "KEY=VALUE, candidate.KEY=VALUE or oracle.KEY=VALUE, each name once",
    "binding": "REFERENCE_NAME=CANDIDATE_NAME, each name once",
    "cache": "INPUT=OUTPUT, an input that takes a cache and the output that returns it, each once",
    "dim": "AXIS=SIZE with a whole number, as in batch=2, each name once",
    "dims": "AXIS=1,2,7 with whole numbers, as in batch=1,7, each name once",
    "layout": "NAME=0,2,3,1, the axes in their new order, each name once",
    "budget": "NUMBER or OUTPUT=NUMBER, from 0 on, each output once",
    "range": "INPUT=LOW:HIGH or LOW:HIGH, each input once",
    "memory": "as a size such as 4GiB or 512MB",
    "timeout": "as a positive number of seconds",
    "shard": "as a part of all, such as 3/8",
}
"""How the value of an option is written, behind the name of the option."""


def _each() -> Iterator[tuple[str, str]]:
    for name, texts in _TEXTS.items():
        for part, text in zip(PARTS, texts, strict=False):
            if text:
                yield f"ERROR.{name}.{part}", text
    for name, text in _EXPECTED.items():
        yield f"EXPECTED.{name}", text


ERRORS: Mapping[str, str] = dict(_each())
"""The texts of each error, by code, variant and part."""
