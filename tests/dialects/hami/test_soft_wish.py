"""The wish for soft slices in every form that HAMi's files have had."""

import re

import pytest

from ascend_agent.dialects.hami.soft_wish import soft_wish
from ascend_agent.dialects.hami.yaml_text import Section, Tree


def wish(**said: str | None) -> tuple[bool | None, list[str]]:
    value: dict[str, Tree] = dict(said)
    warnings: list[str] = []
    return soft_wish(Section(value, "vnpus"), "flag", warnings), warnings


@pytest.mark.parametrize(
    ("said", "soft"),
    [
        ({}, None),
        ({"flag": "true"}, True),
        ({"flag": "false"}, False),
        ({"hamiVnpuMode": "hami-core"}, True),
        ({"hamiVnpuMode": "hamiCore"}, True),
        ({"hamiVnpuMode": " Hami-Core "}, True),
        ({"hamiVnpuMode": "template", "flag": "true"}, False),
        ({"hamiVnpuMode": "hami-core", "flag": "false"}, True),
        ({"hamiVnpuMode": "", "flag": "true"}, True),
        ({"hamiVnpuMode": " ", "flag": "true"}, True),
        ({"hamiVnpuMode": None}, None),
    ],
)
def test_the_mode_counts_before_the_flag(said: dict[str, str | None], *, soft: bool | None) -> None:
    """HAMi's own order: a file that has moved on may keep the flag for older readers."""
    assert wish(**said) == (soft, [])


def test_a_mode_that_is_not_served_here_is_told_and_hard() -> None:
    soft, (warning,) = wish(hamiVnpuMode="ENPU", flag="true")

    assert soft is False
    assert "vnpus, hamiVnpuMode: enpu is not served by this agent" in warning


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"hamiVnpuMode": "soft"}, "vnpus, hamiVnpuMode: 'soft' is not allowed"),
        ({"hamiVnpuMode": "template", "flag": "perhaps"}, "vnpus, flag: 'perhaps'"),
    ],
)
def test_what_can_not_be_understood_is_refused(said: dict[str, str | None], why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        wish(**said)
