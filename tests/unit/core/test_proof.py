"""A proof says which shapes it is about."""

from dataclasses import replace

import pytest

from isomorph.core.proof import Assumptions, AxisPlace, AxisProof, Proof

SHAPES = {"x": (7, 4), "y": (7, 5)}


def axis(name, *places, **options):
    listed = tuple(AxisPlace(input=each, axis=at) for each, at in places)
    return AxisProof(name=name, places=listed, size=7, **options)


def proof(*axes):
    return Proof(
        reference="a", candidate="b", outputs=(), nodes=(), chance=0.0, seed=1,
        assumptions=Assumptions(shapes=SHAPES, largest_rounding=0.0), axes=axes,
    )  # fmt: skip


BATCH = axis("n", ("x", 0), ("y", 0), every_size=True)


def test_a_proof_is_about_its_own_shapes():
    assert proof().covers(SHAPES)
    assert not proof().covers({"x": (8, 4), "y": (8, 5)})
    assert not proof(axis("n", ("x", 0), ("y", 0))).covers({"x": (8, 4), "y": (8, 5)})
    assert not proof().covers({"x": (7, 4)})
    assert not proof().covers({"x": (7, 4, 1), "y": (7, 5)})


def test_every_size_is_one_size_of_all_its_axes():
    found = proof(BATCH)
    assert found.covers({"x": (8, 4), "y": (8, 5)})
    assert found.covers({"x": (1, 4), "y": (1, 5)})
    assert not found.covers({"x": (8, 4), "y": (7, 5)})
    assert not found.covers({"x": (8, 4), "y": (8, 6)})
    assert not proof(replace(BATCH, least=2)).covers({"x": (1, 4), "y": (1, 5)})


@pytest.mark.parametrize("alone", [False, True])
def test_axes_that_were_proven_alone_hold_one_at_a_time(alone):
    one, other = (
        axis(name, ("x", at), every_size=True, alone=alone) for at, name in enumerate("nm")
    )
    found = proof(one, other)
    assert found.covers({"x": (9, 4), "y": (7, 5)})
    assert found.covers({"x": (7, 9), "y": (7, 5)})
    assert found.covers({"x": (9, 9), "y": (7, 5)}) is not alone


def test_shapes_have_the_names_of_axes_of_every_size():
    assert proof(BATCH).shape_words == "x [n, 4], y [n, 5]"
    assert proof(replace(BATCH, every_size=False)).shape_words == "x [7, 4], y [7, 5]"
    assert proof(replace(BATCH, alone=True)).shape_words == "x [7, 4], y [7, 5]"
