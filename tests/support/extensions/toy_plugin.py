"""A framework and a runtime that nobody would install: they fail in every way there is.

A model is a text file; the words in it say what loading does. What a run does is the name of
the first tensor fetched. They are found by entry point, as those of any other package are.
"""

import ctypes
import hashlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from isomorph.core import last_node
from isomorph.core.errors import RefusedError, UnreadableModelError
from isomorph.core.lazy import require
from isomorph.core.model import Graph, Model, Node, TensorSpec
from isomorph.core.operator_tables import NO_TABLES
from isomorph.core.trace import Capabilities

GRANDCHILD = "import time; time.sleep(600)"


def hang():
    while True:
        time.sleep(0.05)


def stop():
    os.kill(os.getpid(), signal.SIGSTOP)


def hang_with_the_lock():
    ctypes.PyDLL(None).sleep(600)  # PyDLL keeps the interpreter's lock


def ignore_sigterm():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen([sys.executable, "-c", GRANDCHILD])
    hang()


def print_a_lot():
    line = b"x" * 1023 + b"\n"
    for _ in range(1 << 10):
        os.write(2, line * (1 << 10))
    os.write(2, b"the last line\n")


def grow():
    kept = []
    while True:
        kept.append(np.ones(8 << 20, np.uint8))
        time.sleep(0.002)


def refuse():
    raise RefusedError("UNSAFE_PICKLE", "no", file="m", where="here", why="because", fix="do")


def wrap_bad_alloc():
    raise UnreadableModelError("MODEL_BROKEN", "the runtime failed", why="std::bad_alloc")


def die_of_bad_alloc():
    os.write(2, b"terminate called after throwing an instance of 'std::bad_alloc'\n")
    os.abort()


def die_at_a_node():
    last_node.leave("conv_1")
    last_node.leave("div_\x1b[2J7")
    os.kill(os.getpid(), signal.SIGFPE)


def raise_value_error():
    raise ValueError("the shapes (2, 3) and (4,) do not fit")


def lose_device():
    raise BufferError("an index is beyond its table")


DEEDS = {
    "abort": os.abort,
    "segfault": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "exit": lambda: os._exit(0),
    "sys_exit": lambda: sys.exit(0),
    "hang": hang,
    "stop": stop,
    "hang_with_the_lock": hang_with_the_lock,
    "ignore_sigterm": ignore_sigterm,
    "print_a_lot": print_a_lot,
    "grow": grow,
    "absurd": lambda: np.ones(1 << 42, np.uint8),
    "refuse": refuse,
    "need_package": lambda: require("nonesuch", extra="none", needed_for="the toy plugin"),
    "wrap_bad_alloc": wrap_bad_alloc,
    "die_of_bad_alloc": die_of_bad_alloc,
    "die_at_a_node": die_at_a_node,
    "raise": raise_value_error,
    "lose_device": lose_device,
}


class Framework:
    name, extra, runtime, oracle = "toy_plugin", None, "toy_plugin", "toy_plugin_oracle"
    keeps_metadata = False
    operator_tables = NO_TABLES

    def sniff(self, path, head):
        return head.startswith(b"toy_plugin")

    def claims(self, source):
        return False

    def hand_over(self, source, example, folder):
        raise NotImplementedError

    def load(self, source, options):
        text = Path(source).read_text()
        for word in text.split()[1:]:
            DEEDS[word]()
        x = TensorSpec(name="x", dtype="float32", shape=("batch", 2))
        node = Node(
            name="n",
            op="Identity",
            native_op="toy_plugin::Id",
            inputs=("x",),
            outputs=("y",),
            attributes={"alpha": np.float32(0.5), "t": np.arange(3)},
        )
        graph = Graph(
            name="g", inputs=(x,), outputs=(x,), nodes=(node,), tensors={"x": x}, constants={}
        )
        digest = hashlib.sha256(text.encode()).hexdigest()
        return Model(
            framework=self.name,
            location=str(source),
            digest=digest,
            graph=graph,
            metadata=dict(options),
            native=object(),
        )

    def save(self, model, path):
        raise NotImplementedError


class Runtime:
    name, extra, worker, settings, plain = "toy_plugin", None, "toy_plugin", {}, {}

    def accepts(self, model):
        return model.framework == "toy_plugin"

    def device_lost(self, error):
        return isinstance(error, BufferError)

    def open(self, model, environment):
        assert model.native is not None
        for deed in environment.settings.values():
            DEEDS[deed]()
        return Session(environment)


class Oracle(Runtime):
    name, worker = "toy_plugin_oracle", "toy_plugin_oracle"


class Particular(Runtime):
    """Reads a setting where its process keeps its environment, as TensorFlow does."""

    name, worker, settings = "toy_plugin_particular", "toy_plugin", {"mood": ""}

    def variables(self, settings):
        return {"STRANGER_MOOD": settings["mood"]} if settings.get("mood") else {}

    def open(self, model, environment):
        return Session(environment, mood=os.environ.get("STRANGER_MOOD", ""))


class Session:
    capabilities = Capabilities(fetch="outputs", noise=True)

    def __init__(self, environment, **facts):
        facts["pid"] = str(os.getpid())
        self.environment = replace(environment, version="1.0", facts=facts)

    def run(self, feeds, fetch, *, noise=None):
        first = fetch[0]
        if first in DEEDS:
            DEEDS[first]()
        if first == "noise":
            return {"noise": np.array([noise.seed, int(noise.rounding)])}
        if first == "large":
            return {"large": np.full(1 << 19, 1.5)}
        return {name: feeds[name] for name in fetch if name in feeds}

    def close(self):
        pass
