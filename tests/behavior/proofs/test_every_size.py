"""Exports with a dynamic axis are proven for every size of it, or the report gives the reason."""

import pytest

import isomorph
from isomorph.reporters import proof_text

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.filterwarnings("ignore::Warning"),  # Of torch's exporters.
]


class Attention(torch.nn.Module):
    """A token in front of all others, one block of attention, and a head."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Parameter(torch.randn(1, 1, 16))
        self.qkv, self.out = torch.nn.Linear(16, 48), torch.nn.Linear(16, 16)
        self.norm, self.head = torch.nn.LayerNorm(16), torch.nn.Linear(16, 3)

    def forward(self, x):
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1)
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, t, 3, 4, 4).permute(2, 0, 3, 1, 4)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return self.head(torch.nn.functional.gelu(x)[:, 0])


def convolutions():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(),
        torch.nn.MaxPool2d(2), torch.nn.Conv2d(4, 4, 3, groups=2), torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(), torch.nn.Linear(4, 3), torch.nn.Softmax(-1),
    )  # fmt: skip


class Recurrent(torch.nn.Module):
    """A recurrent layer and its last step."""

    def __init__(self):
        super().__init__()
        self.cells, self.head = torch.nn.LSTM(4, 5, batch_first=True), torch.nn.Linear(5, 2)

    def forward(self, x):
        return self.head(self.cells(x)[0][:, -1])


class Pooling(torch.nn.Module):
    """Weighted and plain means over a sequence."""

    def __init__(self):
        super().__init__()
        self.scores, self.head = torch.nn.Linear(4, 1), torch.nn.Linear(4, 2)

    def forward(self, x):
        weights = torch.softmax(self.scores(torch.tanh(x)), 1)
        return self.head((weights * x).sum(1) + x.mean(1))


NETWORKS = {
    "convolutions": (convolutions, (2, 3, 8, 8), (0,)),
    "attention": (Attention, (2, 5, 16), (0,)),
    "means of any length": (Pooling, (2, 5, 4), (0, 1)),
    "a recurrent layer": (Recurrent, (2, 3, 4), (0,)),
}


def exported(name, folder, *, script=False):
    """An exported program and its ONNX file, with dynamic axes."""
    build, shape, axes = NETWORKS[name]
    torch.manual_seed(0)
    module, example = build().eval(), torch.randn(shape)
    sizes = ({axis: torch.export.Dim(f"axis{axis}") for axis in axes},)
    program = torch.export.export(module, (example,), dynamic_shapes=sizes)
    torch.export.save(program, folder / "model.pt2")
    target = str(folder / "model.onnx")
    if script:
        named = {"x": {axis: f"axis{axis}" for axis in axes}}
        torch.onnx.export(
            module, (example,), target, dynamo=False, input_names=["x"], dynamic_axes=named
        )
    else:
        torch.onnx.export(
            module, (example,), target, dynamo=True, dynamic_shapes=sizes, verbose=False
        )
    return folder / "model.pt2", target


@pytest.mark.parametrize("script", [False, True])
@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_an_export_with_dynamic_axes_is_proven_for_every_size(name, script, tmp_path):
    found = isomorph.prove(*exported(name, tmp_path, script=script), in_process=True)
    assert found.whole, found.outputs
    assert len(found.axes) == len(NETWORKS[name][2])
    assert all(each.every_size for each in found.axes), found.axes
    assert not any(each.alone for each in found.axes)
    text = "\n".join(proof_text.lines(found))
    assert "every size" in text
    assert found.axes[0].name in found.shape_words


def test_an_axis_that_is_not_proven_leaves_the_others(tmp_path, monkeypatch):
    monkeypatch.setitem(NETWORKS, "lengths", (Attention, (2, 5, 16), (0, 1)))
    found = isomorph.prove(*exported("lengths", tmp_path), in_process=True)
    assert found.whole
    batch, length = found.axes
    assert batch.every_size
    assert batch.alone
    assert not length.every_size
    assert length.open is not None


def test_a_file_with_a_fixed_batch_is_proven_for_that_batch(tmp_path):
    program, _ = exported("convolutions", tmp_path)
    torch.manual_seed(0)
    module, target = convolutions().eval(), tmp_path / "fixed.onnx"
    torch.onnx.export(module, (torch.randn(2, 3, 8, 8),), str(target), dynamo=True, verbose=False)
    found = isomorph.prove(program, target, in_process=True)
    assert found.whole
    assert not found.axes[0].every_size
    text = "\n".join(proof_text.lines(found))
    assert "only the size tried, 2: the interface differs: the candidate fixes axis 0" in text
