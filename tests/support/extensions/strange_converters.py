"""Faulty converters: each fails, or returns a wrong model, in a way of its own.

They take ONNX to ONNX. Most are used only where they are named; two push themselves forward.
"""

import os
import signal
import socket
import sys
import time
from pathlib import Path
from types import MappingProxyType

import onnx
from onnx import numpy_helper

from isomorph.core.conversion import Workaround
from isomorph.core.converter_abilities import ReleaseNeeds, passes_without


class _Strange:
    source, target, suffix = "onnx", "onnx", ".onnx"
    widths = frozenset({""})
    packages, install = ("onnx",), "pip install onnx"
    worker = "strange"
    rank, named = 0, True
    workarounds, loses = (), ("dignity",)

    def convert(self, order):
        sys.stdout.write(f"{self.name} is at work\n")
        onnx.save(self.altered(onnx.load(order.source)), order.target)
        return ("done",)

    def altered(self, model):
        return model


class Correct(_Strange):
    name = "correct"


class Crashes(_Strange):
    name = "crashes"

    def convert(self, order):
        os.write(1, b"the last words\n")
        os.kill(os.getpid(), signal.SIGSEGV)


class Exits(_Strange):
    name = "exits"

    def convert(self, order):
        sys.exit(1)


class Raises(_Strange):
    name = "raises"

    def convert(self, order):
        raise ValueError("no rule for Frobnicate")


class Hangs(_Strange):
    name = "hangs"

    def convert(self, order):
        time.sleep(600)


class WritesNothing(_Strange):
    name = "writes_nothing"

    def convert(self, order):
        return ()


class Garbles(_Strange):
    name = "garbles"

    def convert(self, order):
        Path(order.target).write_bytes(b"\x08\x0a this is not a model")
        return ()


class Downloads(_Strange):
    name = "downloads"

    def convert(self, order):
        try:
            socket.create_connection(("models.example.org", 443), timeout=1)
        except OSError as error:
            sys.stderr.write(f"no luck: {error}\n")
        return super().convert(order)


class NeedsDownload(_Strange):
    name = "needs_download"

    def convert(self, order):
        socket.getaddrinfo("models.example.org", 443)


class Spoils(_Strange):
    name = "spoils"

    def convert(self, order):
        notes = super().convert(order)
        Path(order.source).write_bytes(b"spoilt")
        return notes


class NeedsWorkaround(_Strange):
    name = "needs_workaround"
    workarounds = (
        Workaround(name="medicine", description="with medicine", options={"medicine": "yes"}),
    )

    def convert(self, order):
        if order.options.get("medicine") != "yes":
            raise RuntimeError("it hurts")
        return super().convert(order)


class Unrunnable(NeedsWorkaround):
    """Without its workaround it writes a file that can be read, and that no runtime takes."""

    name = "unrunnable"

    def convert(self, order):
        model = onnx.load(order.source)
        if order.options.get("medicine") != "yes":
            model.graph.node[0].domain = "strange.example"
            model.opset_import.add(domain="strange.example", version=1)
        onnx.save(model, order.target)
        return ()


class Wrong(_Strange):
    """Makes one weight wrong; nothing is wrong with the file."""

    name = "wrong"

    def altered(self, model):
        stored = model.graph.initializer[0]
        array = numpy_helper.to_array(stored).copy()
        array.flat[0] += 1.0
        stored.CopyFrom(numpy_helper.from_array(array, stored.name))
        return model


class PushyFailure(Raises):
    name = "pushy_failure"
    widths, rank, named = frozenset({"float16"}), -9, False


class PushyAndWrong(Wrong):
    name = "pushy_and_wrong"
    widths, rank, named = frozenset({"dynamic"}), -9, False


class Absent(_Strange):
    name = "absent"
    packages, install = ("nonesuch_package",), "pip install nonesuch"


class WrongWithoutWorkaround(Wrong):
    """Wrong without its workaround; one that is for failures alone changes nothing."""

    name = "wrong_without_workaround"
    workarounds = (
        Workaround(name="placebo", description="with a placebo", options={"placebo": "yes"}),
        Workaround(
            name="truth", description="in truth", options={"truth": "yes"}, for_divergent=True
        ),
    )

    def convert(self, order):
        assert "placebo" not in order.options, "it came out, and a placebo is for failures"
        converter = Correct() if order.options.get("truth") else Wrong()
        return converter.convert(order)


class WrongPass(Wrong):
    """Has three passes, of which the second makes one weight wrong."""

    name = "wrong_pass"
    releases = MappingProxyType({"strange": ReleaseNeeds(statement="import onnx")})
    takes_opset = True

    def passes(self):
        return ("cleaning", "scaling", "renaming")

    def conversion_lines(self, options):
        return ("import shutil", "shutil.copyfile(source, target)")

    def convert(self, order):
        if "scaling" in passes_without(order.options):
            return Correct().convert(order)
        return super().convert(order)
