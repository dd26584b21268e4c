"""Judges a test that took too long by a second try.

A limit of time is about the code, and code that is slow is slow again. A machine that is shared
may take a moment from any test, in ways that no clock of ours tells: a host that fetches a page
of our memory stops us in the middle of "computing". Only a verdict about time is tried again, and
the summary names each test that needed it.
"""

from collections.abc import Generator

import pytest
from _pytest.runner import runtestprotocol

from tests.too_slow import TooSlowError

_TOO_SLOW = pytest.StashKey[str]()
_TOLD = "too slow once"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember that *item* failed by its time."""
    if call.excinfo is not None and call.excinfo.errisinstance(TooSlowError):
        item.stash[_TOO_SLOW] = str(call.excinfo.value)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run *item*, and once more where only its time spoke against it."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    if too_slow := item.stash.get(_TOO_SLOW, None):
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        for report in reports:
            report.user_properties.append((_TOLD, too_slow))
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that were too slow at first: one that returns is worth a look."""
    told = [
        f"{report.nodeid}: {text}"
        for report in terminalreporter.getreports("passed")
        if report.when == "call"
        for name, text in report.user_properties
        if name == _TOLD
    ]
    if told:
        terminalreporter.section(_TOLD)
        for line in told:
            terminalreporter.write_line(line)
