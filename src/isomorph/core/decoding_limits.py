"""Limits and sizes of decoding, each with what happens beyond it; no verdict depends on them."""

from __future__ import annotations

FOLLOWED_CACHE_NODES = 12
"""Nodes that rearrange a cache and are followed to the node that writes new positions. Beyond: the
pair of input and output is not recognized by data flow, and has to be stated."""

PROMPT_TOKENS = 8
"""Tokens of a generated prompt. A prompt of any length can be given."""

GENERATED_POSITIONS = 4
"""Positions of generated caches, for a model that does not run on empty ones."""

TOP_K = 5
"""The largest logits whose tokens are compared beside the largest one; the report shows the share
that agrees, and no verdict depends on it."""

FULL_STEPS = 2
"""Steps that are compared in every respect: the prompt, and the first step on its caches. Beyond:
where rounding explains everything, re-rounded constants are not drawn, so that what is smaller than
rounding is not noted there (with ``--strict`` all steps are), and runs are not repeated to see
whether they are random."""

STEPS_TOGETHER = 16
"""Later steps that are evaluated side by side, with the weights read once. Beyond: in parts."""

STEP_BYTES = 512 << 20
"""Bytes of what the parent process holds of these steps. Beyond: fewer at a time."""
