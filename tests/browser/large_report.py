"""A report of a large model: long names, branches, a fault in the middle."""

import copy
import math


def enlarged(document, count):
    """The same report with graphs of ``count`` nodes on either side."""
    large = copy.deepcopy(document)
    faulty = count // 2
    sides = [_side("reference", "encoder.layers", count), _side("candidate", "stage7_node", count)]
    sides[1]["counterpart"] = [None if place % 17 == 3 else place for place in range(count)]
    sides[1]["translation"] = [_translation(place, faulty) for place in range(count)]
    sides[1]["local"] = [3.1e-3 if place == faulty else 1.2e-14 for place in range(count)]
    large["profile"]["graphs"] = sides
    large["findings"][0]["node"] = sides[1]["nodes"][faulty]
    large["alignment"]["pairs"] = [
        _pair(*names) for names in zip(sides[0]["tensors"], sides[1]["tensors"], strict=True)
    ]
    return large


def _pair(reference, candidate):
    return {
        "kind": "tensor",
        "reference": [reference],
        "candidate": candidate,
        "transform": "axes permuted by (0, 2, 3, 1)",
        "permutation": [0, 2, 3, 1],
        "shape": [1, 32, 32, 64],
        "evidence": ["value", "structure"],
        "inputs": 2,
        "rivals": 0,
        "confidence": "certain",
    }


def _side(role, word, count):
    return {
        "role": role,
        "nodes": [f"{word}_{place}/{'deeply/nested/' * 3}block" for place in range(count)],
        "ops": [("Conv", "BatchNormalization", "Relu", "Add")[place % 4] for place in range(count)],
        "tensors": [f"{word}_{place}_output_tensor_0" for place in range(count)],
        "sources": [
            [place - 1, *([place - 4] if place % 4 == 3 and place > 4 else [])] if place else []
            for place in range(count)
        ],
        "execution": [1e-7 * (1.5 + math.sin(place / 50)) for place in range(count)],
        "budget": [4e-6 * (1.5 + math.sin(place / 90)) for place in range(count)],
        "counterpart": [None] * count,
        "translation": [None] * count,
        "local": [None] * count,
    }


def _translation(place, faulty):
    if place % 17 == 3:
        return None
    return 1e-14 * (2 + math.cos(place)) if place < faulty else 3e-3 * (1.2 + math.cos(place / 70))
