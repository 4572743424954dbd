import pytest

from isomorph import registry
from isomorph.cli.verbosity import VerbosityFlags, adjusted
from isomorph.core.errors import UsageError


@pytest.mark.parametrize(("flag", "lines"), [("quiet", 1), (None, 20), ("verbose", 25)])
def test_a_reporter_of_the_terminal_shows_more_or_less(report, flag, lines):
    flags = VerbosityFlags(**({flag: True} if flag else {}))
    text = adjusted(registry.reporter("terminal"), flags).render(report)
    assert (len(text.splitlines()) == 1) if flag == "quiet" else (len(text.splitlines()) >= lines)


def test_a_document_holds_everything(report):
    reporter = registry.reporter("json")
    assert adjusted(reporter, VerbosityFlags(quiet=True)) is reporter


def test_both_at_once_are_refused():
    with pytest.raises(UsageError, match="exclude"):
        adjusted(registry.reporter("terminal"), VerbosityFlags(quiet=True, verbose=True))
