"""What a release is made of: the workflow, the commands of make, and what the package claims."""

import os
import re
import subprocess
import tomllib

import pytest

from isomorph.version import VERSION


@pytest.fixture(scope="module")
def project(root):
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def workflow(root):
    yaml = pytest.importorskip("yaml")
    text = (root / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    return yaml.safe_load(text)


def test_the_package_claims_only_what_the_tests_are_run_on(project):
    claimed = project["classifiers"]
    systems = [each for each in claimed if each.startswith("Operating System")]
    assert systems == ["Operating System :: POSIX :: Linux"]
    pythons = [each for each in claimed if re.search(r"Python :: 3\.\d", each)]
    assert pythons == ["Programming Language :: Python :: 3.11"]


@pytest.mark.parametrize(("tag", "code"), [(f"v{VERSION}", 0), ("v9.9.9", 1), (VERSION, 1)])
def test_a_tag_of_another_version_is_refused(root, workflow, tag, code):
    steps = [step for step in workflow["jobs"]["build"]["steps"] if "TAG" in step.get("env", {})]
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", steps[0]["run"]],
        cwd=root, env={"PATH": os.environ["PATH"], "TAG": tag}, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == code


def test_only_the_job_that_publishes_may_ask_for_an_identity(workflow):
    jobs = workflow["jobs"]
    assert workflow["permissions"] == {"contents": "read"}
    allowed = {name: job["permissions"] for name, job in jobs.items() if "permissions" in job}
    assert allowed == {"publish": {"id-token": "write"}}
    assert (jobs["use"]["needs"], jobs["publish"]["needs"]) == ("build", "use")
    assert "checkout" not in str(jobs["publish"])
    assert "secrets" not in str(workflow)


def test_no_input_is_part_of_a_script(workflow):
    scripts = [step["run"] for job in workflow["jobs"].values() for step in job["steps"]
               if "run" in step]  # fmt: skip
    assert "make dist" in scripts
    assert not any("${{" in script for script in scripts)


def test_the_wheel_is_used_by_the_script_that_make_runs(root, workflow):
    script = root / ".ci" / "test-wheel"
    assert os.access(script, os.X_OK)
    assert any(".ci/test-wheel" in str(step) for step in workflow["jobs"]["use"]["steps"])
    subprocess.run(["bash", "-n", script], check=True)
    rule = re.search(r"^dist:.*\n(?:\t.*\n)+", (root / "Makefile").read_text(), re.M)[0]
    assert ".ci/test-wheel dist/*.whl" in rule


def test_the_demo_installs_less_than_the_tests(root):
    """`make demo` is what a newcomer runs first: no framework that the demo does not use."""
    # `make test` leaves its own level and flags in the environment.
    outside = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    plan = subprocess.run(
        ["make", "-n", "-W", "pyproject.toml", "demo", "STAMP=.missing"],
        cwd=root, capture_output=True, text=True, check=True, env={**outside, "MFLAGS": ""},
    ).stdout  # fmt: skip
    assert plan.startswith("echo ")
    assert ".demo-venv/bin/isomorph demo --keep demo" in plan
    (install,) = (line for line in plan.splitlines() if " install " in line)
    assert install.endswith("-e '.[torch]'")


def test_the_hook_names_a_command_and_the_models(root):
    yaml = pytest.importorskip("yaml")
    (hook,) = yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert (hook["entry"], hook["language"]) == ("isomorph check", "python")
    assert hook["pass_filenames"] is False
    pattern = re.compile(hook["files"])
    for name in ("a.onnx", "models/b.tflite", "isomorph.toml", "m/saved_model.pb", "x/m.pt2"):
        assert pattern.search(name), name
    for name in ("README.md", "src/model.py", "a.onnx.txt"):
        assert not pattern.search(name), name
