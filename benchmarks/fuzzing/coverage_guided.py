"""The same inputs chosen by coverage: atheris keeps those that reach new code of isomorph."""

from __future__ import annotations

import argparse
import json
import os
import random
import struct
import sys
import time
from pathlib import Path

import atheris

from .child import Trial, _limit_memory, finish, progress, report
from .mutations import MOST_BYTES, Specimen, changed
from .readers import READERS

FROM_SEEDS = 0.5
"""The share of inputs that are an intact file with a few changes; others get nowhere."""


def packed(specimen: Specimen) -> bytes:
    """A specimen as one string of bytes, as the corpus keeps it."""
    names = sorted(specimen)
    head = json.dumps([[name, len(specimen[name])] for name in names]).encode()
    return struct.pack("<I", len(head)) + head + b"".join(specimen[name] for name in names)


def unpacked(data: bytes) -> Specimen | None:
    """The specimen; None where the bytes are none."""
    try:
        (size,) = struct.unpack_from("<I", data)
        made, at = {}, 4 + size
        for name, length in json.loads(data[4 : 4 + size]):
            made[name] = data[at : at + length]
            at += length
    except (struct.error, ValueError, TypeError):
        return None
    return made or None


def run_guided(given: argparse.Namespace, folder: Path) -> None:
    """Fuzz one reader until its runs or its time are over; the process then ends."""
    corpus = folder / "corpus"
    corpus.mkdir()
    with atheris.instrument_imports(include=["isomorph"]):
        trial = Trial(READERS[given.reader], folder)
        seeds = [each for _, each in trial.reader.specimens()]
        for number, each in enumerate(seeds):
            trial(each)  # imports what it needs, with its branches counted
            (corpus / f"seed{number}").write_bytes(packed(each))
    _limit_memory()
    count, ends = 0, time.monotonic() + given.seconds

    def one(data: bytes) -> None:
        nonlocal count
        specimen = unpacked(data)
        if specimen is None:
            return
        failure = trial(specimen)
        if failure is not None:
            report(failure, specimen, given.out, count)
        count += 1
        progress(count)
        if count >= given.runs or time.monotonic() > ends:
            _end(trial, count)

    def change(data: bytes, most: int, seed: int) -> bytes:
        specimen, draw = unpacked(data), random.Random(seed)
        if specimen is None or draw.random() < FROM_SEEDS:
            specimen = draw.choice(seeds)
        return packed(changed(specimen, draw.choice(seeds), draw))[:most]

    def cross(one: bytes, other: bytes, most: int, seed: int) -> bytes:
        first, second, draw = (
            unpacked(one) or seeds[0],
            unpacked(other) or seeds[0],
            random.Random(seed),
        )
        return packed(changed(first, second, draw))[:most]

    options = [
        sys.argv[0],
        str(corpus),
        f"-seed={given.seed + given.first}",
        f"-max_len={2 * MOST_BYTES}",
        "-rss_limit_mb=0",
        "-timeout=600",
        "-len_control=0",
        "-verbosity=0",
        f"-artifact_prefix={folder}/",
    ]
    atheris.Setup(options, one, custom_mutator=change, custom_crossover=cross)
    atheris.Fuzz()


def _end(trial: Trial, count: int) -> None:
    """libFuzzer has no end by a count of this process's own."""
    finish(trial, count)
    sys.stdout.flush()
    os._exit(0)
