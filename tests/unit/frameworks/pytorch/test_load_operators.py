"""Operators of a package that isomorph does not import: how it is named, and what helps."""

import pytest
import torch

from isomorph.core.errors import UnreadableModelError
from isomorph.sessions.in_process import InProcessHost

MODULE = """
import torch

library = torch.library.Library("of_a_user", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
torch.library.register_fake("of_a_user::twice", lambda x: torch.empty_like(x), lib=library)
"""


class Twice(torch.nn.Module):
    def forward(self, x):
        return torch.ops.of_a_user.twice(x) + 1


def test_a_module_that_registers_an_operator_is_imported_by_ops(tmp_path):
    (tmp_path / "operators.py").write_text(MODULE)
    names = {}
    exec(MODULE, names)
    path = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(Twice().eval(), (torch.randn(2, 3),)), path)
    names["library"]._destroy()
    # What was looked up is kept there.
    delattr(torch.ops, "of_a_user")
    host = InProcessHost()
    with pytest.raises(UnreadableModelError, match="of_a_user") as raised:
        host.load(str(path), "pytorch", {})
    assert raised.value.why == "no package that isomorph imports registers it"
    assert raised.value.fix == "import the module that registers it: --ops MODULE --trust"
    model = host.load(str(path), "pytorch", {"ops": str(tmp_path / "operators.py")})
    assert "of_a_user.twice" in {node.native_op.rpartition(".")[0] for node in model.graph.nodes}
