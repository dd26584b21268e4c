"""Build arguments that would make an image nobody can trace or build again."""

import re
from pathlib import Path

import pytest

from image.arguments import main, problems

GOOD = {
    "base": "mirror.example.org:5000/python:3.13-slim@sha256:" + "0f" * 32,
    "unpinned": "no",
    "version": "1.2.3",
    "revision": "ab" * 20,
    "source": "https://example.org/agent",
    "epoch": "1767225600",
}
BAD = {
    "base": ("python:3.13-slim", "python@sha256:0f", "python@sha256:" + "0F" * 32),
    "unpinned": ("", "true"),
    "version": ("1.2.4", ""),
    "revision": ("main", "abcdef0", ""),
    "source": ("git@example.org:agent", ""),
    "epoch": ("", "0", "now", "-1"),
}


def test_a_release_is_accepted() -> None:
    assert problems(**GOOD, built="1.2.3") == []


def test_a_try_is_accepted() -> None:
    """Labels may be left out, and the digest as well where somebody says so."""
    told = GOOD | {"base": "python:3.13-slim", "unpinned": "yes"}
    told |= dict.fromkeys(("version", "revision", "source"), "unknown")

    assert problems(**told, built="1.2.3") == []


@pytest.mark.parametrize(("name", "value"), [(name, bad) for name in BAD for bad in BAD[name]])
def test_a_bad_argument_is_named_with_its_value(name: str, value: str) -> None:
    (problem,) = problems(**(GOOD | {name: value}), built="1.2.3")

    assert f"={value} " in problem
    assert problem.endswith(".")


def test_an_unpinned_base_is_refused_with_both_ways_out() -> None:
    (problem,) = problems(**(GOOD | {"base": "python:3.13-slim"}), built="1.2.3")

    assert "imagetools inspect python:3.13-slim" in problem
    assert "UNPINNED=yes" in problem


def test_the_dockerfile_as_it_is_wants_a_digest_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The defaults written there pass, but for the base: no one builds a release by accident."""
    root = Path(__file__).parents[2]
    defaults = dict(re.findall(r"\b([A-Z_]+)=(\S+)", (root / "Dockerfile").read_text()))
    monkeypatch.chdir(root)
    arguments = ["--epoch", defaults["SOURCE_DATE_EPOCH"]]
    for name in ("base", "unpinned", "version", "revision", "source"):
        arguments += [f"--{name}", defaults[name.upper()]]

    assert main(arguments) == 2
    assert main([*arguments, "--unpinned", "yes"]) == 0
    assert capsys.readouterr().err.count("\n") == 1
