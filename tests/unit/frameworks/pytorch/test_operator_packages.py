"""The package that defines an operator is known and imported."""

import pytest

from isomorph.frameworks.pytorch import operator_packages
from isomorph.frameworks.pytorch.operator_packages import import_packages, package_of


@pytest.mark.parametrize(
    ("operator", "package"),
    [
        ("torchao.dequantize_affine.default", "torchao"),
        ("export.access_subclass_inner_tensor.default", "torchao"),
        ("aten.linear.default", None),
        ("my_package.my_operator.default", None),
    ],
)
def test_the_package_of_an_operator(operator, package):
    assert package_of(operator) == package


def test_only_what_is_needed_and_installed_is_imported(monkeypatch):
    imported = []
    monkeypatch.setattr(operator_packages, "import_module", imported.append)
    import_packages(["aten.linear.default"])
    assert imported == []
    monkeypatch.setattr(operator_packages, "find_spec", lambda name: None)
    import_packages(["torchao.quantize_affine.default"])
    assert imported == []
    monkeypatch.setattr(operator_packages, "find_spec", lambda name: name)
    import_packages(["torchao.quantize_affine.default", "torchao.dequantize_affine.default"])
    assert imported == ["torchao"]
