"""Equality of two networks for every input, in real arithmetic.

A framework spells its operators in a few primitives (``spelling``); equal spellings are one term
(``terms``), and terms that differ are compared by their values in two random prime fields
(``field``). ``prover`` joins the two graphs; ``docs/proofs.md`` says what a proof means.
"""
