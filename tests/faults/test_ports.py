"""Which codes follow from which ports, as a table (D13, D15, W22)."""

import pytest

from ascend_agent.faults.ports import (
    BONDED_PORT_DOWN,
    LINK_DOWN,
    UB_PORT_DOWN,
    codes_of_ports,
    concerns,
    ub_down,
)
from ascend_agent.model.chip import Ports
from ascend_agent.model.fault import FaultCode
from ascend_agent.model.surroundings import LinkState

ONE_BONDED = FaultCode(0x110000002)
BOTH_BONDED = FaultCode(0x110001024)
UB_LOST = FaultCode(0x020001002)
UB_LOST_EVERYWHERE = FaultCode(0x020000002)
UB_CODES = (UB_PORT_DOWN, UB_LOST, UB_LOST_EVERYWHERE)

ALL_DOWN = LinkState(link_down=True, bonding_down=2, ub_down=1)


@pytest.mark.parametrize(
    ("ports", "link", "expected"),
    [
        (Ports.NONE, ALL_DOWN, set()),
        (Ports.ROCE, None, set()),
        (Ports.ROCE, LinkState(), set()),
        (Ports.ROCE, LinkState(link_down=False), set()),
        (Ports.ROCE, ALL_DOWN, {LINK_DOWN}),
        (Ports.UB, None, set()),
        (Ports.UB, LinkState(link_down=True), set()),
        (Ports.UB, LinkState(bonding_down=0, ub_down=0), set()),
        (Ports.UB, LinkState(bonding_down=1), {BONDED_PORT_DOWN, ONE_BONDED}),
        (Ports.UB, LinkState(bonding_down=2), {BONDED_PORT_DOWN, BOTH_BONDED}),
        (Ports.UB, LinkState(bonding_down=4), {BONDED_PORT_DOWN, BOTH_BONDED}),
        (Ports.UB, LinkState(ub_down=1), {UB_PORT_DOWN, UB_LOST}),
        (Ports.UB, ALL_DOWN, {BONDED_PORT_DOWN, BOTH_BONDED, UB_PORT_DOWN, UB_LOST}),
    ],
)
def test_the_ports_that_an_npu_has_tell_its_codes(
    ports: Ports, link: LinkState | None, expected: set[FaultCode]
) -> None:
    """Only the ports it has are looked at, and what is not known of one is no fault."""
    found = codes_of_ports(ports, told=frozenset(), link=link, all_ub_down=False)

    assert found == expected


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (set(), set()),
        ({LINK_DOWN}, set()),
        ({BONDED_PORT_DOWN}, set()),
        ({UB_PORT_DOWN}, {UB_PORT_DOWN, UB_LOST}),
    ],
)
def test_a_ub_port_that_the_driver_calls_down_separates_its_chip(
    told: set[FaultCode], expected: set[FaultCode]
) -> None:
    """Of bonded ports the driver's code does not tell how many are down; only reading does."""
    found = codes_of_ports(Ports.UB, told=frozenset(told), link=None, all_ub_down=False)

    assert found == expected


def test_where_ub_is_down_everywhere_the_milder_code_replaces_the_harder() -> None:
    """W22; of bonded ports that says nothing, nor of an NPU whose own are up."""
    down = codes_of_ports(Ports.UB, told=frozenset(), link=ALL_DOWN, all_ub_down=True)
    up = codes_of_ports(Ports.UB, told=frozenset(), link=LinkState(), all_ub_down=True)

    assert down == {BONDED_PORT_DOWN, BOTH_BONDED, UB_PORT_DOWN, UB_LOST_EVERYWHERE}
    assert up == set()


@pytest.mark.parametrize(
    ("told", "link", "expected"),
    [
        (set(), None, False),
        (set(), LinkState(), False),
        (set(), LinkState(ub_down=0), False),
        (set(), LinkState(bonding_down=2, link_down=True), False),
        ({BONDED_PORT_DOWN}, None, False),
        ({UB_PORT_DOWN}, None, True),
        ({UB_PORT_DOWN}, LinkState(ub_down=0), True),
        (set(), LinkState(ub_down=1), True),
    ],
)
def test_ub_is_down_by_the_word_of_the_driver_or_of_the_ports(
    told: set[FaultCode],
    link: LinkState | None,
    expected: bool,  # noqa: FBT001 -- a column of the table
) -> None:
    assert ub_down(frozenset(told), link) is expected


@pytest.mark.parametrize("ports", Ports)
def test_codes_of_ub_ports_concern_only_npus_that_have_some(ports: Ports) -> None:
    assert [concerns(code, ports) for code in UB_CODES] == [ports is Ports.UB] * 3
    assert concerns(LINK_DOWN, ports)
    assert concerns(BONDED_PORT_DOWN, ports)
