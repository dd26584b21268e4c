import pytest

from ascend_agent.driver.simulated.node import SimulatedNode
from ascend_agent.driver.simulated.presets import PRESETS
from ascend_agent.driver.simulated.scenario import UnplayableError

_CODE, _OTHER = 0x80E01801, 0x80CB8009


def _node(*steps: object, chip: str = "910C", npus: int = 6, seed: int = 7) -> SimulatedNode:
    return SimulatedNode({"chip": chip, "npus": npus, "seed": seed, "steps": list(steps)})


@pytest.mark.parametrize("chip", PRESETS)
def test_the_npus_of_a_node_are_told_apart_by_every_identity(chip: str) -> None:
    """At full size too: 64 cards are the driver's limit."""
    preset = PRESETS[chip]
    npus = 64 * preset.dies
    node = _node(chip=chip, npus=npus)

    assert [npu.phy for npu in node.npus] == list(range(npus))
    assert [(npu.card, npu.slot) for npu in node.npus] == [
        divmod(phy, preset.dies) for phy in range(npus)
    ]
    assert len({npu.die for npu in node.npus}) == npus
    if preset.bus:
        assert len({npu.bus for npu in node.npus}) == npus
    assert len(node.cards) == 64


def test_a_serial_has_the_form_of_the_real_one_and_depends_on_the_seed() -> None:
    first, again, other = _node(seed=7), _node(seed=7), _node(seed=8)

    assert [npu.die for npu in first.npus] == [npu.die for npu in again.npus]
    assert not {npu.die for npu in first.npus} & {npu.die for npu in other.npus}
    words = first.npus[0].die.split("-")
    assert [len(word) for word in words] == [8] * 5
    assert all(set(word) <= set("0123456789ABCDEF") for word in words)


def test_npus_are_spread_over_the_numa_nodes_in_order() -> None:
    node = _node(chip="910B3", npus=8)

    assert [npu.affinity for npu in node.npus] == [
        text for text in ("0-23", "24-47", "48-71", "72-95") for _ in range(2)
    ]
    assert [npu.affinity for npu in _node(npus=2).npus] == ["0-23", "24-47"]
    assert [npu.affinity for npu in _node(npus=1).npus] == ["0-23"]


def test_the_last_card_may_carry_fewer_npus_than_it_could() -> None:
    assert _node(npus=3).cards == [[0, 1], [2]]
    assert _node(npus=0).cards == []


def test_processes_hold_their_npu_until_they_are_gone_or_the_card_is_lost() -> None:
    node = _node(
        {"at_s": 1, "npu": 3, "process": 4711, "memory_mib": 100},
        {"at_s": 2, "npu": 3, "process": 4712, "memory_mib": 7},
        {"at_s": 3, "npu": 3, "process": 4711, "memory_mib": 200},
        {"at_s": 4, "npu": 3, "process": 4712, "gone": True},
        {"at_s": 5, "card": 1, "drop": True},
        {"at_s": 6, "card": 1, "drop": False},
    )

    assert [node.processes(3, ms) for ms in (999, 1000, 2000, 3000, 4000, 6000)] == [
        {},
        {4711: 100},
        {4711: 100, 4712: 7},
        {4711: 200, 4712: 7},
        {4711: 200},
        {},
    ]
    assert node.processes(2, 3000) == {}


def test_a_vnpu_is_there_until_it_is_gone_or_the_card_is_lost() -> None:
    vnpu = {"npu": 3, "vnpu": 101, "template": "vir04"}
    node = _node(
        {"at_s": 1, **vnpu},
        {"at_s": 2, **vnpu, "opened": True, "container": 7},
        {"at_s": 3, "npu": 3, "vnpu": 101, "gone": True},
        {"at_s": 4, **vnpu},
        {"at_s": 5, "card": 1, "drop": True},
        {"at_s": 6, "card": 1, "drop": False},
    )

    assert [node.vnpus(3, ms) for ms in (999, 1000, 2000, 3000, 4000, 6000)] == [
        {},
        {101: (1000, "vir04", 0, 0)},
        {101: (1000, "vir04", 1, 7)},
        {},
        {101: (4000, "vir04", 0, 0)},
        {},
    ]
    assert node.vnpus(2, 1000) == {}


def test_a_fault_stands_from_its_step_to_its_recovery() -> None:
    node = _node(
        {"at_s": 4, "npu": 3, "fault": _CODE},
        {"at_s": 5, "npu": 3, "fault": _OTHER},
        {"at_s": 8, "npu": 3, "recover": _CODE},
    )

    assert [node.codes(3, ms) for ms in (3999, 4000, 5000, 8000)] == [
        [],
        [_CODE],
        [_OTHER, _CODE],
        [_OTHER],
    ]
    assert [node.health(3, ms) for ms in (3999, 4000, 99_999)] == [0, 2, 2]
    assert node.codes(2, 5000) == []


def test_a_fault_raised_again_stands_again() -> None:
    node = _node(
        {"at_s": 1, "npu": 0, "fault": _CODE},
        {"at_s": 2, "npu": 0, "recover": _CODE},
        {"at_s": 3, "npu": 0, "fault": _CODE},
    )

    assert [node.codes(0, ms) for ms in (1000, 2000, 3000)] == [[_CODE], [], [_CODE]]
    assert [node.raised_at(0, _CODE, ms) for ms in (500, 1000, 2500, 3000)] == [
        500,
        1000,
        1000,
        3000,
    ]


def test_a_pulse_leaves_nothing_behind() -> None:
    node = _node({"at_s": 1, "npu": 0, "pulse": _CODE})

    assert node.codes(0, 1000) == []


def test_a_card_takes_all_its_npus_with_it_and_forgets_their_faults() -> None:
    node = _node(
        {"at_s": 1, "card": 1, "fault": _CODE},
        {"at_s": 10, "card": 1, "drop": True},
        {"at_s": 12, "card": 1, "drop": False},
    )

    assert [node.present(1, ms) for ms in (9999, 10_000, 11_999, 12_000)] == [
        True,
        False,
        False,
        True,
    ]
    assert node.present(0, 10_000)
    assert [node.codes(2, ms) for ms in (1000, 12_000)] == [[_CODE], []]
    assert [node.returned_at(1, ms) for ms in (11_999, 12_000)] == [-1, 12_000]


def test_a_call_hangs_on_its_card_while_the_hang_lasts() -> None:
    node = _node(
        {"at_s": 13, "card": 1, "call": "health", "hang_s": 20},
        {"at_s": 14, "call": "enumerate", "hang_s": 1},
    )

    assert node.hangs_until("health", 1, 12_999) is None
    assert node.hangs_until("health", 1, 13_000) == 33_000
    assert node.hangs_until("health", 1, 33_000) is None
    assert node.hangs_until("health", 0, 13_000) is None
    assert node.hangs_until("identity", 1, 13_000) is None
    assert node.hangs_until("enumerate", None, 14_500) == 15_000


def test_steps_are_found_by_the_time_between_two_looks() -> None:
    node = _node(
        {"at_s": 1, "npu": 0, "fault": _CODE},
        {"at_s": 1, "npu": 1, "fault": _CODE},
        {"at_s": 2, "worker": "die"},
    )

    assert [step.npus for step in node.steps_between(0, 1000)] == [(0,), (1,)]
    assert node.steps_between(1000, 1999) == []
    assert [node.next_step_at(ms) for ms in (-1, 999, 1000, 2000)] == [1000, 1000, 2000, None]


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ({"chip": "H100", "npus": 8}, "chip: 'H100' is none of 310, 310B4,"),
        ({"npus": 8}, "chip: None"),
        ({"chip": ["910B3"], "npus": 8}, "chip: "),
        ({"chip": "910B3", "npus": 65}, "npus: 65 is not 0 to 64"),
        ({"chip": "910C", "npus": -1}, "npus: -1 is not 0 to 128"),
        ({"chip": "910C", "npus": "8"}, "npus: '8'"),
        ({"chip": "910C", "npus": 8, "seed": "x"}, "seed: 'x'"),
        ({"chip": "910C", "npus": 8, "steps": [{"at_s": 1}]}, "step 1: "),
    ],
)
def test_a_node_that_cannot_be_made_is_explained(config: dict[str, object], text: str) -> None:
    with pytest.raises(UnplayableError) as caught:
        SimulatedNode(config)
    assert text in str(caught.value)


def test_a_code_may_stay_listed_after_its_end_was_told() -> None:
    """A driver's list is late at times; what stands again meanwhile stays."""
    node = _node(
        {"at_s": 1, "npu": 0, "fault": _CODE},
        {"at_s": 2, "npu": 0, "recover": _CODE, "listed_for_s": 3},
        {"at_s": 1, "npu": 1, "fault": _CODE},
        {"at_s": 2, "npu": 1, "recover": _CODE, "listed_for_s": 3},
        {"at_s": 4, "npu": 1, "fault": _CODE},
    )

    assert [len(node.codes(0, now_ms)) for now_ms in (2000, 4999, 5000)] == [1, 1, 0]
    assert [len(node.codes(1, now_ms)) for now_ms in (4999, 5000)] == [1, 1]


def test_in_a_storm_a_code_stands_every_other_moment_and_at_last_not() -> None:
    node = _node({"at_s": 1, "npu": 0, "storm": _CODE, "per_s": 100, "for_s": 0.05})

    assert [len(node.codes(0, now_ms)) for now_ms in (999, 1000, 1010, 1020, 1030, 2000)] == [
        0,
        1,
        0,
        1,
        0,
        0,
    ]
    assert node.raised_at(0, _CODE, 1035) == 1020
    assert node.next_step_at(1030) is None
