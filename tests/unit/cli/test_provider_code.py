import pytest

from isomorph.cli.provider_code import provider_code
from isomorph.core.execution import PROVIDERS_ASKED, PROVIDERS_USED


@pytest.mark.parametrize(
    ("asked", "used", "code", "warned"),
    [
        ("CUDA", "CPU", 3, True),
        ("CUDA, CPU", "CPU", 0, True),
        ("CPU", "CPU", 0, False),
        ("CUDA, CPU", "CUDA, CPU", 0, False),
        ("", "", 0, False),
    ],
)
def test_another_provider_than_the_one_asked_for_is_no_success(asked, used, code, warned, capsys):
    assert provider_code({PROVIDERS_ASKED: asked, PROVIDERS_USED: used}) == code
    assert ("warning[PROVIDER_FALLBACK]" in capsys.readouterr().err) == warned
