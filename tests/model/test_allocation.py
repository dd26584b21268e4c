import pytest

from ascend_agent.model.allocation import DeviceGroup, NodeWant, mandatory_node, optional_nodes
from ascend_agent.model.ids import PhyId


def test_a_mandatory_node_keeps_its_name_in_the_container() -> None:
    assert mandatory_node("/dev/a", alternative="/dev/b") == NodeWant(
        host_path="/dev/a",
        container_path="/dev/a",
        mandatory=True,
        permissions="rw",
        alternative="/dev/b",
    )


def test_optional_nodes_keep_their_names_and_order() -> None:
    first, second = optional_nodes("/dev/b", "/dev/a")

    assert (first.host_path, second.container_path) == ("/dev/b", "/dev/a")
    assert not first.mandatory
    assert first.alternative is None


@pytest.mark.parametrize(
    ("healthy", "kept", "fit"),
    [
        (True, None, [0, 1, 2, 3]),
        (True, frozenset({2}), [2]),
        (True, frozenset(), []),
        (True, frozenset({7}), []),  # of another number of shares
        (False, None, []),
        (False, frozenset({2}), []),
    ],
)
def test_the_shares_that_may_be_given_out(
    healthy: bool,  # noqa: FBT001 -- the case
    kept: frozenset[int] | None,
    fit: list[int],
) -> None:
    group = DeviceGroup(
        word="Ascend910", npu=PhyId(1), shares=4, healthy=healthy, numa=None, kept=kept
    )

    assert [share for share in range(4) if group.fit(share)] == fit
    assert group.fit_devices == len(fit)
