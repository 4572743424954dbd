import ast
import re
import sys
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

import isomorph
from isomorph import registry
from isomorph.api import doctor as examined
from isomorph.api.doctor import Requirement, import_in_subprocess, requirements
from isomorph.core.installation import InstallationItem, InstallationStatus
from isomorph.reporters.doctor_text import as_text


def test_what_is_wanted_is_read_from_the_metadata():
    wanted = {one.package: one for one in requirements()}
    assert wanted["numpy"].extra is None
    assert wanted["torch"] == Requirement(package="torch", minimum="2.6", extra="torch")
    assert "pytest" not in wanted


def test_packages_for_development_are_not_wanted():
    extras = {one.extra for one in requirements()}
    assert {"convert", "fast", "openvino", "tensorflow", "tflite", "torch", "view"} < extras
    assert not {"all", "dev"} & extras


def test_what_a_runtime_needs_is_wanted_also_where_it_is_installed_apart():
    extras = {one.extra for one in requirements()}
    for name in registry.names("runtimes"):
        assert registry.runtime(name).extra in extras, name


@cache
def _imported_by_isomorph():
    """The top names of everything that the source imports, at once or by name."""
    found = set()
    for file in Path(isomorph.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                found.add(node.module.partition(".")[0])
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                # require("torch", …), find_spec("numba"), packages = ("jax", "jax2onnx")
                found.add(node.value.partition(".")[0])
    return found


@pytest.mark.parametrize("package", sorted(one.package for one in requirements()))
def test_every_package_that_is_recommended_is_used(package):
    modules = {package.replace("-", "_"), examined._module(package), package.removesuffix("-cpu")}
    assert modules & _imported_by_isomorph(), f"nothing imports {package}"


@pytest.mark.parametrize("name", registry.names("converters"))
def test_the_command_for_a_converter_installs_all_of_its_packages(name):
    converter = registry.converter(name)
    words = re.findall(r"[A-Za-z0-9_.-]+(?:\[[a-z,]+\])?", converter.install)
    extras = {one for word in words for one in re.findall(r"[a-z]+", examined._bracketed(word))}
    known = {
        extra for line in metadata.requires("isomorph") or () if (extra := examined._extra(line))
    }
    assert extras <= known, "an extra that does not exist installs nothing"
    installed = {word.partition("[")[0] for word in words} | _brought_by({None, *extras})
    installed |= {"tensorflow"} if "tensorflow-cpu" in installed else set()
    spelled = {word.replace("-", "_") for word in installed}
    assert {package.partition(".")[0] for package in converter.packages} <= spelled


def _brought_by(extras):
    """The packages that these extras of isomorph install, those of extras among them as well."""
    found = set()
    for line in metadata.requires("isomorph") or ():
        if examined._extra(line) not in extras:
            continue
        found.add(re.match(r"[A-Za-z0-9._-]+", line)[0])
        inner = set(re.findall(r"[a-z]+", examined._bracketed(line))) - extras
        found |= _brought_by(inner) if inner else set()
    return found


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module that a child process can import."""

    def write(text):
        (tmp_path / "sick_module.py").write_text(text)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        return "sick_module"

    return write


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", None),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "died of SIGSEGV"),
        ("raise RuntimeError('built for another CPU')", "RuntimeError: built for another CPU"),
        ("import os; os._exit(5)", "ended with code 5"),
    ],
)
def test_an_import_may_end_in_any_way(module, text, message):
    assert import_in_subprocess(module(text)) == message


def test_an_import_may_hang(module):
    trouble = import_in_subprocess(module("import time; time.sleep(60)"), seconds=0.5)
    assert trouble == "did not finish in 0.5 s"


def test_nothing_is_imported_here(module):
    import_in_subprocess(module("x = 1"))
    assert "sick_module" not in sys.modules


def _of(monkeypatch, version, *, trouble=None, minimum="2.6"):
    monkeypatch.setattr(examined, "_installed", lambda package: (package, version))
    monkeypatch.setattr(examined, "import_in_subprocess", lambda module: trouble)
    required = Requirement(package="torch", minimum=minimum, extra="torch")
    return examined._imported(examined._package(required))


def test_a_missing_package_names_its_extra(monkeypatch):
    found = _of(monkeypatch, None)
    assert (found.status, found.advice) == ("missing", "pip install 'isomorph[torch]'")


def test_an_old_package_names_the_version(monkeypatch):
    found = _of(monkeypatch, "2.5.1")
    assert (found.status, found.advice) == ("old", "pip install --upgrade 'torch>=2.6'")


def test_versions_are_numbers_not_text(monkeypatch):
    assert _of(monkeypatch, "2.13.0+cpu").status == "ok"


def test_a_crash_is_broken(monkeypatch):
    found = _of(monkeypatch, "2.13.0", trouble="died of SIGILL")
    assert found.status == "broken"
    assert found.detail == "import torch: died of SIGILL"


def test_packages_are_imported_only_where_that_is_asked_for(monkeypatch):
    imported = []
    monkeypatch.setattr(examined, "import_in_subprocess", imported.append)
    quick = {each.name: each for each in examined.doctor()}
    assert not imported
    assert quick["numpy"].version == metadata.version("numpy")
    examined.doctor(imports=True)
    assert {"numpy", "onnx", "onnxruntime"} <= set(imported)


def test_an_extension_that_cannot_be_loaded_is_broken(monkeypatch):
    def fails(kind, name):
        raise SyntaxError("broken")

    monkeypatch.setattr(registry, "load", fails)
    found = examined._extension("runtimes", "odd", set())
    assert (found.status, found.detail) == ("broken", "SyntaxError: broken")


def test_the_text_shows_each_advice_once():
    def missing(name):
        status = InstallationStatus.MISSING
        return InstallationItem(
            kind="package", name=name, version=None, status=status, advice="do it"
        )

    text = as_text((missing("a"), missing("b")), imported=True, verbose=True)
    assert text.count("do it") == 1
    assert text.endswith("  do it\n      for a, b")


def _item(kind, name, status=InstallationStatus.OK, **more):
    return InstallationItem(kind=kind, name=name, version=None, status=status, **more)


def test_the_answer_comes_first_and_the_short_text_names_one_command_a_framework():
    install = "pip install 'isomorph[torch]'"
    found = (
        _item("package", "torch", InstallationStatus.MISSING, advice=install),
        _item("framework", "onnx"),
        _item("framework", "coreml", detail="not run: Core ML needs macOS"),
        _item("framework", "executorch", detail="not run: it is missing", advice="pip install e"),
        _item("framework", "pytorch", InstallationStatus.MISSING, advice=install),
        _item("converter", "a", InstallationStatus.MISSING, advice="pip install a"),
    )
    text = as_text(found)
    assert text.startswith("READY: isomorph reads and runs models of onnx\n")
    assert text.count(install) == 1
    assert "ok       executorch    not run: it is missing: pip install e" in text
    assert "pip install a" not in text
    assert "0 of 1" in text
    assert "-v lists" in text


def test_what_is_broken_leads_with_its_command():
    broken = _item(
        "package", "torch", InstallationStatus.BROKEN, detail="died", advice="reinstall it"
    )
    text = as_text((_item("framework", "onnx"), broken))
    assert text.startswith("BROKEN: installed, and does not work: torch\n")
    assert "died: reinstall it" in text


def test_a_framework_whose_runtime_is_missing_is_read_and_not_run(monkeypatch):
    runtime = registry.framework("onnx").runtime
    missing = _item("runtime", runtime, InstallationStatus.MISSING, detail="needs it", advice="get")
    framework, _ = examined._with_runtimes((_item("framework", "onnx"), missing))
    assert framework.status == "ok"
    assert (framework.detail, framework.advice) == (
        "read and evaluated in float64, not run: needs it",
        "get",
    )


def test_a_worker_starts_and_answers():
    assert examined._worker().status == "ok"


def test_a_worker_that_does_not_start_is_broken(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    found = examined._worker()
    assert found.status == "broken"
    assert "--in-process" in found.advice


def test_a_converter_without_its_package_names_the_command_that_installs_it(monkeypatch):
    converter = registry.converter("onnx_slim")
    monkeypatch.setattr(type(converter), "packages", ("nonesuch_package",))
    found = examined._extension("converters", "onnx_slim", set())
    assert (found.kind, found.status) == ("converter", "missing")
    assert found.advice == converter.install


@pytest.mark.parametrize("why", ["Core ML needs macOS", ""])
def test_a_runtime_that_needs_another_machine_is_missing_here(monkeypatch, why):
    from isomorph.api import doctor
    from isomorph.frameworks.coreml.runtime import CoremlRuntime

    monkeypatch.setattr(CoremlRuntime, "unavailable", lambda self: why)
    found = doctor._extension("runtimes", "coreml", set())
    assert (found.status.value, found.detail) == (("missing", why) if why else ("ok", ""))
    assert found.advice is None
