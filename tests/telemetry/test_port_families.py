"""Ports on the metrics page: down, up, and not known, which is neither."""

from ascend_agent.model.ids import PhyId
from ascend_agent.model.surroundings import LinkState, LinkStates
from ascend_agent.telemetry.port_families import port_families
from tests.telemetry.samples import samples


def test_ports_that_are_down_are_counted_by_kind_and_unknown_ones_left_out() -> None:
    """A failed tool must be seen without its NPUs looking cut off (faults D13)."""
    links = LinkStates(
        npus={
            PhyId(2): LinkState(bonding_down=1, ub_down=0),
            PhyId(0): LinkState(link_down=True),
            PhyId(1): LinkState(),
        },
        unread=frozenset({PhyId(0), PhyId(1)}),
    )

    assert samples(port_families(links)) == {
        'npu_ports_down{npu="0",kind="roce"}': 1,
        'npu_ports_down{npu="2",kind="bonded"}': 1,
        'npu_ports_down{npu="2",kind="ub"}': 0,
        'npu_ports_unread{npu="0"}': 1,
        'npu_ports_unread{npu="1"}': 1,
        'npu_ports_unread{npu="2"}': 0,
    }


def test_before_anybody_looked_nothing_is_told() -> None:
    assert samples(port_families(None)) == {}
