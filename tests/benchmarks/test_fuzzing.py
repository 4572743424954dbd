"""Damaged files for every reader that needs no framework; `make fuzz` gives them thousands."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.fuzzing.mutations import changed
from benchmarks.fuzzing.readers import READERS

ROOT = Path(__file__).parents[2]

# A reader that misbehaves, by the bytes that it reads.
MISBEHAVING = """
import os, sys, tempfile, signal
from pathlib import Path
from benchmarks.fuzzing import child
from benchmarks.fuzzing.readers import Reader
from isomorph.core.errors import UsageError

def read(path):
    match path.read_bytes():
        case b"fine": return
        case b"refused": raise UsageError("BAD", "no")
        case b"foreign": raise KeyError("x")
        case b"reads": (path.parent.parent / "canary").read_bytes()
        case b"writes": (path.parent.parent / "made").write_bytes(b"")
        case b"starts": os.system("true")
        case b"memory": bytearray(1 << 40)
        case b"slow":
            while True: pass
        case b"message": raise UsageError("BAD\\ud800", "no")

child.CPU_SECONDS = 0.1
signal.signal(signal.SIGPROF, child._too_slow)
folder = Path(tempfile.mkdtemp(dir=sys.argv[1]))
tempfile.tempdir = str(folder / "tmp")
(folder / "canary").write_text("")
trial = child.Trial(Reader((), read), folder)
for word in sys.argv[2:]:
    failure = trial({"a": word.encode()})
    print(word, "|", failure and failure["what"][:30])
"""


def run(*words):
    done = subprocess.run(
        [sys.executable, *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_every_reader_answers_damaged_files():
    found = [
        json.loads(line) for line in run("-m", "benchmarks.fuzzing.child", "all", "--runs", "15")
    ]
    assert not [each["failure"] for each in found if "failure" in each]
    ended = [each for each in found if "done" in each]
    assert len(ended) >= 14
    assert {each["done"] for each in ended} == {15}
    # Some are refused and some are read, or the damage would show nothing.
    words = {word for each in ended for word in each["outcomes"]}
    assert {
        "read",
        "MODEL_TRUNCATED",
        "CONFIG_INVALID",
        "TRACE_DAMAGED",
        "REPORT_UNREADABLE",
    } <= words


def test_what_a_reader_must_not_do_is_a_failure(tmp_path):
    words = ("fine", "refused", "foreign", "reads", "writes", "starts", "memory", "slow", "message")
    found = dict(line.split(" | ") for line in run("-c", MISBEHAVING, tmp_path, *words))
    assert (found.pop("fine"), found.pop("refused")) == ("None", "None")
    starts = {word: what.split(":")[0].split(" ")[0] for word, what in found.items()}
    assert starts == {
        "foreign": "KeyError",
        "reads": "outside",
        "writes": "outside",
        "starts": "outside",
        "memory": "memory",
        "slow": "slow",
        "message": "message",
    }


@pytest.mark.parametrize("name", READERS)
def test_changes_follow_from_the_seed_alone(name):
    seeds = [specimen for _, specimen in READERS[name].specimens()]
    made = [
        [
            changed(seeds[number % len(seeds)], seeds[0], random.Random(number))
            for number in range(20)
        ]
        for _ in range(2)
    ]
    assert made[0] == made[1]
    others = [one != seeds[number % len(seeds)] for number, one in enumerate(made[0])]
    assert sum(others) >= 15
