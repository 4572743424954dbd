"""Reads damaged copies of models and prints what came of each, as JSON: ``damaging.py SEEDS PATH…``

For a process of its own: native readers may crash on damage, and TensorFlow stays for good.
"""

from __future__ import annotations

import copy
import io
import json
import os
import random
import shutil
import sys
import warnings
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

ODD = (None, 0, -1, 1e300, 10**30, "", "x", "\x00", "\ud800", [], {}, [None], {"config": {}}, True)


def spoilt(data: bytes, seed: int) -> bytes:
    """Cut, or with a few bytes changed, lost, doubled or moved; in the first bytes or anywhere."""
    draw = random.Random(seed)
    made, place, count = bytearray(data), draw.randrange(len(data)), draw.randint(1, 32)
    piece = made[place : place + count]
    match seed % 6:
        case 0:
            del made[place:]
        case 1:
            del made[place : place + count]
        case 2:
            made[place:place] = piece
        case 3:
            made[place : place + count] = draw.choice((b"\0", b"\xff")) * len(piece)
        case 4:
            start = draw.randrange(len(data))
            made[start : start + count] = piece
        case _:
            for _ in range(draw.randint(1, 6)):
                reach = draw.choice((len(data), min(len(data), 256)))
                made[draw.randrange(reach)] ^= draw.randrange(1, 256)
    return bytes(made)


def spoilt_json(text: bytes, seed: int) -> bytes:
    """One value missing, misnamed or of another type."""
    draw, tree = random.Random(seed), copy.deepcopy(json.loads(text))
    *way, last = draw.choice([place for place in _places(tree) if place])
    holder = tree
    for step in way:
        holder = holder[step]
    if isinstance(holder, dict) and draw.random() < 0.3:
        holder[f"{last}s"] = holder.pop(last)
    else:
        holder[last] = draw.choice(ODD)
    return json.dumps(tree).encode()


def _places(tree: Any, place: tuple[Any, ...] = ()) -> Any:
    yield place
    if isinstance(tree, (dict, list)):
        for key, child in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from _places(child, (*place, key))


def spoilt_archive(data: bytes, seed: int) -> bytes:
    """A whole archive with one spoilt member: the check sums of the zip hide other damage."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(made, "w") as target:
        for name in source.namelist():
            member = source.read(name)
            if name == "config.json" and seed % 3:
                member = spoilt_json(member, seed)
            elif name.endswith(".h5") and not seed % 3:
                member = spoilt(member[:3000], seed) + member[3000:]
            target.writestr(name, member)
    return made.getvalue()


def damaged(path: Path, seed: int, folder: Path) -> Path:
    """A damaged copy of a file, or of a SavedModel's graph."""
    copied = folder / path.name
    if path.is_dir():
        shutil.copytree(path, copied, dirs_exist_ok=True)
        graph = path / "saved_model.pb"
        (copied / graph.name).write_bytes(spoilt(graph.read_bytes(), seed))
    else:
        archive = path.suffix == ".keras" and seed % 4
        change = spoilt_archive if archive else spoilt
        copied.write_bytes(change(path.read_bytes(), seed))
    return copied


def outcome(path: Path) -> str:
    """``read``, an error's code and exit code, or the exception that is nobody's error."""
    from isomorph import registry
    from isomorph.core.errors import IsomorphError
    from isomorph.store.format_detection import identify, source_kind

    try:
        source_kind(str(path))
        registry.framework(identify(path)).load(str(path), {})
    except IsomorphError as error:
        return f"{error.code} {error.exit_code}"
    except Exception as error:
        return f"BUG {type(error).__name__}: {error}"[:300]
    return "read"


def main(seeds: str, *paths: str) -> None:
    warnings.simplefilter("ignore")
    outcomes: dict[str, list[str]] = {}
    with TemporaryDirectory() as folder:
        for path in map(Path, paths):
            outcomes[path.name] = [
                outcome(damaged(path, seed, Path(folder))) for seed in range(int(seeds))
            ]
    sys.stdout.write(json.dumps(outcomes))


if __name__ == "__main__":
    main(*sys.argv[1:])
