"""The documents say what the code says."""

import re
from pathlib import Path

import pytest

from tests.house.sources import PACKAGE, ROOT
from tools.docs.__main__ import rendered
from tools.docs.channels import channels
from tools.docs.messages import calls, sections
from tools.docs.pages import DOCS

pytestmark = pytest.mark.slow  # each reads the whole project

# Writers and readers on the bus that are no flow of that name.
NO_FLOWS = {
    "app": "puts everything together; counts SIGHUPs",
    "driver-worker": "driver/process, supervised as a mechanism",
    "kubelet endpoints": "kubelet/endpoint, one a resource",
    "probes": "telemetry: /readyz and /status",
    "sim": "the view of the simulated node",
    "supervisor": "runtime/supervisor",
}
_LINK = re.compile(r"\]\((?!https?:)(?P<target>[^)#\s]*)(?:#(?P<anchor>[^)]*))?\)")
_HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_the_generated_parts_are_those_of_today(page: Path) -> None:
    assert page.read_text() == rendered(page), "run `python -m tools.docs`"


def test_every_log_event_is_a_constant_phrase() -> None:
    """Facts are keys: a phrase with a value in it can be neither documented nor counted."""
    assert not [call.place for call in calls() if call.phrase is None]


def test_every_warning_and_error_is_documented_with_its_level() -> None:
    logged = {(call.phrase, call.level) for call in calls()}

    assert logged == {(section.phrase, section.level) for section in sections()}


def test_no_phrase_is_documented_twice() -> None:
    phrases = [section.phrase for section in sections()]

    assert sorted(set(phrases)) == phrases


def test_a_phrase_starts_in_lower_case_and_is_no_sentence() -> None:
    for section in sections():
        assert section.phrase[0].islower()
        assert not section.phrase.endswith(".")


def test_every_name_on_the_bus_exists() -> None:
    """The picture would otherwise show a flow that was renamed away."""
    flows = {path.stem.replace("_", "-") for path in (PACKAGE / "flows").glob("*.py")}
    named = {name for channel in channels() for name in (channel.writer, *channel.readers)}

    assert named - flows == set(NO_FLOWS)


def test_every_link_between_documents_leads_somewhere() -> None:
    """To a heading too, where it names one: GitHub's own words for it."""
    folders = (DOCS, ROOT / "charts", ROOT / "examples")
    pages = [*ROOT.glob("*.md"), *(page for folder in folders for page in folder.rglob("*.md"))]

    dead = [
        f"{page.relative_to(ROOT)}: {match.group()}"
        for page in pages
        for match in _LINK.finditer(page.read_text())
        if not _leads_somewhere(page, **match.groupdict())
    ]

    assert not dead


def _leads_somewhere(page: Path, target: str, anchor: str | None) -> bool:
    there = page.parent / target if target else page
    if anchor is None or not there.is_file():
        return there.exists() and anchor is None
    headings = (match["text"].lower() for match in _HEADING.finditer(there.read_text()))
    return anchor in {re.sub(r"[^\w\- ]", "", text).replace(" ", "-") for text in headings}


def test_the_readme_fits_a_screen_and_names_both_commands() -> None:
    readme = (ROOT / "README.md").read_text()

    assert readme.count("\n") <= 60
    assert readme.count("<!-- command: sim -->\n```sh\n") == 1
    assert readme.count("<!-- command: tests -->\n```sh\n") == 1


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = sorted(int(path.name[:4]) for path in (DOCS / "decisions").glob("*.md"))

    assert numbers == list(range(1, len(numbers) + 1))


def test_the_image_is_built_from_files_that_exist() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    copies = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--" not in line]

    assert copies
    assert not [name for names in copies for name in names if not (ROOT / name).exists()]
