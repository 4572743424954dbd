"""The random numbers of a place: the same in every run and version, others at every place."""

import hashlib

import numpy as np

from isomorph.oracle.noise import generator


def test_the_numbers_follow_from_the_seed_and_the_site():
    for seed, site in ((0, "here"), (0, ("m", 3)), (1, "here")):
        mark = hashlib.blake2b(repr((seed, site)).encode(), digest_size=16).digest()
        expected = np.random.default_rng(int.from_bytes(mark, "little"))
        drawn = generator(seed, site).bit_generator.random_raw(8)
        np.testing.assert_array_equal(drawn, expected.bit_generator.random_raw(8))
