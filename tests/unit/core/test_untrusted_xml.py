"""XML without entities and document types, bounded in depth, written as it was read."""

import pytest

from isomorph.core.errors import UnreadableModelError
from isomorph.core.untrusted_xml import MAX_DEPTH, TEXT, parse, written

BOMB = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "cc"><!ENTITY c "&b;&b;">]><a>&c;</a>'
FILE = b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>'


def refused(data):
    with pytest.raises(UnreadableModelError) as caught:
        parse(data, file="m.xml")
    return caught.value


@pytest.mark.parametrize("data", [BOMB, FILE, b"<!DOCTYPE a><a/>"])
def test_entities_and_document_types_are_refused(data):
    assert refused(data).code == "UNSUPPORTED_FORMAT"


@pytest.mark.parametrize("data", [b"<a><b>", b"", b"<a", b"<a><![CDATA["])
def test_a_file_that_ends_early(data):
    assert refused(data).code == "MODEL_TRUNCATED"


@pytest.mark.parametrize(
    "data", [b"<a></b>", b"<a x=1/>", b"<a/><b/>", b"<a>&b;</a>", b"\xff\xfe\x00<",
             b'<?xml version="1.0" encoding="nonsense"?><a/>']
)  # fmt: skip
def test_broken_xml(data):
    assert refused(data).code == "INVALID_GRAPH"


def test_depth_is_bounded():
    data = b"<a>" * MAX_DEPTH + b"</a>" * MAX_DEPTH
    assert parse(data, file="m.xml").tag == "a"
    assert refused(b"<a>" + data + b"</a>").code == "NESTING_TOO_DEEP"


def test_what_is_written_is_what_was_read():
    root = parse(b'<n a="1 &lt; &quot;2&#10;"><d>3</d><e/>tail</n>', file="m.xml")
    again = parse(written(root), file="m.xml")
    assert again.attributes == root.attributes == {"a": '1 < "2\n'}
    assert [child.tag for child in again.children] == ["d", "e"]
    assert again.children[0].attributes == {TEXT: "3"}


def test_a_copy_is_its_own():
    root = parse(b"<n><d a='1'/></n>", file="m.xml")
    copy = root.copied()
    copy.children[0].attributes["a"] = "2"
    assert root.children[0].attributes["a"] == "1"
    assert root.first("x") is None
