"""The pinned files are those of ``pyproject.toml``, complete and with hashes."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.requirements import LOCKS, Lock, is_fresh

ROOT = Path(__file__).parents[2]
_PIN = re.compile(
    r"^(?P<name>[a-z0-9.-]+)==(?P<version>\S+)(?: ;[^\\]+)?(?: \\\n    --hash=\S+)+$", re.MULTILINE
)


def pins(lock: Lock) -> dict[str, Version]:
    text = lock.path.read_text()
    return {match["name"]: Version(match["version"]) for match in _PIN.finditer(text)}


def wanted(lock: Lock) -> list[Requirement]:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lines = list(document["project"]["dependencies"]) if lock.project else []
    for group in lock.groups:
        lines += document["dependency-groups"][group]
    return [Requirement(line) for line in lines]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.file)
def test_the_file_was_made_from_the_inputs_of_today(lock: Lock) -> None:
    assert is_fresh(lock), "run `python -m tools.requirements`"


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.file)
def test_every_dependency_is_pinned_within_its_range(lock: Lock) -> None:
    pinned = pins(lock)

    for requirement in wanted(lock):
        assert pinned[canonicalize_name(requirement.name)] in requirement.specifier


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.file)
def test_every_pin_carries_a_hash(lock: Lock) -> None:
    lines = [line for line in lock.path.read_text().splitlines() if "==" in line]

    assert len(pins(lock)) == len(lines)


def test_the_smaller_files_pin_what_the_widest_one_pins() -> None:
    """What is tested is what is shipped."""
    widest, *smaller = LOCKS

    for lock in smaller:
        assert pins(lock).items() <= pins(widest).items()
