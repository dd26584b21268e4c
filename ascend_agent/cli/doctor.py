"""``doctor``: puts the checks to the node, and shows what they found, as lines or as JSON."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, TextIO

from ascend_agent.cli.adopt import Adopted
from ascend_agent.cli.compose import Show
from ascend_agent.doctor.ask_cluster import ask_cluster
from ascend_agent.doctor.checks import CHECKS
from ascend_agent.doctor.configuration import effective
from ascend_agent.doctor.driver import ask_driver
from ascend_agent.doctor.examine import AskedOnce, examine
from ascend_agent.doctor.findings import Examined, Finding, Verdict, worst
from ascend_agent.doctor.place import Place
from ascend_agent.host.layouts import locate
from ascend_agent.settings import Settings

if TYPE_CHECKING:
    from rich.text import Text

_STYLES = {
    Verdict.OK: "green",
    Verdict.SKIPPED: "dim",
    Verdict.WARN: "yellow",
    Verdict.FAIL: "bold red",
}
_MARGIN = 8
_NAMES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorReport:
    """All that was found; ``configuration`` has each setting with its value and origin."""

    examined: tuple[Examined, ...]
    configuration: Mapping[str, Mapping[str, object]]

    @property
    def verdict(self) -> Verdict:
        """Return the worst finding."""
        return worst(each.verdict for each in self.examined)


async def consult(
    settings: Settings, show: Show, adopted: Adopted, unused: Sequence[tuple[str, str]]
) -> DoctorReport:
    """Put every check to this node."""
    located = locate(settings)
    deadline_s = show.check_deadline_s

    def make_place(asked: AskedOnce) -> Place:
        ask = partial(ask_driver, located, environment=adopted.environment, deadline_s=deadline_s)
        return Place(
            settings=located,
            environment=adopted.environment,
            driver=asked.share(ask, name="ask the driver"),
            cluster=asked.share(
                partial(ask_cluster, located, deadline_s=deadline_s), name="ask the api server"
            ),
            origins=show.origins,
            unused=tuple(unused),
            adopted_from=adopted.agent,
            deadline_s=deadline_s,
        )

    return DoctorReport(
        examined=await examine(CHECKS, make_place),
        configuration=effective(located, show.origins),
    )


def show_report(report: DoctorReport, *, stream: TextIO, as_json: bool) -> None:
    """Write *report* to *stream*."""
    if as_json:
        stream.write(f"{json.dumps(as_object(report), indent=2)}\n")
    else:
        _draw(report, stream)
    stream.flush()


def as_object(report: DoctorReport) -> Mapping[str, object]:
    """Return the JSON object of ``doctor --json``."""
    return {
        "verdict": report.verdict.value,
        "version": version("ascend-agent"),
        "findings": [
            {
                "check": each.check,
                "verdict": finding.verdict.value,
                "what": finding.what,
                "detail": finding.detail,
                "remedy": finding.remedy,
            }
            for each in report.examined
            for finding in each.findings
        ],
        "took_ms": {each.check: each.took_ms for each in report.examined},
        "configuration": report.configuration,
    }


def _draw(report: DoctorReport, stream: TextIO) -> None:
    from rich.console import Console  # noqa: PLC0415 -- only where a person looks

    console = Console(file=stream, markup=False, highlight=False)
    # Captured, since rich would end the process itself where the reader has gone.
    with console.capture() as drawn:
        for each in report.examined:
            for finding in each.findings:
                # Not wrapped: a path cut in two can't be copied, nor a line found by grep.
                console.print(_line(each.check, finding), soft_wrap=True)
        console.print(_summary(report), soft_wrap=True)
    stream.write(drawn.get())


def _line(check: str, finding: Finding) -> "Text":
    from rich.text import Text  # noqa: PLC0415 -- as above

    text = Text(finding.verdict.value.ljust(_MARGIN), style=_STYLES[finding.verdict])
    text.append(check.ljust(_NAMES), style="default")
    said = f"{finding.what}: {finding.detail}" if finding.detail else finding.what
    text.append(_printable(said), "default")
    if finding.remedy:
        text.append(f"\n{' ' * _MARGIN}-> {_printable(finding.remedy)}", style="default")
    return text


def _printable(text: str) -> str:
    """Return *text* with what would act on a terminal spelt out: others name files and programs."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def _summary(report: DoctorReport) -> str:
    counts = Counter(finding.verdict for each in report.examined for finding in each.findings)
    words = [f"{counts[verdict]} {verdict.value}" for verdict in reversed(Verdict)]
    return f"{report.verdict.value}: {', '.join(words)}"
