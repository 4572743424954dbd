import pytest

from isomorph import registry
from isomorph.core.errors import UsageError
from isomorph.diagnose.explain import codes, explain, words


@pytest.mark.parametrize("word", [*registry.names("causes"), *codes()])
def test_every_word_is_explained_with_what_to_do(word):
    found = explain(word)
    assert found.what.endswith(".")
    assert found.do.endswith(".")
    if found.kind != "error":
        assert found.recognized.endswith(".")
    assert (found.exit_code is not None) == (found.kind == "error")


def test_a_word_is_known_in_any_case():
    assert explain("Attribute").word == "attribute"
    assert explain("timeout").word == "TIMEOUT"
    assert explain("timeout").exit_code == 3


def test_an_unknown_word_is_wrong_use_with_near_matches():
    with pytest.raises(UsageError, match="neither a cause nor a code") as caught:
        explain("atribut")
    assert caught.value.exit_code == 2
    assert "'attribute'" in caught.value.fix


def test_a_word_like_no_other_is_answered_with_where_to_look():
    with pytest.raises(UsageError) as caught:
        explain("zzzzzzzzzz")
    assert "--list" in caught.value.fix


def test_everything_is_listed_once():
    listed = [each.word for each in words()]
    assert len(listed) == len(set(listed)) == len(codes()) + 13


def test_a_cause_shows_public_cases_one_for_each_mechanism():
    issues = explain("attribute").issues
    assert any("linear" in each and "https://github.com/" in each for each in issues)
    assert len(issues) == len({each.partition(":")[0] for each in issues})
