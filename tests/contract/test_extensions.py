"""Every registered extension has the members of its protocol, and its abilities whole."""

from types import SimpleNamespace

import pytest

from isomorph import registry
from isomorph.core import protocols
from isomorph.core.errors import UsageError

EVERY = [(kind, name) for kind in registry.KINDS for name in registry.names(kind)]
ABILITIES = [(kind, each) for kind, several in registry.ABILITIES.items() for each in several]


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_an_extension_has_what_its_protocol_states(kind, name):
    extension = registry.load(kind, name)
    assert not registry.lacking(extension, registry.PROTOCOLS[kind])
    assert extension.name == name


@pytest.mark.parametrize(("kind", "name"), EVERY)
def test_an_ability_is_there_as_a_whole_or_not_at_all(kind, name):
    extension = registry.load(kind, name)
    for ability in registry.ABILITIES.get(kind, ()):
        assert isinstance(extension, ability) == (not registry.lacking(extension, ability))


@pytest.mark.parametrize(("kind", "ability"), ABILITIES)
def test_each_ability_is_that_of_some_extension_and_not_of_all(kind, ability):
    able = [isinstance(registry.load(kind, name), ability) for name in registry.names(kind)]
    assert any(able), "nothing has it"
    # Every framework here has these, and one of another package need not.
    if ability not in {
        protocols.SupportsPatch,
        protocols.SupportsExtract,
        protocols.HasMeanings,
    }:
        assert not all(able), "it belongs to the protocol of the kind"


def _load(monkeypatch, kind, extension):
    point = SimpleNamespace(name="toy", load=lambda: lambda: extension)
    monkeypatch.setattr(registry, "_found", lambda _: {"toy": point})
    return registry.load.__wrapped__(kind, "toy")


def test_a_missing_member_is_named(monkeypatch):
    toy = SimpleNamespace(name="toy", profile=False, render=str)
    with pytest.raises(UsageError, match="the reporter 'toy' lacks 'follows'") as raised:
        _load(monkeypatch, "reporters", toy)
    assert raised.value.code == "EXTENSION_INCOMPLETE"


def test_an_ability_by_half_is_named(monkeypatch):
    members = dict.fromkeys(protocols.members(protocols.Framework))
    whole = SimpleNamespace(**members)
    assert _load(monkeypatch, "frameworks", whole) is whole
    with pytest.raises(UsageError, match="lacks 'apply_in_memory', 'frees_axes', 'keeps_float'"):
        _load(monkeypatch, "frameworks", SimpleNamespace(**members, apply=print))
