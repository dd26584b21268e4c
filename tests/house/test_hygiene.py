"""What may not stand in any file of the project: machine paths, registry hosts, leftovers."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # each reads the whole project

ROOT = Path(__file__).parents[2]
_MADE = {"build", "dist"}  # by tools, and ignored by git like every hidden folder but .ci
_TEXT = {
    "",
    ".c",
    ".h",
    ".json",
    ".md",
    ".proto",
    ".py",
    ".pyi",
    ".toml",
    ".txt",
    ".yaml",
    ".yml",
}
# Each is written in pieces, so that this file does not hold what it looks for.
_FORBIDDEN = {
    "a registry's host": "|".join(
        name.replace("*", r"\.")
        for name in (
            "pypi*org",
            "pythonhosted*org",
            "npmjs*org",
            "crates*io",
            "golang*org",
            "debian*org",
            "docker*io",
            "quay*io",
            "gcr*io",
            "ghcr*io",
            "registry*k8s",
            "maven*org",
        )
    ),
    "a path of somebody's machine": r"/(?:work|opt/wheels|home/\w+|Users/\w+|tmp/h)(?:/|\b)",
    "a leftover": "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")).join(
        (r"\b(?:", r")\b")
    ),
    "a merge marker": "^(?:<{7}|>{7}|={7})(?: |$)",
}


def project_files() -> Iterator[Path]:
    """Yield every text file of the project, without what tools leave beside them."""
    for top in ROOT.iterdir():
        if top.is_file() and not _is_left(top):
            yield top
        elif top.is_dir() and _is_ours(top):
            for path in top.rglob("*"):
                if path.is_file() and path.suffix in _TEXT and "__pycache__" not in path.parts:
                    yield path


def _is_ours(folder: Path) -> bool:
    name = folder.name
    return name == ".ci" or not (name.startswith(".") or name in _MADE or "egg-info" in name)


def _is_left(path: Path) -> bool:
    return path.name == ".git" or path.name.startswith(".coverage")


@pytest.mark.parametrize("what", _FORBIDDEN)
def test_no_file_holds(what: str) -> None:
    """A hash-pinned file must serve every mirror, and a checkout every machine."""
    pattern = re.compile(_FORBIDDEN[what], re.MULTILINE)

    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in project_files()
        for match in pattern.finditer(path.read_text())
    ]

    assert not found


def test_the_project_is_seen_at_all() -> None:
    """A wrong root would make every claim here true."""
    names = {str(path.relative_to(ROOT)) for path in project_files()}

    assert {"pyproject.toml", ".ci/run", "ascend_agent/bus.py", "docs/operations.md"} <= names


def test_every_script_of_ci_is_one_that_can_run() -> None:
    assert (ROOT / ".ci/run").stat().st_mode & 0o111
