from dataclasses import replace

from ascend_agent.model.allocation import Allocations, Holder
from ascend_agent.model.fault import FaultCode, FaultLevel
from ascend_agent.model.health import (
    ActiveFault,
    HealthState,
    NodeView,
    NpuView,
    UnhealthyReason,
)
from ascend_agent.model.ids import LogicId, Millis, PhyId
from ascend_agent.model.npu import NpuAddress, NpuUsage, UnknownChip, UnreadCard
from ascend_agent.model.seen import Seen
from ascend_agent.telemetry.npu_families import (
    health_families,
    holder_families,
    inventory_families,
    usage_families,
)
from tests.fakes.npus import CHIP, address, inventory, node_view, npu, without_address
from tests.telemetry.samples import of, samples

SICK = NpuView(
    npu=npu(3),
    state=HealthState.SEPARATED,
    reasons=(UnhealthyReason.FAULT, UnhealthyReason.DCMI_HEALTH),
    faults=(
        ActiveFault(
            code=FaultCode(0x80E01801),
            level=FaultLevel.SEPARATE_NPU,
            isolates=True,
            since_ms=Millis(0),
        ),
    ),
    health=3,
    since_ms=Millis(1_700_000_000_250),
    level=FaultLevel.SEPARATE_NPU,
)
NOTHING = NpuUsage(
    memory_mib=None,
    memory_used_mib=None,
    ai_core_percent=None,
    vector_percent=None,
    npu_percent=None,
)


def test_one_series_carries_all_names_of_an_npu() -> None:
    """OB-3: whoever sees an NPU in a metric must find the same card in npu-smi and in the host."""
    found = of(samples(inventory_families(inventory(2))), "npu_info")

    assert list(found) == [
        f'npu_info{{npu="{phy}",logic="{phy}",card="{phy}",slot="0",'
        f'die="0000000{phy}-00000005-DEADBEEF-00000000-00FF00FF",bus="0000:C{phy}:00.0",'
        'generation="910B",chip="910B3"}'
        for phy in (0, 1)
    ]


def test_a_lost_npu_keeps_its_last_names() -> None:
    lost = replace(inventory(1), npus=(without_address(npu(0)),))

    (name,) = of(samples(inventory_families(lost)), "npu_info")

    assert 'logic="0",card="0",slot="0"' in name


def test_names_that_a_chip_does_not_have_are_empty() -> None:
    """API v2 knows neither card nor slot."""
    known = npu(0)
    at = NpuAddress(card=None, slot=None, logic=LogicId(0), lane=0)
    bare = replace(known, address=at, identity=replace(known.identity, die=None, bus=None))

    (name,) = of(samples(inventory_families(replace(inventory(1), npus=(bare,)))), "npu_info")

    assert 'card="",slot="",die="",bus=""' in name


def test_what_can_not_be_offered_is_counted() -> None:
    node = replace(
        inventory(8),
        lost_cards=1,
        unread=(UnreadCard(address=address(8), reason="late"),) * 2,
        unknown=(UnknownChip(phy=PhyId(9), chip=CHIP),) * 3,
    )

    found = samples(inventory_families(node))

    assert found["npus"] == 8
    assert found["cards_lost"] == 1
    assert found["chips_unread"] == 2
    assert found["chips_unknown"] == 3


def test_before_the_driver_listed_anything_nothing_is_claimed() -> None:
    """Zero NPUs would be a lie that an alert believes."""
    assert samples(inventory_families(None)) == {}
    assert samples(health_families(None)) == {}


def test_the_health_of_an_npu_is_told_with_its_reasons() -> None:
    found = samples(health_families(NodeView(generation=1, npus=(SICK,))))

    assert found == {
        'npu_healthy{npu="3"}': 0,
        'npu_state{npu="3",state="healthy"}': 0,
        'npu_state{npu="3",state="sub-healthy"}': 0,
        'npu_state{npu="3",state="separated"}': 1,
        'npu_state_since_timestamp_seconds{npu="3"}': 1_700_000_000.25,
        'npu_unhealthy_reason{npu="3",reason="fault"}': 1,
        'npu_unhealthy_reason{npu="3",reason="dcmi-health"}': 1,
        'npu_level{npu="3",level="SeparateNPU"}': 1,
    }


def test_a_sub_healthy_npu_may_be_given_out() -> None:
    view = replace(SICK, state=HealthState.SUB_HEALTHY, reasons=(), level=None)

    found = samples(health_families(NodeView(generation=1, npus=(view,))))

    assert of(found, "npu_level") == {}, "no fault, no level"

    assert found['npu_healthy{npu="3"}'] == 1
    assert found['npu_state{npu="3",state="sub-healthy"}'] == 1


def test_usage_is_told_in_base_units_and_only_as_far_as_the_chip_tells() -> None:
    usage = {
        PhyId(1): NpuUsage(
            memory_mib=65536,
            memory_used_mib=1024,
            ai_core_percent=75,
            vector_percent=None,
            npu_percent=0,
        ),
        PhyId(0): NOTHING,
    }

    found = samples(usage_families(Seen(view=node_view(2), usage=usage)))

    assert found == {
        'npu_memory_bytes{npu="1"}': 65536 * 1024 * 1024,
        'npu_memory_used_bytes{npu="1"}': 1024 * 1024 * 1024,
        'npu_utilisation_ratio{npu="1",part="ai-core"}': 0.75,
        'npu_utilisation_ratio{npu="1",part="npu"}': 0,
    }


def test_an_npu_that_is_gone_is_not_busy() -> None:
    usage = {PhyId(7): replace(NOTHING, npu_percent=100)}

    assert samples(usage_families(Seen(view=node_view(2), usage=usage))) == {}
    assert samples(usage_families(Seen(usage=usage))) == {}


def test_holders_have_labels_that_no_scraper_overwrites() -> None:
    """OB-4; and two shares of one NPU in one container are one series, or the page is invalid."""
    holder = Holder(namespace="ml", pod="train-0", container="main")
    allocations = Allocations(known=True, holders={PhyId(3): (holder, holder)})

    found = samples(holder_families(allocations))

    assert found == {
        'npu_holder_info{npu="3",holder_namespace="ml",holder_pod="train-0",'
        'holder_container="main"}': 1
    }
