"""Processes of their own that need not import anything: forks of one that has.

A command of isomorph spends more time on its imports than on a small model, an example on those of
PyTorch or TensorFlow. A server imports them once for all tests of a pytest process and does nothing
else; each command is a fork of it, with its own exit code, streams, folder and variables. A fork
does not show what an interpreter does before it runs the command: tests of that start a real one.
Workers of a command are copies as well (`warm_workers`).
"""

import atexit
import contextlib
import functools
import json
import os
import re
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

COMMAND = (
    "isomorph.cli.app", "isomorph.cli.check", "isomorph.api",
    "isomorph.checking.check", "isomorph.checking.dispatch", "isomorph.checking.loader",
    "isomorph.reporters.json", "isomorph.reporters.terminal", "isomorph.workers.worker_host",
    "isomorph.checking.baseline", "isomorph.checking.config", "isomorph.checking.interrupt",
    "isomorph.cli.command_cost", "isomorph.cli.contradiction", "isomorph.cli.output",
    "isomorph.cli.progress", "isomorph.localize.quantization_faults",
    "isomorph.localize.unrounded_weights", "isomorph.store.targets",
    "isomorph.frameworks.onnx.runtime", "isomorph.frameworks.onnx.oracle",
    *(
        f"isomorph.frameworks.{name}.framework"
        for name in ("coreml", "executorch", "jax", "onnx", "openvino", "pytorch", "tensorflow",
                     "tflite")
    ),
)  # fmt: skip
"""What the main process of a check imports."""

_ONNX = (*COMMAND, "onnx", "onnxruntime")
_TORCH = ("torch", "torch.export", "torch._dynamo")
_PACKAGES = {
    "tensorflow": (*_ONNX, "tensorflow", "keras"),
    "torch": (*_ONNX, *_TORCH),
    "": _ONNX,
}
WITHOUT_ISOMORPH = {
    "coremltools": ("coremltools", "torch"),
    "executorch": (*_TORCH, "executorch.exir", "executorch.runtime"),
    "torch": (*_TORCH, "torch.onnx"),
}
"""The same of programs that show something without isomorph, which is not imported for them."""


def imported_by(text):
    """The packages that take long to import, for a program of this text."""
    if "isomorph" not in text:
        for name, packages in WITHOUT_ISOMORPH.items():
            if re.search(rf"^(import|from) {name}\b", text, re.MULTILINE):
                return packages
    return next(_PACKAGES[name] for name in _PACKAGES if f"import {name}" in text)


class Warm:
    """A fork that runs ``words``, with the methods of ``subprocess.Popen`` that tests use."""

    def __init__(self, words, *, cwd, stdout, stderr, env=None, preload=COMMAND):
        request = {
            "words": list(map(os.fsdecode, words)),
            "cwd": str(cwd),
            "env": dict(os.environ if env is None else env),
        }
        reading, writing = os.pipe()
        try:
            _server(preload).ask(request, [stdout.fileno(), stderr.fileno(), writing])
        finally:
            os.close(writing)
        self._status = os.fdopen(reading, "rb", buffering=0)
        self.pid = int(self._status.readline())
        self.returncode = None

    def poll(self):
        """The exit code, or None while it runs."""
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self):
        """The exit code, minus the signal's number where one ended it."""
        if self.returncode is None:
            self.returncode = int(self._status.readline())
            self._status.close()
        return self.returncode

    def kill(self):
        """End it at once."""
        os.kill(self.pid, signal.SIGKILL)


class _Server:
    """The process that has imported ``modules`` and is forked."""

    def __init__(self, modules):
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._wanted = tempfile.TemporaryDirectory(prefix="wanted-")
        line = [sys.executable, "-P", __file__, str(far.fileno()), self._wanted.name, *modules]
        variables = {**os.environ, "PYTHONUTF8": "1"}
        self._process = subprocess.Popen(
            line, pass_fds=[far.fileno()], env=variables, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        far.close()
        self._socket = near
        atexit.register(self.end)

    def ask(self, request, files):
        """Fork for this request."""
        socket.send_fds(self._socket, [json.dumps(request).encode()], files)

    def end(self):
        """The server ends with its socket."""
        self._socket.close()
        self._process.wait()
        self._wanted.cleanup()


@functools.cache
def _server(modules):
    return _Server(modules)


def isomorph(folder, *words, fresh=False, **variables):
    """The result of a command, from a fork or (``fresh``) from an interpreter of its own."""
    line, env = [sys.executable, "-m", "isomorph", *words], {**os.environ, **variables}
    if fresh:
        return subprocess.run(
            line, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False
        )
    return ran(line, folder, env=env)


def ran(words, folder, *, env=None, preload=COMMAND):
    """The result of ``python -m MODULE …`` or ``python SCRIPT …`` in a fork."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        code = Warm(words, cwd=folder, stdout=out, stderr=err, env=env, preload=preload).wait()
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode())
    return subprocess.CompletedProcess(words, code, *texts)


def _serve(number, wanted, modules):
    """Import, then fork for every request until the other end is closed.

    Kinds of workers that earlier commands wanted are imported before the fork.
    """
    import gc
    import importlib
    import warnings

    from warm_workers import preload, read_early

    early, loaded = read_early(os.environ), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in modules:
            importlib.import_module(name)
    gc.freeze()  # A fork would look at these objects for unused ones.
    channel = socket.socket(fileno=number)
    while True:
        message, files, _, _ = socket.recv_fds(channel, 1 << 20, 3)
        if not message:
            return
        for kind in sorted({each.name for each in Path(wanted).iterdir()} - set(loaded)):
            preload(kind)
            loaded.append(kind)
        if os.fork() == 0:
            channel.close()
            _stand_by(json.loads(message) | {"state": [loaded, wanted, early]}, *files)
        for each in files:
            os.close(each)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:  # what has ended by now
                pass


def _stand_by(request, out, err, status):
    """Fork the command, wait for it and report how it ended."""
    pid = os.fork()
    if pid == 0:
        os.close(status)
        _become(request, out, err)
    os.write(status, b"%d\n" % pid)
    _, code = os.waitpid(pid, 0)
    os.write(status, b"%d\n" % os.waitstatus_to_exitcode(code))
    os._exit(0)


def _become(request, out, err):
    """Be the process that was asked for, to its end."""
    for source, target in ((out, 1), (err, 2)):
        os.dup2(source, target)
        os.close(source)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    code = 1
    try:
        _warm_workers(*request["state"])
        code = _run(request["words"][1:])
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code & 0xFF)


def _warm_workers(loaded, wanted, early):
    """Let the workers of this process be copies."""
    from warm_workers import CAN_COPY, CommandLauncher

    if CAN_COPY and "isomorph.workers.supervisor" in sys.modules:
        from isomorph.core.system_memory import default_worker_memory
        from isomorph.workers import supervisor

        supervisor._launcher = CommandLauncher(
            supervisor._launcher, default_worker_memory(), loaded, wanted, early
        )


def _run(words):
    """What ``python`` does with these words."""
    if words[0] == "-m":
        sys.path.insert(0, str(Path.cwd()))
        sys.argv = [words[1], *words[2:]]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(words[0]).parent))
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
    _serve(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
