"""Forms of TensorFlow operators: each is offered arguments and words until it takes some.

Some end the process when they are offered the wrong ones, so the search runs in one of its own, as
`python of_tensorflow.py FILE OPERATOR …`, and goes on behind the operator that it died of.
"""

from __future__ import annotations

import itertools
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from inspect import signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from networks.operators.form import Form, defined, usable

TRIES = 300
"""Combinations of arguments for one form."""

_RANDOM = np.random.default_rng(0)


def _floats(*shape: int) -> Any:
    return _RANDOM.uniform(0.1, 2.0, shape).astype(np.float32)


FLOATS = (_floats(1, 6, 6, 3), _floats(3, 4), _floats(4), _floats(2, 5, 4), _floats(1, 4, 5, 6, 2),
          _floats(4, 3), _floats(3, 3, 3, 2), _floats(3), np.float32(1.5))  # fmt: skip
INTEGERS = (np.int32(1), np.int32([1]), np.int32([4, 5]), np.int32([[1, 1], [0, 2]]), np.int32(0),
            np.int32([0, 0, 0, 0]), np.int32([0, 2, 1]), np.int32([[0, 0], [1, 1], [1, 1], [0, 0]]),
            np.int32([1, 2, 2, 1]))  # fmt: skip
LISTS = ([1, 2, 2, 1], [1, 1, 1, 1], [1, 2, 2, 2, 1])


def forms(operators: Sequence[str]) -> Iterator[Form]:
    """Of these operators; those of one argument first."""
    left = list(operators)
    with TemporaryDirectory(prefix="isomorph-operators-") as folder:
        while left:
            found = Path(folder, "found")
            command = [sys.executable, "-W", "ignore", __file__, str(found), *left]
            path = {"PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}
            subprocess.run(command, check=False, capture_output=True, env={**os.environ, **path})
            for met in _pickled(found):
                if isinstance(met, str):
                    left = left[left.index(met) :]
                else:
                    yield met
            left = left[1:]


def _pickled(file: Path) -> Iterator[Form | str]:
    with file.open("rb") as stream:
        while True:
            try:
                yield pickle.load(stream)
            except EOFError:
                return


def main() -> None:
    with Path(sys.argv[1]).open("wb") as stream:
        for name in sys.argv[2:]:
            pickle.dump(name, stream)
            stream.flush()
            for form in _forms(name):
                pickle.dump(form, stream)
                stream.flush()


def _forms(name: str) -> Iterator[Form]:
    known = op_def_registry.get(name)
    if known is None or known.is_stateful or known.deprecation.version:
        return
    if not known.input_arg or not known.output_arg or not hasattr(tf.raw_ops, name):
        return
    if len(known.input_arg) == 1 and not known.input_arg[0].number_attr:
        word = known.input_arg[0].name
        x = defined(lambda x: _called(name, x, (word, {}, {})).numpy())
        if x is not None:
            yield Form(op=name, given=x, native=(word, {}, {}))
    yield from _searched(name, known)


def write(path: Path, chosen: Mapping[str, Form]) -> dict[str, Any]:
    """One SavedModel of these forms side by side; its arguments by name."""
    tf.saved_model.save(tf.Module(), str(path), signatures=_traced(chosen))
    return _arrays(chosen)


def _arrays(chosen: Mapping[str, Form]) -> dict[str, Any]:
    return {f"x{place:04}": form.given for place, form in enumerate(chosen.values())}


def _traced(chosen: Mapping[str, Form]) -> Any:
    """Their function; a graph is stricter about shapes than a call."""
    specs = [tf.TensorSpec(a.shape, a.dtype, name=name) for name, a in _arrays(chosen).items()]

    def side(*given: Any) -> dict[str, Any]:
        # Outputs of a SavedModel are sorted by name.
        return {
            f"y{place:04}": _called(form.op, x, form.native)
            for place, (form, x) in enumerate(zip(chosen.values(), given, strict=True))
        }

    return tf.function(side, input_signature=specs, autograph=False).get_concrete_function()


def _called(op: str, x: Any, native: Any) -> Any:
    word, stored, attributes = native
    function = getattr(tf.raw_ops, op)
    result = function(**_renamed(function, op, {word: x, **stored, **attributes}))
    return result[0] if isinstance(result, (tuple, list)) else result


def _renamed(function: Any, op: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Under the names of the Python function, which calls some arguments otherwise."""
    known = op_def_registry.get(op)
    parameters = [name for name in signature(function).parameters if name != "name"]
    declared = [each.name for each in (*known.input_arg, *known.attr)]
    undeclared = [name for name in parameters if name not in declared]
    other = dict(zip([name for name in given if name not in parameters], undeclared, strict=False))
    return {other.get(name, name): value for name, value in given.items()}


def _searched(name: str, known: Any) -> Iterator[Form]:
    """The first arguments that it takes, for every choice of its words and flags."""
    if any(each.number_attr or each.type_list_attr for each in known.input_arg):
        return
    fixed, choices = _attributes(known)
    if fixed is None:
        return
    arguments = sorted(known.input_arg, key=lambda each: _offers(each, known) is not FLOATS)
    offers = _combined([_offers(each, known) for each in arguments])
    for words in itertools.islice(itertools.product(*choices.values()), 16):
        attributes = {**fixed, **dict(zip(choices, words, strict=True))}
        form = _taken(name, [each.name for each in arguments], offers, attributes)
        if form is not None:
            yield form


def _combined(offers: Sequence[Sequence[Any]]) -> list[Any]:
    """What is stored has one shape more often than many: scale, offset, mean and variance."""
    every = itertools.islice(itertools.product(*offers), 60_000)
    return sorted(every, key=lambda each: len({np.shape(array) for array in each[1:]}))[:TRIES]


def _attributes(known: Any) -> tuple[dict[str, Any] | None, dict[str, list[Any]]]:
    """Attributes that have to be stated, and the choices among words and flags."""
    typed = {each.type_attr for each in (*known.input_arg, *known.output_arg)}
    fixed: dict[str, Any] = {}
    choices: dict[str, list[Any]] = {}
    for each in known.attr:
        if each.name in typed or each.name.startswith("_"):
            continue
        if each.type == "bool":
            choices[each.name] = [False, True]
        elif each.type == "string" and each.allowed_values.list.s:
            choices[each.name] = [word.decode() for word in each.allowed_values.list.s]
        elif each.type == "list(int)" and not each.HasField("default_value"):
            choices[each.name] = list(LISTS)
        elif each.type in {"int", "float"} and not each.HasField("default_value"):
            fixed[each.name] = 2 if each.type == "int" else 0.5
        elif not each.HasField("default_value"):
            return None, {}
    return fixed, choices


def _taken(
    name: str, names: Sequence[str], offers: Sequence[Any], attributes: dict[str, Any]
) -> Form | None:
    for given, *stored in offers:
        native = (names[0], dict(zip(names[1:], stored, strict=True)), attributes)
        form = Form(op=name, given=np.asarray(given), native=native)
        try:
            result = _called(name, given, native).numpy()
            _traced({name: form})
        except Exception:
            continue
        if usable(form.given, np.asarray(result)):
            return form
    return None


def _offers(argument: Any, known: Any) -> Sequence[Any]:
    """Arrays of a type that this argument may have."""
    kinds = [argument.type] if argument.type else _allowed(argument.type_attr, known)
    if not kinds or tf.float32.as_datatype_enum in kinds:
        return FLOATS
    if tf.int32.as_datatype_enum in kinds:
        return INTEGERS
    return [np.array([True, False, True])] if tf.bool.as_datatype_enum in kinds else []


def _allowed(attribute: str, known: Any) -> Sequence[Any]:
    found = next(each for each in known.attr if each.name == attribute)
    return found.allowed_values.list.type


if __name__ == "__main__":
    main()
