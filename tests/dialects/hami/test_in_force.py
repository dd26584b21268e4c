"""What is in force follows the files; nothing bad replaces something good."""

import pytest

from ascend_agent.dialects.hami.chips import CHIPS
from ascend_agent.dialects.hami.in_force import InForce, judge
from ascend_agent.model.hami import HamiFiles, HamiNodeEntry
from tests.fakes.hami import NODE

NAMES = {"device": "/d.yaml", "node": "/n.yaml"}
CHIP = "vnpus: [{chipName: 910X, commonWord: W, resourceName: a.b/W, memoryAllocatable: 9}]"
ENTRY = "nodes: [{name: node-a, vDeviceCount: 3}]"


def after(*looks: HamiFiles) -> InForce:
    state = InForce(names=NAMES)
    for look in looks:
        state = judge(state, look, node=NODE)
    return state


def names(state: InForce) -> list[str]:
    return [chip.chip_name for chip in state.device.value.chips]


def test_without_files_the_built_in_chips_hold() -> None:
    state = after(HamiFiles())

    assert state.device.value.chips == CHIPS
    assert (state.device.present, state.node.value.entry, state.refused) == (False, None, {})


def test_files_are_taken_each_for_itself() -> None:
    state = after(HamiFiles(texts={"device": CHIP, "node": ENTRY}))

    assert names(state) == ["910X"]
    assert state.node.value.entry == HamiNodeEntry(shares=3)


def test_what_can_not_be_used_leaves_what_was() -> None:
    """CF-1: and the other file is none the worse."""
    state = after(
        HamiFiles(texts={"device": CHIP, "node": ENTRY}),
        HamiFiles(texts={"device": "vnpus:", "node": ENTRY.replace("3", "4")}),
    )

    assert names(state) == ["910X"]
    assert state.node.value.entry == HamiNodeEntry(shares=4)
    assert list(state.refused) == ["device"]
    assert "has no section vnpus" in state.refused["device"]


def test_a_file_that_can_not_be_read_leaves_what_was() -> None:
    state = after(
        HamiFiles(texts={"node": ENTRY}), HamiFiles(troubles={"node": "can't be read: broken"})
    )

    assert state.node.value.entry == HamiNodeEntry(shares=3)
    assert state.refused == {"node": "can't be read: broken"}


@pytest.mark.parametrize(
    "bad", [HamiFiles(texts={"device": "["}), HamiFiles(troubles={"device": "can't be read"})]
)
def test_what_was_never_in_order_is_not_known(bad: HamiFiles) -> None:
    """Not even when it is refused again, but as soon as it is good, or gone, or was ever either."""
    again = HamiFiles(texts={"device": "vnpus: 3"})
    good = HamiFiles(texts={"device": CHIP})

    assert after(bad).unknown == after(bad).refused
    assert after(bad, again).unknown == after(bad, again).refused
    assert after(bad).unknown.keys() == after(bad, again).unknown.keys() == {"device"}
    assert after(bad, good).unknown == after(bad, HamiFiles()).unknown == {}
    assert after(good, bad).unknown == after(HamiFiles(), bad).unknown == {}


def test_a_good_one_clears_what_was_refused() -> None:
    state = after(HamiFiles(texts={"device": "["}), HamiFiles(texts={"device": CHIP}))

    assert (names(state), state.refused) == (["910X"], {})


def test_a_file_that_goes_away_says_nothing_any_more() -> None:
    state = after(HamiFiles(texts={"device": CHIP, "node": ENTRY}), HamiFiles())

    assert state.device.value.chips == CHIPS
    assert state.node.value.entry is None


def test_what_stays_the_same_is_not_read_again() -> None:
    look = HamiFiles(texts={"device": CHIP, "node": ENTRY})
    first = after(look)

    again = judge(first, look, node=NODE)

    assert again.device is first.device
    assert again.node is first.node


def test_warnings_name_their_file() -> None:
    state = after(
        HamiFiles(
            texts={"device": "vnpus: {configs: [], x: 1}", "node": "nodes: []\ny: 2"},
        )
    )

    assert [warning.partition(" has no")[0] for warning in state.warnings] == [
        "/d.yaml: vnpus: key 'x'",
        "/n.yaml: top level: key 'y'",
    ]
