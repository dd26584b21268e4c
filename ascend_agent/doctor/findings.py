"""What a check found: a verdict, what it is about, and what to do.

Which verdict a state deserves is decided by each check; how findings look is left to ``cli``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from ascend_agent.model.ids import PhyId


class Verdict(StrEnum):
    """How bad a finding is; FAIL means that the agent can't do one of its jobs here."""

    OK = "ok"
    SKIPPED = "skipped"
    WARN = "warn"
    FAIL = "fail"


_BY_WEIGHT = (Verdict.SKIPPED, Verdict.OK, Verdict.WARN, Verdict.FAIL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a check looked at.

    ``what`` is short and without facts, ``detail`` has them; ``remedy`` is what to do, empty where
    nothing has to be done. A SKIPPED finding says in ``detail`` why there was nothing to look at.
    """

    verdict: Verdict
    what: str
    detail: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """What one check found, and how long it took."""

    check: str
    findings: tuple[Finding, ...]
    took_ms: int

    @property
    def verdict(self) -> Verdict:
        """Return the worst of its findings."""
        return worst(finding.verdict for finding in self.findings)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst verdict; SKIPPED where nothing was judged."""
    return max(verdicts, key=_BY_WEIGHT.index, default=Verdict.SKIPPED)


def about_npus(found: Iterable[tuple[PhyId, Finding]]) -> tuple[Finding, ...]:
    """Return each finding once, with the NPUs it is about: many causes are the same for all."""
    about: dict[Finding, list[str]] = {}
    for phy, finding in found:
        about.setdefault(finding, []).append(str(phy))
    return tuple(
        replace(finding, detail=f"NPU {', '.join(phys)}: {finding.detail}")
        for finding, phys in about.items()
    )


def ok(what: str, detail: str = "") -> Finding:
    """Return a finding that needs nobody."""
    return Finding(verdict=Verdict.OK, what=what, detail=detail)


def warn(what: str, detail: str = "", *, remedy: str) -> Finding:
    """Return a finding that somebody should look at."""
    return Finding(verdict=Verdict.WARN, what=what, detail=detail, remedy=remedy)


def fail(what: str, detail: str = "", *, remedy: str) -> Finding:
    """Return a finding that keeps the agent from one of its jobs."""
    return Finding(verdict=Verdict.FAIL, what=what, detail=detail, remedy=remedy)


def skipped(what: str, why: str) -> Finding:
    """Return that there was nothing to judge, and why."""
    return Finding(verdict=Verdict.SKIPPED, what=what, detail=why)
