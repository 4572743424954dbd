import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest

from isomorph.core.errors import (
    MissingDependencyError,
    RefusedError,
    RuntimeFailedError,
    UnreadableModelError,
    UsageError,
)
from isomorph.core.trace import Environment, Noise, RunRequest
from isomorph.sessions.host import Limits
from isomorph.sessions.in_process import InProcessHost
from isomorph.workers import worker_host
from isomorph.workers.worker_host import WorkerHost

pytestmark = pytest.mark.usefixtures("toy_plugin")

X = np.arange(4, dtype=np.float32).reshape(2, 2)


@pytest.fixture
def host(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with WorkerHost(Limits(run_seconds=20.0)) as host:
        yield host


def opened(host, path, runtime="toy_plugin"):
    return host.open(host.load(path, "toy_plugin", {}), Environment(runtime=runtime))


def failure(session, deed):
    with pytest.raises(RuntimeFailedError) as raised:
        session.run({"x": X}, [deed])
    return raised.value


def gone(pid, within=60.0):
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.02)
    return False


def pid_of(session):
    return int(session.environment.facts["pid"])


def test_a_model_and_a_session_cross_as_they_are(host, model_file):
    model = host.load(model_file(), "toy_plugin", {"trust": "yes"})
    assert model.native is None
    assert model.metadata == {"trust": "yes"}
    assert model.graph.inputs[0].shape == ("batch", 2)
    assert model.graph.nodes[0].attributes["alpha"] == np.float32(0.5)
    session = host.open(model, Environment(runtime="toy_plugin"))
    assert session.capabilities.fetch == "outputs"
    assert session.environment.isolation == "process"
    result = session.run({"x": X}, ["x"])
    assert np.array_equal(result["x"], X)
    noisy = session.run({}, ["noise"], noise=Noise(seed=7, rounding=True))
    assert noisy["noise"].tolist() == [7, 1]


def test_many_runs_with_one_message_are_those_of_single_ones(host, model_file):
    session = opened(host, model_file())
    other = {"x": X + 1}
    shared = {"x": X}
    noises = [Noise(seed=seed, rounding=True) for seed in (3, 4)]
    found = session.run_many(
        [
            RunRequest(feeds=shared, fetch=["x"]),
            RunRequest(feeds=other, fetch=["x"]),
            *(RunRequest(feeds=shared, fetch=["noise"], noise=noise) for noise in noises),
        ]
    )
    assert [each["x"].tolist() for each in found[:2]] == [X.tolist(), (X + 1).tolist()]
    assert [each["noise"].tolist() for each in found[2:]] == [[3, 1], [4, 1]]


def test_the_first_failure_of_many_runs_is_raised(host, model_file):
    session = opened(host, model_file())
    with pytest.raises(RuntimeFailedError):
        session.run_many([RunRequest(feeds={"x": X}, fetch=[each]) for each in ("x", "abort")])
    assert np.array_equal(session.run({"x": X}, ["x"])["x"], X), "the next run opens it anew"


def test_what_came_out_outlives_the_worker_and_its_folder(host, model_file):
    result = opened(host, model_file()).run({}, ["large"])
    host.close()
    assert float(result["large"].sum()) == 1.5 * (1 << 19)
    result["large"][0] = 0.0  # private to us, and nobody else's any more


@pytest.fixture
def large(monkeypatch):
    """Every model is too large for its oracle and its runtime to share a worker."""
    monkeypatch.setattr(worker_host.WorkerHost, "shares_worker", lambda self, weights: False)


def test_the_usual_runtime_of_a_small_model_runs_in_the_worker_of_its_oracle(host, model_file):
    model = host.load(model_file(), "toy_plugin", {})
    run, oracle = (host.open(model, Environment(runtime=name)) for name in SIDES)
    assert pid_of(run) == pid_of(oracle)
    assert failure(run, "abort").code == "RUNTIME_CRASHED"
    assert np.array_equal(oracle.run({"x": X}, ["x"])["x"], X)
    assert np.array_equal(run.run({"x": X}, ["x"])["x"], X)


def test_a_model_that_fills_the_memory_of_a_worker_has_one_for_its_runtime():
    with WorkerHost(Limits(memory_bytes=1 << 30)) as host:
        assert host.shares_worker(1 << 24)
        assert not host.shares_worker((1 << 24) + 1)


SIDES = ("toy_plugin", "toy_plugin_oracle")


@pytest.mark.usefixtures("large")
def test_runtimes_share_a_worker_by_their_word_only(host, model_file):
    model = host.load(model_file(), "toy_plugin", {})
    first, second, oracle = (
        host.open(model, Environment(runtime=name))
        for name in ("toy_plugin", "toy_plugin", "toy_plugin_oracle")
    )
    assert pid_of(first) == pid_of(second) != pid_of(oracle)
    assert os.getpid() not in {pid_of(first), pid_of(oracle)}


@pytest.mark.usefixtures("large")
def test_what_a_runtime_reads_from_its_environment_has_a_worker_of_its_own(
    host, model_file, monkeypatch
):
    monkeypatch.delenv("STRANGER_MOOD", raising=False)
    model = host.load(model_file(), "toy_plugin", {})

    def in_mood(mood):
        asked = Environment(
            runtime="toy_plugin_particular", settings={"mood": mood} if mood else {}
        )
        return host.open(model, asked)

    plain = host.open(model, Environment(runtime="toy_plugin"))
    none, good, again, bad = (in_mood(mood) for mood in ("", "good", "good", "bad"))
    moods = [each.environment.facts["mood"] for each in (none, good, again, bad)]
    assert moods == ["", "good", "good", "bad"]
    assert pid_of(plain) == pid_of(none)
    assert pid_of(good) == pid_of(again)
    assert len({pid_of(each) for each in (plain, good, bad)}) == 3
    assert "STRANGER_MOOD" not in os.environ


def test_a_worker_that_is_started_again_has_its_variables_again(host, model_file):
    asked = Environment(runtime="toy_plugin_particular", settings={"mood": "good"})
    session = host.open(host.load(model_file(), "toy_plugin", {}), asked)
    before = pid_of(session)
    failure(session, "abort")
    assert np.array_equal(session.run({"x": X}, ["x"])["x"], X)
    assert pid_of(session) != before
    assert session.environment.facts["mood"] == "good"


@pytest.mark.parametrize(
    ("deed", "reported"),
    [
        ("abort", "SIGABRT"),
        ("segfault", "SIGSEGV"),
        ("exit", "status 0 without an answer"),
    ],
)
def test_a_crash_is_reported_and_the_next_run_works(host, model_file, deed, reported):
    session, other = opened(host, model_file()), opened(host, model_file(), "toy_plugin_oracle")
    before = pid_of(session)
    error = failure(session, deed)
    assert error.code == "RUNTIME_CRASHED"
    assert reported in error.why
    assert "running in runtime 'toy_plugin'" in error.what
    assert gone(before)
    assert np.array_equal(session.run({"x": X}, ["x"])["x"], X)
    assert pid_of(session) != before
    assert np.array_equal(other.run({"x": X}, ["x"])["x"], X)


def test_a_run_after_a_lost_device_has_a_new_process(host, model_file):
    session, wrong = opened(host, model_file()), opened(host, model_file())
    before = pid_of(session)
    assert failure(wrong, "lose_device").code == "RUNTIME_FAILED"
    assert gone(before)
    assert np.array_equal(session.run({"x": X}, ["x"])["x"], X)
    assert pid_of(session) != before


def test_the_node_begun_last_is_named(host, model_file):
    error = failure(opened(host, model_file()), "die_at_a_node")
    assert error.code == "RUNTIME_CRASHED"
    assert "div_" in error.where
    assert "\x1b" not in "".join(error.lines)
    assert "SIGFPE" in error.why
    assert "runpy" not in error.why
    assert "Fatal Python error" in "".join(error.__notes__)


def test_a_crash_while_loading_names_the_file(host, model_file):
    path = model_file("segfault")
    with pytest.raises(RuntimeFailedError) as raised:
        host.load(path, "toy_plugin", {})
    assert raised.value.code == "RUNTIME_CRASHED"
    assert raised.value.file == str(path)


def test_a_run_that_hangs_is_stopped_at_its_deadline(host, model_file):
    session = opened(host, model_file())
    object.__setattr__(host.limits, "run_seconds", 0.5)
    error = failure(session, "hang_with_the_lock")
    assert error.code == "TIMEOUT"
    assert gone(pid_of(session))


def test_a_load_that_hangs_is_a_validation_that_hangs(model_file):
    with WorkerHost(Limits(load_seconds=1.0)) as host, pytest.raises(RuntimeFailedError) as raised:
        host.load(model_file("hang"), "toy_plugin", {})
    assert raised.value.code == "VALIDATION_TIMEOUT"


def test_a_worker_that_gets_no_core_is_stopped_late_and_nothing_is_suspected(host, model_file):
    session = opened(host, model_file())
    object.__setattr__(host.limits, "run_seconds", 0.2)
    error = failure(session, "stop")
    assert error.code == "TIMEOUT"
    assert "the machine was busy" in error.why
    assert "may" not in error.why
    assert gone(pid_of(session))


def test_a_worker_that_ignores_sigterm_is_killed_with_all_it_started(host, model_file):
    session = opened(host, model_file())
    object.__setattr__(host.limits, "run_seconds", 1.0)
    with pytest.raises(RuntimeFailedError):
        session.run({}, ["ignore_sigterm"])
    assert gone(pid_of(session))
    grandchildren = [p for p in psutil.process_iter(["cmdline"]) if _is_grandchild(p)]
    assert all(gone(process.pid) for process in grandchildren)


def _is_grandchild(process):
    return "import time; time.sleep(600)" in (process.info["cmdline"] or [])


def test_a_gigabyte_of_log_blocks_nothing_and_is_not_kept(host, model_file):
    session = opened(host, model_file())
    before = psutil.Process().memory_info().rss
    assert np.array_equal(session.run({"x": X}, ["print_a_lot", "x"])["x"], X)
    assert psutil.Process().memory_info().rss - before < 64 << 20
    error = failure(session, "abort")
    assert "the last line" in "".join(error.__notes__)
    assert len("".join(error.__notes__)) < 80 << 10


def test_one_absurd_allocation_is_refused_without_harm(host, model_file):
    session = opened(host, model_file())
    before = pid_of(session)
    error = failure(session, "absurd")
    assert error.code == "OUT_OF_MEMORY"
    assert "4.00 TiB" in error.why
    session.run({"x": X}, ["x"])
    assert pid_of(session) == before


def test_slow_growth_beyond_the_limit_is_stopped(model_file):
    with WorkerHost(Limits(run_seconds=60.0, memory_bytes=300 << 20)) as host:
        session = opened(host, model_file())
        error = failure(session, "grow")
        assert error.code == "OUT_OF_MEMORY"
        assert str(300 << 20) in error.why
        assert gone(pid_of(session))


@pytest.mark.parametrize("deed", ["wrap_bad_alloc", "die_of_bad_alloc"])
def test_memory_is_recognized_in_a_frameworks_own_words(host, model_file, deed):
    assert failure(opened(host, model_file()), deed).code == "OUT_OF_MEMORY"


def test_our_errors_cross_whole(host, model_file):
    session = opened(host, model_file())
    with pytest.raises(RefusedError) as raised:
        session.run({}, ["refuse"])
    error = raised.value
    reported = (error.code, error.what, error.file, error.where, error.why, error.fix)
    assert reported == ("UNSAFE_PICKLE", "no", "m", "here", "because", "do")
    with pytest.raises(MissingDependencyError, match="nonesuch") as missing:
        session.run({}, ["need_package"])
    assert missing.value.extra == "none"


def test_a_foreign_exception_is_evidence(host, model_file):
    session = opened(host, model_file())
    error = failure(session, "raise")
    assert error.code == "RUNTIME_FAILED"
    assert error.why == "ValueError: the shapes (2, 3) and (4,) do not fit"
    assert "raise_value_error" in "".join(error.__notes__)
    assert failure(session, "sys_exit").why == "SystemExit: 0"
    assert session.run({"x": X}, ["x"])["x"].shape == (2, 2)


def test_a_model_that_changes_under_us_is_noticed(host, model_file):
    path = model_file()
    model = host.load(path, "toy_plugin", {})
    path.write_text("toy_plugin \n")
    with pytest.raises(UnreadableModelError) as raised:
        host.open(model, Environment(runtime="toy_plugin"))
    assert raised.value.code == "MODEL_CHANGED"


def test_live_objects_do_not_cross(host):
    with pytest.raises(UsageError, match="live dict"):
        host.load({}, "toy_plugin", {})


def test_a_runtime_that_does_not_fit_is_refused(host, model_file):
    model = host.load(model_file(), "toy_plugin", {})
    with pytest.raises(UsageError) as raised:
        host.open(model, Environment(runtime="onnx_oracle"))
    assert raised.value.code == "WRONG_RUNTIME"


def test_a_hundred_runs_leave_nothing_behind(host, model_file, tmp_path):
    session = opened(host, model_file())
    session.run({"x": X}, ["large"])
    parent, child = psutil.Process(), psutil.Process(pid_of(session))
    feed = np.zeros(1 << 18)

    def footprint():
        files = sum(len(names) for _, _, names in os.walk(tmp_path))
        return files, parent.num_fds(), child.num_fds()

    before = footprint()
    for _ in range(100):
        session.run({"x": feed}, ["large"])
    assert footprint() == before


def test_closing_leaves_no_process_and_no_file(tmp_path, monkeypatch, model_file):
    empty = tmp_path / "scratch"
    empty.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(empty))
    # Other tests of this process may keep processes that they fork commands from.
    others = set(psutil.Process().children())
    host = WorkerHost()
    host.warm(["toy_plugin", "toy_plugin_oracle"])
    assert set(psutil.Process().children()) > others
    session = opened(host, model_file())
    host.close()
    assert gone(pid_of(session), within=0.0) or not psutil.pid_exists(pid_of(session))
    assert not list(empty.iterdir())
    assert set(psutil.Process().children()) <= others
    host.close()
    with pytest.raises(RuntimeError, match="closed"):
        host.load(model_file(), "toy_plugin", {})


PARENT = """
    import sys
    import numpy as np
    from isomorph.core.trace import Environment
    from isomorph.workers.worker_host import WorkerHost
    host = WorkerHost()
    model = host.load(sys.argv[1], "toy_plugin", {})
    session = host.open(model, Environment(runtime="toy_plugin"))
    print(session.environment.facts["pid"], flush=True)
    session.run({}, [sys.argv[2]])
"""


@pytest.mark.parametrize("deed", ["hang", "hang_with_the_lock"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_workers_die_with_their_parent(model_file, deed, number, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    program = [sys.executable, "-c", textwrap.dedent(PARENT), str(model_file()), deed]
    environ = {**os.environ, "TMPDIR": str(scratch)}
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ,
                          text=True) as parent:  # fmt: skip
        worker = int(parent.stdout.readline())
        time.sleep(0.3)
        parent.send_signal(number)
        parent.communicate(timeout=300)  # the deed itself never ends
    assert gone(worker)
    if number == signal.SIGINT:
        assert not list(scratch.iterdir())


def test_threads_share_a_worker_without_mixing_their_answers(host, model_file):
    session, other = opened(host, model_file()), opened(host, model_file(), "toy_plugin_oracle")

    def echo(number):
        x = np.full(1000, number)
        return all(np.array_equal(s.run({"x": x}, ["x"])["x"], x) for s in (session, other))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(echo, range(40)))


def test_closing_ends_a_run_that_another_thread_waits_for(host, model_file):
    session = opened(host, model_file())
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(session.run, {}, ["hang"])
        time.sleep(0.3)
        host.close()  # the run itself never ends
        with pytest.raises(RuntimeFailedError, match="died while running"):
            waiting.result(timeout=60.0)


def test_a_process_that_cannot_start_is_reported(host, model_file, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    before = psutil.Process().num_fds()
    with pytest.raises(RuntimeFailedError) as raised:
        host.load(model_file(), "toy_plugin", {})
    assert raised.value.code == "WORKER_NOT_STARTED"
    assert psutil.Process().num_fds() == before


def test_a_worker_survives_the_thread_that_started_it(host, model_file):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(host.warm, ["toy_plugin", "toy_plugin_oracle"]).result()
    time.sleep(0.3)
    assert host._slot("toy_plugin").process.alive


FORK = """
    import os, sys
    from isomorph.core.trace import Environment
    from isomorph.workers.worker_host import WorkerHost
    def opened(host):
        model = host.load(sys.argv[1], "toy_plugin", {})
        return host.open(model, Environment(runtime="toy_plugin"))
    host = WorkerHost()
    session = opened(host)
    if (child := os.fork()) == 0:
        with WorkerHost() as own:
            opened(own).run({}, ["large"])
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    session.run({}, ["large"])
    print(session.environment.facts["pid"], host._slot("toy_plugin_oracle").process.pid)
"""


def test_a_forked_copy_has_its_own_workers_and_ends_only_those(model_file):
    program = [sys.executable, "-c", textwrap.dedent(FORK), str(model_file())]
    reported = subprocess.run(program, capture_output=True, text=True, check=True, timeout=300)
    first, now = reported.stdout.split()
    assert first == now, "the original's worker lived through it"
    assert gone(int(first))


def test_nothing_is_imported_from_the_current_folder_without_trust(
    host, model_file, tmp_path, monkeypatch
):
    (tmp_path / "numpy.py").write_text(f"open({str(tmp_path / 'pwned')!r}, 'w')")
    path = model_file()
    monkeypatch.chdir(tmp_path)
    host.load(Path(path.name), "toy_plugin", {})
    assert not (tmp_path / "pwned").exists()


def test_in_process_host_has_the_same_shape(model_file):
    with InProcessHost() as host:
        host.warm(["toy_plugin"])
        session = opened(host, model_file())
        assert pid_of(session) == os.getpid()
        assert session.environment.isolation == "none"
        assert np.array_equal(session.run({"x": X}, ["x"])["x"], X)
        assert failure(session, "raise").code == "RUNTIME_FAILED"
        assert failure(session, "absurd").code == "OUT_OF_MEMORY"
        assert failure(session, "sys_exit").code == "RUNTIME_FAILED"


def test_progress_is_reported(model_file):
    reported = []
    with WorkerHost(progress=lambda phase, detail: reported.append((phase, detail))) as host:
        opened(host, model_file()).run({"x": X}, ["x"])
    assert [phase for phase, _ in reported] == ["load", "open", "run"]
