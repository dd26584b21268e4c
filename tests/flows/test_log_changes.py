"""The log tells of changes and is quiet otherwise (OB-2)."""

import dataclasses
import logging

import pytest

from ascend_agent.bus import Bus
from ascend_agent.flows.log_changes import LogChanges
from ascend_agent.model.catalog import Catalog
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.fault_rules import FaultConfigState, FaultRules
from ascend_agent.model.health import (
    ActiveFault,
    HealthState,
    NetworkView,
    NodeView,
    UnhealthyReason,
)
from ascend_agent.model.ids import Millis
from ascend_agent.model.isolation import Upgrade, UpgradeKind
from tests.fakes.npus import node_view, view
from tests.fakes.running import running, settle

_FAULT = ActiveFault(
    code=FaultCode(0x80E01801),
    level=FaultLevel.RESTART_BUSINESS,
    isolates=True,
    since_ms=Millis(0),
)


def _with(state: HealthState, *, generation: int) -> NodeView:
    reasons = (UnhealthyReason.FAULT,) if state is HealthState.SEPARATED else ()
    faults = () if state is HealthState.HEALTHY else (_FAULT,)
    changed = dataclasses.replace(view(0), state=state, reasons=reasons, faults=faults)
    return NodeView(generation=generation, npus=(changed, view(1)))


async def test_each_change_is_one_line_with_the_ids_people_need(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    bus = Bus([])
    node = bus.node.claim("test")
    async with running(LogChanges(node=bus.node, rules=bus.fault_config).run):
        for number, state in enumerate(
            (
                HealthState.HEALTHY,
                HealthState.SEPARATED,
                HealthState.SEPARATED,
                HealthState.SUB_HEALTHY,
                HealthState.HEALTHY,
            )
        ):
            node.put(_with(state, generation=number + 1))
            await settle()

    lines = [(r.levelname, r.getMessage()) for r in caplog.records]
    assert lines == [
        ("WARNING", "npu out of service"),
        ("WARNING", "npu sub-healthy"),
        ("INFO", "npu in service"),
    ]
    first = caplog.records[0].__dict__
    assert (first["npu"], first["faults"], first["reasons"]) == (0, ["80E01801"], ["fault"])
    assert (first["levels"], first["upgrades"]) == (["RestartBusiness"], [])
    names = {name: first[name] for name in ("logic", "card", "slot", "bus")}
    assert names == {"logic": 0, "card": 0, "slot": 0, "bus": "0000:C0:00.0"}
    assert first["die"]


async def test_a_node_that_starts_well_is_not_worth_a_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    bus = Bus([])
    bus.node.claim("test").put(node_view())
    async with running(LogChanges(node=bus.node, rules=bus.fault_config).run):
        await settle()
    assert caplog.records == []


async def test_a_network_that_is_unfit_is_worth_a_line_though_the_npu_stays(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    bus = Bus([])
    node = bus.node.claim("test")
    node.put(node_view(2))
    unfit = NetworkView(level=FaultLevel.PRE_SEPARATE_NPU, healthy=False)
    changed = dataclasses.replace(view(0), network=unfit)
    async with running(LogChanges(node=bus.node, rules=bus.fault_config).run):
        await settle()
        node.put(NodeView(generation=2, npus=(changed, view(1))))
        await settle()

    (line,) = caplog.records
    assert (line.levelname, line.getMessage()) == ("WARNING", "npu network unfit")
    assert vars(line)["network"] == "PreSeparateNPU"


async def test_codes_are_spelled_as_the_rules_in_force_spell_them(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bus = Bus([])
    spelled = Catalog(levels={}, spellings={_FAULT.code: "080E01801"})
    config = FaultConfigState(rules=FaultRules(catalog=spelled), version=1)
    bus.fault_config.claim("test").put(config)
    bus.node.claim("test").put(_with(HealthState.SEPARATED, generation=1))
    async with running(LogChanges(node=bus.node, rules=bus.fault_config).run):
        await settle()

    assert vars(caplog.records[0])["faults"] == ["080E01801"]


async def test_a_raised_level_is_a_line_of_its_own_with_its_rule(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Two reasons may follow each other without a change of state; each is worth a line, once."""
    caplog.set_level(logging.INFO)
    first = Upgrade(
        code=_FAULT.code,
        level=FaultLevel.MANUALLY_SEPARATE_NPU,
        kind=UpgradeKind.FREQUENCY,
        at_ms=Millis(1),
    )
    again = dataclasses.replace(first, at_ms=Millis(2))
    autofill = dataclasses.replace(first, code=None, kind=UpgradeKind.AUTOFILL)
    separated = dataclasses.replace(
        view(0, state=HealthState.SEPARATED), reasons=(UnhealthyReason.MANUALLY_SEPARATED,)
    )
    bus = Bus([])
    node = bus.node.claim("test")
    async with running(LogChanges(node=bus.node, rules=bus.fault_config).run):
        for number, upgrades in enumerate(((first,), (again,), (autofill, again)), 1):
            changed = dataclasses.replace(separated, upgrades=upgrades)
            node.put(NodeView(generation=number, npus=(changed,)))
            await settle()

    assert [vars(line)["upgrades"] for line in caplog.records] == [
        ["80E01801 FaultFrequency ManuallySeparateNPU"],
        ["FaultAutofill ManuallySeparateNPU", "80E01801 FaultFrequency ManuallySeparateNPU"],
    ]


async def test_a_view_that_changed_elsewhere_is_no_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    bus = Bus([])
    node = bus.node.claim("test")
    same = view(0)
    async with running(LogChanges(node=bus.node, rules=bus.fault_config).run):
        for generation in (1, 2):
            node.put(NodeView(generation=generation, npus=(same,)))
            await settle()
    assert caplog.records == []
