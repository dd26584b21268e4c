"""What is true → the page for people, HTML: every NPU in a row, then what is wrong and what to do.

What others wrote (pod names, driver texts, file names) is escaped. The page loads nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape

from ascend_agent.faults.advice import Advice, advise
from ascend_agent.flows.health_json import describe_holder
from ascend_agent.model.allocation import Holder
from ascend_agent.model.fault_rules import FaultConfigState, FaultRules
from ascend_agent.model.health import NodeView, NpuView
from ascend_agent.model.ids import Millis

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>ascend-agent</title>
<style>body{{font-family:sans-serif}}td,th{{padding:.2em .8em;text-align:left}}
dt{{margin-top:.8em}}dt.out{{color:#b00}}</style></head>
<body><h1>ascend-agent {version}</h1><p><b>{ready}</b>: {why}</p><ul>{resources}</ul>
<p>API server: {api}</p><p>Fault rules: {rules}</p>{hami}
<table><tr><th>NPU</th><th>chip</th><th>die</th><th>bus</th><th>health</th><th>level</th>
<th>reasons</th><th>faults</th><th>network</th><th>held by</th></tr>{rows}</table>
{advice}<p><a href="/status">status</a> <a href="/metrics">metrics</a> <a href="/readyz">readyz</a>
<a href="/healthz">healthz</a></p></body></html>
"""
_MOST_ADVICE = 100
"""More is read by nobody, and a page has to be made."""
_SECONDS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFacts:
    """What the page tells, beyond the health of NPUs in plain texts, not yet escaped.

    ``holders`` has who holds each NPU of ``view``, in its order; ``hami`` is empty where HAMi does
    not schedule.
    """

    version: str
    ready: bool
    why: str
    resources: Sequence[str]
    api: str
    view: NodeView | None
    holders: Sequence[Sequence[Holder]]
    rules: FaultRules
    fault_config: FaultConfigState | None
    hami: Sequence[str] = ()


def page(facts: PageFacts) -> str:
    """Return the page."""
    view = facts.view
    npus = zip(view.npus, facts.holders, strict=True) if view else ()
    return _PAGE.format(
        version=escape(facts.version),
        ready="ready" if facts.ready else "not ready",
        why=escape(facts.why),
        resources="".join(f"<li>{escape(line)}</li>" for line in facts.resources),
        api=escape(facts.api),
        rules=escape(_rules_line(facts.rules, facts.fault_config)),
        hami="".join(f"<p>{escape(line)}</p>" for line in facts.hami),
        rows="".join(_row(npu, held, facts.rules) for npu, held in npus),
        advice=_section(advise(view, facts.rules)) if view else "",
    )


def _rules_line(rules: FaultRules, state: FaultConfigState | None) -> str:
    refused = f"; refused: {'; '.join(state.refused)}" if state and state.refused else ""
    return f"{rules.source}{refused}"


def _row(view: NpuView, holders: Sequence[Holder], rules: FaultRules) -> str:
    text_of, network = rules.catalog.text_of, view.network
    cells = (
        str(view.npu.phy),
        view.npu.identity.chip.chip_name,
        view.npu.identity.die or "",
        view.npu.identity.bus or "",
        view.state.value,
        view.level.value if view.level else "",
        ", ".join(reason.value for reason in view.reasons),
        ", ".join(f"{text_of(f.code)} ({f.level.value})" for f in view.faults),
        "" if network.level is None else f"{network.level.value}{_fit(healthy=network.healthy)}",
        ", ".join(describe_holder(holder) for holder in holders),
    )
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _fit(*, healthy: bool) -> str:
    return "" if healthy else ", unfit"


def _section(advice: Sequence[Advice]) -> str:
    if not advice:
        return ""
    more = len(advice) - _MOST_ADVICE
    rest = f'<p>And {more} more, see <a href="/status">status</a>.</p>\n' if more > 0 else ""
    shown = "".join(_paragraph(each) for each in advice[:_MOST_ADVICE])
    return f"<h2>What is wrong, and what to do</h2>\n<dl>{shown}</dl>\n{rest}"


def _paragraph(advice: Advice) -> str:
    meaning = advice.meaning
    since = f"since {_moment(advice.since_ms)}"
    head = f"{advice.subject}: {advice.what}, {since}: {meaning.title}"
    ends = f"<br>It ends {escape(advice.ends)}." if advice.ends else ""
    out = ' class="out"' if advice.isolates else ""
    return (
        f"<dt{out}><b>{escape(head)}</b></dt><dd>{escape(meaning.meaning)}"
        f"<br>To do: {escape(meaning.action)}{ends}</dd>"
    )


def _moment(at_ms: Millis) -> str:
    at = datetime.fromtimestamp(at_ms / _SECONDS, UTC)
    return at.strftime("%Y-%m-%d %H:%M:%S UTC")
