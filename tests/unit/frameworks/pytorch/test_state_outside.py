"""Caches that a decoder writes in place, as inputs and outputs."""

import pytest
import torch
from torch import nn

import isomorph
from isomorph.core.divergence import Verdict
from isomorph.core.errors import UsageError
from isomorph.frameworks.pytorch.silence_logs import quietly
from isomorph.frameworks.pytorch.state_outside import with_state_outside

LENGTH, WIDTH, WORDS = 12, 4, 20


class Static(nn.Module):
    """One layer of attention over a buffer; a counter says where it is written."""

    def __init__(self, *, step=1, scale=0.5, odd=None):
        super().__init__()
        torch.manual_seed(0)
        self.table, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS)
        self.register_buffer("keys", torch.zeros(1, 1, LENGTH, WIDTH))
        self.register_buffer("count", torch.zeros((), dtype=torch.long) if odd is None else odd)
        self.step, self.scale = step, scale

    def forward(self, input_ids, cache_position):
        x = self.table(input_ids)
        place = (cache_position * 0 + self.count).long()
        self.count.add_(self.step)
        self.keys.index_copy_(2, place, x[:, None])
        scores = (x[:, None] @ self.keys.transpose(2, 3)) * self.scale
        later = torch.arange(LENGTH)[None, :] > place[:, None]
        weights = torch.softmax(scores.masked_fill(later, -1e9), dim=-1)
        return self.head((weights @ self.keys)[:, 0] + x)


def program(module):
    example = {"input_ids": torch.tensor([[3]]), "cache_position": torch.tensor([0])}
    with quietly():
        return torch.export.export(module.eval(), (), example, strict=False)


def saved(path, module):
    torch.export.save(program(module), path)
    return path


def test_caches_become_inputs_and_outputs_and_counters_do_not():
    signature = with_state_outside(program(Static())).graph_signature
    assert signature.user_inputs == ("past_keys", "input_ids", "cache_position")
    assert len(signature.user_outputs) == 2


@pytest.mark.parametrize(
    "module",
    [
        Static(step=2),
        Static(odd=torch.zeros(())),
        nn.Sequential(nn.Linear(2, 2)),
    ],
    ids=["a counter of something else", "a state of real numbers", "no state"],
)
def test_other_states_stay_inside(module):
    if isinstance(module, Static):
        exported = program(module)
    else:
        with quietly():
            exported = torch.export.export(module, (torch.ones(1, 2),))
    assert with_state_outside(exported) is None


class Scratch(nn.Module):
    """Writes to memory of its own, beside a buffer that it reads."""

    def __init__(self):
        super().__init__()
        self.register_buffer("shift", torch.ones(3))

    def forward(self, x):
        return torch.zeros(3).add_(1.0) + self.shift + x


def test_a_program_that_writes_to_no_buffer_is_not_rewritten_to_find_out(monkeypatch):
    rewritten = []
    monkeypatch.setattr(
        torch.export.ExportedProgram, "run_decompositions", lambda *_: rewritten.append(1)
    )
    with quietly():
        made = torch.export.export(Scratch(), (torch.ones(3),), strict=False)
    assert any("add_" in str(node.target) for node in made.graph.nodes)
    assert with_state_outside(made) is None
    assert not rewritten


def test_two_decoders_with_caches_inside_are_compared_token_by_token(tmp_path):
    paths = saved(tmp_path / "a.pt2", Static()), saved(tmp_path / "b.pt2", Static())
    report = isomorph.check(*paths, decode=3, in_process=True)
    assert report.verdict is Verdict.EQUIVALENT, report.reason
    assert [pair.input for pair in report.decoding.reference_caches] == ["past_keys"]
    altered = saved(tmp_path / "c.pt2", Static(scale=0.9))
    report = isomorph.check(paths[0], altered, decode=3, in_process=True)
    assert report.verdict is Verdict.DIVERGENT


def test_a_state_that_stays_inside_is_refused(tmp_path):
    path = saved(tmp_path / "a.pt2", Static(step=2))
    with pytest.raises(UsageError) as refused:
        isomorph.check(path, path, decode=3, in_process=True)
    assert refused.value.code == "CACHE_INSIDE"
