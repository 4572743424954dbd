"""Names and prose tell their content in plain American English; a private language is out."""

import ast
import io
import re
import tokenize

import pytest

# Conversations, people and scenery: none of them tells a reader what a name holds.
IN_PROSE = {
    "told", "said", "twin", "twins", "wishes", "guilt", "guilty", "innocent", "accuse", "accused",
    "accuses", "blame", "blamed", "blames", "heals", "healed", "onlooker", "stranger", "strangers",
    "surgeon", "carver", "hopper", "crumbs", "whereabouts", "liar",
}  # fmt: skip
# Plain English in a sentence, and no name for a thing.
IN_NAMES = IN_PROSE | {
    "mine", "yours", "theirs", "witness", "island", "islands", "shelf", "meeting", "sketch",
    "sketched", "cure", "cures", "cured", "remedy", "dearest",
}  # fmt: skip
BRITISH = re.compile(
    r"(?:quanti|normali|optimi|locali|initiali|seriali|generali|recogni|summari|minimi|maximi"
    r"|organi|vectori|reali|utili|visuali|customi|emphasi|speciali|standardi|regulari|canonicali"
    r"|parameteri|prioriti|lineari|randomi|tokeni|synchroni)s(?:e|ed|es|er|ers|ing|ations?)(?![a-z])"
    r"|(?:colou|behaviou|neighbou|favou|flavou|honou)r|(?<![a-z])(?:cent|met|fib)re[ds]?(?![a-z])"
    r"|analys(?:ed|ing)(?![a-z])|(?<![a-z])(?:modell|labell|cancell|travell)(?:ed|ing)(?![a-z])"
    r"|artefact|catalogue(?![a-z])|(?<![a-z])(?:grey|licence|defence|whilst)(?![a-z])"
)
ANYWHERE = re.compile(rf"(?<![a-z])(?:{'|'.join(sorted(IN_NAMES))})(?![a-z])|{BRITISH.pattern}")
"""Finds every text with such a word, and more; only these are read token by token."""
FOLDERS = ["src", "tests", "benchmarks", "examples", "docs"]


def private_names(text):
    """The names in a Python source that have a private or British word in them."""
    if not ANYWHERE.search(text.lower()):
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            words = set(re.split("_+", token.string.lower()))
            if words & IN_NAMES or BRITISH.search(token.string.lower()):
                yield token.string


def private_prose(text):
    """The private and British words in a text; in ``GUILTY_NODE``, a public code, there is none."""
    words = {word for word in re.findall(r"\w+", text.lower()) if word in IN_PROSE}
    return words | {found[0] for found in BRITISH.finditer(text.lower())}


def prose(source):
    """The comments and docstrings of a Python source, if a private word is anywhere in it."""
    if not ANYWHERE.search(source.lower()):
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    # A string that stands alone documents what is before it.
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)


def _modules(tracked, root, folder):
    """The Python files of a folder; this one states the words that are out."""
    below = [path for path in tracked if path.is_relative_to(root / folder)]
    modules = [path for path in below if path.suffix == ".py" and path.name != "test_vocabulary.py"]
    assert modules, "the gate saw nothing"
    return modules


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_name_is_of_a_private_language(tracked, root, folder):
    found = {
        str(path.relative_to(root)): names
        for path in _modules(tracked, root, folder)
        if (names := sorted(set(private_names(path.read_text(encoding="utf-8")))))
    }
    assert not found


@pytest.mark.parametrize("folder", FOLDERS)
def test_comments_and_docstrings_are_plain(tracked, root, folder):
    found = {
        str(path.relative_to(root)): words
        for path in _modules(tracked, root, folder)
        if (words := private_prose("\n".join(prose(path.read_text(encoding="utf-8")))))
    }
    assert not found


def messages(source):
    """The sentences in a Python source; a single word may be a key of an older format."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.value


def test_messages_are_plain(tracked, root):
    """In tests a string may hold such a word, to see what becomes of it."""
    found = {
        str(path.relative_to(root)): words
        for path in _modules(tracked, root, "src")
        if (words := private_prose("\n".join(messages(path.read_text(encoding="utf-8")))))
    }
    assert not found


def test_the_page_and_the_scripts_are_plain(tracked, root):
    """What is not Python: TypeScript, styles, data with sentences, and what builds the project."""
    kinds = {".ts", ".css", ".html", ".json", ".toml", ".txt", ".yml", ""}
    bundled = root / "src" / "isomorph" / "web" / "page.html"  # built from what is read here
    written = root / "tests" / "unit" / "store" / "earlier_reports"  # with the names of then
    read = [
        path
        for path in tracked
        if path.suffix in kinds and path != bundled and not path.is_relative_to(written)
    ]
    assert root / "web" / "src" / "main.ts" in read
    found = {
        str(path.relative_to(root)): words
        for path in read
        if (words := private_prose(path.read_text(encoding="utf-8")))
    }
    assert not found


def test_pages_are_plain(tracked, root):
    pages = [path for path in tracked if path.suffix == ".md" and path.name != "CHANGELOG.md"]
    assert {root / "README.md", root / "docs" / "README.md"} <= set(pages)
    found = {
        str(path.relative_to(root)): words
        for path in pages
        if (words := private_prose(path.read_text(encoding="utf-8")))
    }
    assert not found, "the changelog alone may quote an old word"


@pytest.mark.parametrize("name", ["told", "_mine", "quantised_width", "Optimisation"])
def test_the_gate_sees_such_a_name(name):
    assert list(private_names(f"{name} = 1\n")) == [name]
    assert not list(private_names("message = 'told'\n"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# The guilty node.\n", {"guilty"}),
        ('"""Its behaviour."""\n', {"behaviour"}),
        ("x = 1\n'''Who is to blame.'''\n", {"blame"}),
        ("x = 'the guilty node'\n", set()),
        ("# GUILTY_NODE is a code; realism, comparison and parameter are words.\n", set()),
    ],
)
def test_the_gate_reads_comments_and_docstrings(text, words):
    assert private_prose("\n".join(prose(text))) == words


def test_the_gate_reads_messages():
    assert private_prose("\n".join(messages("raise E(f'it was told {x}')"))) == {"told"}
