"""Workers that need not import their framework: copies of a process that has.

A worker of PyTorch spends two seconds on imports, one of TensorFlow four, and most tests need a
fraction of a second of its work. A server for each kind of worker imports once for all tests of a
pytest process; a worker is a copy of it and a child of the pytest process, as a started one is:
`clone` with `CLONE_PARENT`. A forked command (`warm_process`) has a server of its own, which is a
fork as well. A copy does not show what an interpreter does before it serves, so a worker is started
where it is the first of its kind in a run of pytest, in whichever of its processes, or where
anything says that the start matters: a limit of memory, a variable of its own, a framework of a
test, another system than Linux.
"""

import ctypes
import gc
import hashlib
import importlib
import json
import os
import pkgutil
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from pathlib import Path

_COMMON = ("numpy", "onnx", "isomorph.workers.worker")
_ONNX = (
    "onnx.checker", "onnx.shape_inference", "isomorph.frameworks.onnx.framework",
    "isomorph.frameworks.onnx.oracle", "isomorph.frameworks.onnx.evaluator",
    "isomorph.frameworks.onnx.validate", "isomorph.frameworks.onnx.operator_tables",
    "isomorph.frameworks.onnx.ort_session", "isomorph.oracle.session",
)  # fmt: skip
_TORCH = ("torch", "torch.export", "torch._dynamo", "torch.onnx", "onnxscript")
_TENSORFLOW = ("isomorph.frameworks.tensorflow.framework",)
_FRAMEWORKS = ("coreml", "executorch", "jax", "openvino")
PRELOADED = {
    "onnx": _ONNX,
    "onnxruntime": _ONNX,
    "convert-onnx": _ONNX,
    "tflite_oracle": _ONNX,
    "pytorch": _TORCH,
    "convert-pytorch": _TORCH,
    "convert-openvino": _TORCH,
    "tensorflow": _TENSORFLOW,
    "convert-tensorflow": _TENSORFLOW,
    "convert-onnx2tf": _TENSORFLOW,
    "convert-litert": (*_TORCH, *_TENSORFLOW),
} | {
    f"{name}_oracle": (
        f"isomorph.frameworks.{name}.framework", f"isomorph.frameworks.{name}.oracle",
        "isomorph.oracle.session",
    )
    for name in _FRAMEWORKS
}  # fmt: skip
"""What the workers of a kind import. A package that starts a thread cannot be copied."""

# Applied after the copy is made. No package of the servers reads them while it is imported, except
# numbers of threads, which change no result.
_READ_LATER = frozenset({
    "TMPDIR", "PYTEST_CURRENT_TEST", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "DO_NOT_TRACK",
    "HOME", "COLUMNS", "PATH", "PYTHONUTF8", "TF_CPP_MIN_LOG_LEVEL",
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENBLAS_THREAD_TIMEOUT", "OMP_WAIT_POLICY",
})  # fmt: skip
CAN_COPY = sys.platform == "linux" and platform.machine() in {"x86_64", "aarch64"}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE_PARENT, _CLEAR_TID, _SET_TID = 0x8000, 0x200000, 0x1000000
_SET_DEATH_SIGNAL, _GET_TID_ADDRESS = 1, 40
# What a worker of this environment runs; one of another environment runs a script there.
_MODULE = "isomorph.workers.worker"
_FD_WORDS = ("--read", "--write", "--lifeline")


class WarmLauncher:
    """Starts workers as ``subprocess.Popen`` does, by a copy where it can.

    ``started`` is a folder in which the processes of a run note the kinds that were started.
    """

    def __init__(self, usual, usual_memory, started):
        self._usual, self._usual_memory = usual, usual_memory
        self._started = started
        self._servers = {}
        self._lock = threading.Lock()

    def start(self, words, **options):
        """A started process. The first of a kind in the whole run is no copy."""
        kind, early = _kind(words), tuple(sorted(read_early(options["env"]).items()))
        other = _memory(words) != self._usual_memory or _MODULE not in words
        if not CAN_COPY or other or kind not in PRELOADED:
            return self._usual.start(words, **options)
        with self._lock:
            if self._is_first(kind, early):
                return self._usual.start(words, **options)
            key = PRELOADED[kind], early
            if key not in self._servers:
                self._servers[key] = _Server(kind, options["env"], self._usual)
            return self._servers[key].start(words, options)

    def _is_first(self, kind, early):
        """Whether no process of this run has started this kind with these variables before."""
        # Each process of a run has variables that name it.
        known = sorted(each for each in early if not each[0].startswith("PYTEST_"))
        digest = hashlib.sha256(repr(known).encode()).hexdigest()[:16]
        try:
            (self._started / f"{kind}-{digest}").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def close(self):
        """End every server."""
        for server in self._servers.values():
            server.end()


class _Copy(subprocess.Popen):
    """A child that this process did not start itself."""

    def __init__(self, words, pid):
        self.args, self.pid, self.returncode = words, pid, None
        self.stdin = self.stdout = self.stderr = None
        self._waitpid_lock, self._child_created = threading.Lock(), True


class CommandLauncher:
    """Starts the workers of a forked command, which knows what its server has imported.

    Must be made before the command has threads. A kind that is missing is noted in the folder
    ``wanted``, so that the next command has it.
    """

    def __init__(self, usual, usual_memory, loaded, wanted, early):
        self._usual, self._usual_memory = usual, usual_memory
        self._loaded, self._wanted, self._early = frozenset(loaded), wanted, early
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        parent = os.getpid()
        if os.fork() == 0:
            near.close()
            _serve_one(far, parent)
        far.close()
        self._socket = near

    def start(self, words, **options):
        """A started process, or a copy of one."""
        kind = _kind(words)
        if kind in PRELOADED and kind not in self._loaded:
            Path(self._wanted, kind).touch()
        other = _memory(words) != self._usual_memory or _MODULE not in words
        if other or kind not in self._loaded or read_early(options["env"]) != self._early:
            return self._usual.start(words, **options)
        return _asked(self._socket, words, options)


def _kind(words):
    """The kind of a worker, which its folder is named for."""
    return Path(words[words.index("--folder") + 1]).name.rpartition("-")[0]


def _memory(words):
    return int(words[words.index("--memory") + 1])


def read_early(variables):
    return {name: text for name, text in variables.items() if name not in _READ_LATER}


class _Server:
    """The process that has imported what workers of one kind need, and is copied."""

    def __init__(self, kind, variables, launcher):
        near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with far:
            line = [sys.executable, "-P", __file__, str(far.fileno()), kind]
            # A copy has none of the threads of the original. The folder of a worker goes with it.
            kept = {**variables, "OPENBLAS_NUM_THREADS": "1"}
            del kept["TMPDIR"]
            self._process = launcher.start(
                line, pass_fds=[far.fileno()], env=kept, stdin=subprocess.DEVNULL
            )
        self._socket = near

    def start(self, words, options):
        """A copy that serves as a worker with these words."""
        return _asked(self._socket, words, options)

    def end(self):
        """The server ends with its socket."""
        self._socket.close()
        self._process.wait()


def _asked(server, words, options):
    """A copy that the server made."""
    given = [words[words.index(word) + 1] for word in _FD_WORDS]
    request = {
        "words": words[words.index(_MODULE) + 1 :],
        "folder": str(Path.cwd()),
        "variables": dict(options["env"]),
    }
    files = [*map(int, given), options["stdout"]]
    socket.send_fds(server, [json.dumps(request).encode()], files)
    answer = server.recv(64)
    if not answer:
        raise OSError("the server of warm workers has ended")
    return _Copy(words, int(answer))


def preload(kind):
    """Import what workers of this kind import; no copy looks at these objects for unused ones."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in (*_COMMON, *PRELOADED[kind], *_kernels()):
            importlib.import_module(name)
        if set(_TENSORFLOW) <= set(PRELOADED[kind]):
            from isomorph.frameworks.tensorflow.silence_logs import (
                import_quietly,
                import_tensorflow,
            )

            import_tensorflow("tests")
            import_quietly("keras", "tests")
    gc.freeze()


def _kernels():
    """Every module of kernels: an oracle imports them with its first model."""
    from isomorph import kernels

    found = pkgutil.walk_packages(kernels.__path__, f"{kernels.__name__}.")
    return sorted(module.name for module in found)


def _serve_one(channel, parent):
    """Serve a forked command, and end with it."""
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() == parent:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for target in range(3):
            os.dup2(nothing, target)
        _serve(channel)
    os._exit(0)


def _serve(channel):
    """Make a copy for every request until the other end is closed."""
    while True:
        message, files, _, _ = socket.recv_fds(channel, 1 << 20, 4)
        if not message:
            return
        pid = _copied()
        if pid == 0:
            channel.close()
            _become(json.loads(message), *files)
        for each in files:
            os.close(each)
        channel.send(str(pid).encode())


def _copied():
    """As ``os.fork``, but the parent of the copy is the parent of this process.

    The flags are those of the C library's fork, which keeps the number of the thread at an address
    that the system tells.
    """
    if len(list(Path("/proc/self/task").iterdir())) > 1:
        raise OSError("a package has started a thread, so this process cannot be copied")
    system, python = ctypes.PyDLL(None), ctypes.pythonapi
    address = ctypes.c_void_p()
    if system.prctl(_GET_TID_ADDRESS, ctypes.byref(address), 0, 0, 0) != 0:
        raise OSError("the system does not tell where the number of a thread is kept")
    flags = _CLONE_PARENT | _CLEAR_TID | _SET_TID | signal.SIGCHLD
    places = (address, 0) if platform.machine() == "x86_64" else (0, address)
    python.PyOS_BeforeFork()
    pid = system.syscall(_CLONE[platform.machine()], flags, 0, 0, *places)
    if pid == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    if pid < 0:
        raise OSError("no copy of the process could be made")
    return pid


def _become(request, reading, writing, lifeline, log):
    """Be the worker that was asked for, to its end."""
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(source, target)
        os.close(nothing)
        os.close(log)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["variables"])
        tempfile.tempdir = None
        words = request["words"]
        for word, number in zip(_FD_WORDS, (reading, writing, lifeline), strict=True):
            words[words.index(word) + 1] = str(number)
        from isomorph.workers import worker

        worker.main(words)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(1)


if __name__ == "__main__":
    preload(sys.argv[2])
    _serve(socket.socket(fileno=int(sys.argv[1])))
