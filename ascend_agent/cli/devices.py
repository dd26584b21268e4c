"""``devices``: what the driver says of this node, as a table or as JSON."""

import json
from collections.abc import Mapping
from typing import TextIO

from ascend_agent.dialects import plain
from ascend_agent.doctor.survey import Survey, SurveyedNpu
from ascend_agent.model.fault import format_fault_code
from ascend_agent.model.health import HealthAnswer
from ascend_agent.model.npu import DriverState

_HEALTH = {0: "normal", 1: "minor alarm", 2: "major alarm", 3: "critical alarm"}
_COLUMNS = ("NPU", "card", "chip", "resource", "health", "faults", "memory", "AI core", "bus")
_WIDE = 200  # columns where no terminal says how many there are: nothing is cut in a pipe


def show(survey: Survey, *, stream: TextIO, as_json: bool) -> None:
    """Write *survey* to *stream*."""
    if as_json:
        stream.write(f"{json.dumps(as_object(survey), indent=2)}\n")
    else:
        _draw(survey, stream)
    stream.flush()


def _draw(survey: Survey, stream: TextIO) -> None:
    from rich.console import Console  # noqa: PLC0415 -- only where a person looks
    from rich.table import Table  # noqa: PLC0415 -- the same

    table = Table(title=_title(survey.driver), title_justify="left")
    for column in _COLUMNS:
        table.add_column(column)
    for npu in survey.npus:
        table.add_row(*_row(npu))
    console = Console(file=stream, width=None if stream.isatty() else _WIDE, markup=False)
    # Captured, since rich would end the process itself where the reader has gone.
    with console.capture() as drawn:
        console.print(table)
        for line in _remarks(survey):
            console.print(line, highlight=False)
    stream.write(drawn.get())


def as_object(survey: Survey) -> Mapping[str, object]:
    """Return the JSON object of ``devices --json``; what a chip does not tell is null."""
    driver = survey.driver
    return {
        "driver": {
            "api": driver.api.value if driver.api else None,
            "library": driver.library,
            "dcmi_version": driver.dcmi_version,
            "driver_version": driver.driver_version,
        },
        "cards": survey.enumeration.cards,
        "lost_cards": survey.enumeration.lost_cards,
        "unreadable_cards": [
            {"card": card, "call": call, "rc": rc}
            for card, call, rc in survey.enumeration.unreadable
        ],
        "npus": [_npu_object(npu) for npu in survey.npus],
    }


def _npu_object(npu: SurveyedNpu) -> Mapping[str, object]:
    identity, usage, address = npu.identity, npu.usage, npu.address
    return {
        "npu": identity.phy if identity else None,
        "logic": address.logic,
        "card": address.card,
        "slot": address.slot,
        "chip": identity.chip.chip_name if identity else None,
        "generation": npu.spec.generation if npu.spec else None,
        "resource": _resource(npu) or None,
        "die": identity.die if identity else None,
        "bus": identity.bus if identity else None,
        "board_id": identity.chip.board_id if identity else None,
        "product": identity.chip.product if identity else None,
        "ai_cores": identity.ai_cores if identity else None,
        "memory_mib": identity.memory_mib if identity else None,
        "memory_used_mib": usage.memory_used_mib if usage else None,
        "ai_core_percent": usage.ai_core_percent if usage else None,
        "health": npu.health.health if npu.health else None,
        "faults": _faults(npu.health),
        "trouble": list(npu.trouble),
    }


def _row(npu: SurveyedNpu) -> tuple[str, ...]:
    identity = npu.identity
    if identity is None:
        return ("?", _card(npu), "?", "-", "not read", "; ".join(npu.trouble), "-", "-", "-")
    percent = npu.usage.ai_core_percent if npu.usage else None
    return (
        str(identity.phy),
        _card(npu),
        identity.chip.chip_name,
        _resource(npu) or "not offered",
        _health(npu.health),
        ", ".join(_faults(npu.health)) or "-",
        _memory(npu),
        "-" if percent is None else f"{percent} %",
        identity.bus or "-",
    )


def _title(driver: DriverState) -> str:
    api = driver.api.value if driver.api else "?"
    return f"{driver.library}, driver {driver.driver_version or '?'}, API {api}"


def _remarks(survey: Survey) -> list[str]:
    lines = [] if survey.npus else ["The driver lists no NPU."]
    if survey.enumeration.lost_cards:
        lines.append(
            f"{survey.enumeration.lost_cards} cards are lost: the driver can't reach them."
        )
    lines += [
        f"Card {card} can't be listed: {call} answered {rc}."
        for card, call, rc in survey.enumeration.unreadable
    ]
    lines += [
        f"NPU {npu.identity.phy}: {'; '.join(npu.trouble)}"
        for npu in survey.npus
        if npu.identity and npu.trouble
    ]
    return lines


def _card(npu: SurveyedNpu) -> str:
    address = npu.address
    return f"logic {address.logic}" if address.card is None else f"{address.card}/{address.slot}"


def _resource(npu: SurveyedNpu) -> str:
    return plain.DIALECT.resource_of(npu.spec.word) if npu.spec else ""


def _faults(health: HealthAnswer | None) -> list[str]:
    return [format_fault_code(code) for code in sorted(health.codes or ())] if health else []


def _health(health: HealthAnswer | None) -> str:
    if health is None:
        return "not read"
    if health.lost:
        return "lost"
    return "not read" if health.health is None else _HEALTH.get(health.health, str(health.health))


def _memory(npu: SurveyedNpu) -> str:
    total = npu.identity.memory_mib if npu.identity else None
    used = npu.usage.memory_used_mib if npu.usage else None
    if total is None:
        return "-"
    return f"{total} MiB" if used is None else f"{used} / {total} MiB"
