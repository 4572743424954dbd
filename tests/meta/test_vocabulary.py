"""Names in the source and in its tests tell their content; a private language is out."""

import io
import re
import tokenize

import pytest

# Conversations, people and scenery: none of them tells a reader what a name holds.
PRIVATE = {
    "told", "mine", "yours", "theirs", "twin", "twins", "wishes", "guilt", "heals", "healed",
    "onlooker", "witness", "stranger", "strangers", "surgeon", "carver", "island", "islands",
    "shelf", "hopper", "crumbs", "meeting", "whereabouts", "guilty", "innocent", "said", "liar",
}  # fmt: skip
BRITISH = re.compile(
    r"(?:quanti|normali|optimi|locali|initiali|seriali|generali)s(?:e|ed|ing|ation)"
)


def private_names(text):
    """The names in a Python source that have a private or British word in them."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            words = set(re.split("_+", token.string.lower()))
            if words & PRIVATE or BRITISH.search(token.string.lower()):
                yield token.string


@pytest.mark.parametrize("folder", ["src", "tests"])
def test_no_name_is_of_a_private_language(tracked, root, folder):
    below = [path for path in tracked if path.is_relative_to(root / folder)]
    modules = [path for path in below if path.suffix == ".py"]
    assert modules, "the gate saw nothing"
    found = {
        str(path.relative_to(root)): names
        for path in modules
        if (names := sorted(set(private_names(path.read_text(encoding="utf-8")))))
    }
    assert not found


@pytest.mark.parametrize("name", ["told", "_mine", "quantised_width", "Optimisation"])
def test_the_gate_sees_such_a_name(name):
    assert list(private_names(f"{name} = 1\n")) == [name]
    assert not list(private_names("message = 'told'\n"))
