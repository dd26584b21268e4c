import pytest

from ascend_agent.driver.simulated.node import SimulatedNode
from ascend_agent.driver.simulated.presets import PRESETS
from ascend_agent.driver.simulated.session import Answer, Session

_CODE = 0x80E01801
_WALL_MS = 1_700_000_000_000


def _session(*steps: object, chip: str = "910C", npus: int = 6) -> Session:
    node = SimulatedNode({"chip": chip, "npus": npus, "seed": 7, "steps": list(steps)})
    return Session(node, wall_ms=_WALL_MS)


def _opened(*steps: object, chip: str = "910C", npus: int = 6) -> Session:
    session = _session(*steps, chip=chip, npus=npus)
    session.answer("open", (), 0)
    return session


def _health(session: Session, args: tuple[int, ...], now_ms: int) -> Answer:
    return session.answer("health", args, now_ms)


def _chips(answer: Answer) -> list[list[int]]:
    chips = answer["chips"]
    assert isinstance(chips, list)
    return chips


def test_nothing_is_answered_before_the_library_is_initialised() -> None:
    assert _session().answer("enumerate", (0,), 0)["rc"] == -8005


def test_the_list_addresses_chips_by_card_and_slot() -> None:
    session = _session()

    assert session.answer("open", (), 0)["api"] == "v1"
    assert session.answer("enumerate", (0,), 0) == {
        "rc": 0,
        "chips": [
            [0, 0, 0, 0],
            [0, 1, 1, 0],
            [1, 0, 2, 1],
            [1, 1, 3, 1],
            [2, 0, 4, 2],
            [2, 1, 5, 2],
        ],
        "cards": 3,
        "lost_cards": 0,
        "failed": [],
    }


def test_the_second_generation_addresses_chips_by_logic_id_alone() -> None:
    session = _opened(chip="950", npus=2)

    assert session.answer("open", (), 0)["api"] == "v2"
    assert session.answer("enumerate", (0,), 0)["chips"] == [[-1, -1, 0, 0], [-1, -1, 1, 1]]
    assert session.answer("identity", (-1, -1, 1), 0)["phy"] == 1
    assert session.answer("identity", (-1, -1, 2), 0)["rc"] == -8008


def test_a_lost_card_keeps_its_place_until_the_next_init_and_then_shifts_the_others() -> None:
    """Only the physical id is stable; a table of logic ids must not outlive an init."""
    session = _opened({"at_s": 10, "card": 1, "drop": True}, {"at_s": 20, "card": 1, "drop": False})

    assert _health(session, (1, 0, 2), 10_000) == {
        "rc": 0,
        "health_rc": -8012,
        "health": 0,
        "codes_rc": -8005,
        "codes": [],
        "phy": None,
    }
    assert session.answer("identity", (1, 0, 2), 10_000)["rc"] == -8012
    assert len(_chips(session.answer("enumerate", (0,), 11_000))) == 6

    listed = session.answer("enumerate", (1,), 12_000)

    assert listed["chips"] == [[0, 0, 0, 0], [0, 1, 1, 0], [2, 0, 2, 2], [2, 1, 3, 2]]
    assert (listed["cards"], listed["lost_cards"]) == (3, 1)
    assert session.answer("identity", (2, 0, 2), 12_000)["phy"] == 4
    assert session.answer("identity", (1, 0, 2), 12_000)["rc"] == -8001
    assert len(_chips(session.answer("enumerate", (0,), 21_000))) == 4
    assert len(_chips(session.answer("enumerate", (1,), 21_000))) == 6


def test_a_card_back_before_anyone_initialised_answers_again() -> None:
    session = _opened({"at_s": 10, "card": 1, "drop": True}, {"at_s": 20, "card": 1, "drop": False})

    assert _health(session, (1, 0, 2), 20_000)["health_rc"] == 0


def test_health_and_codes_follow_the_scenario() -> None:
    session = _opened({"at_s": 4, "npu": 3, "fault": _CODE})

    healthy = {"rc": 0, "health_rc": 0, "health": 0, "codes_rc": 0, "codes": [], "phy": None}
    assert _health(session, (1, 1, 3), 3_999) == healthy
    assert _health(session, (1, 1, 3), 4_000) == {**healthy, "health": 2, "codes": [_CODE]}
    assert _health(session, (1, 0, 2), 4_000) == healthy


@pytest.mark.parametrize("chip", PRESETS)
def test_an_identity_has_every_field(chip: str) -> None:
    session = _opened(chip=chip, npus=2)
    card, slot, logic, _ = _chips(session.answer("enumerate", (0,), 0))[0]

    identity = session.answer("identity", (card, slot, logic), 0)

    preset = PRESETS[chip]
    expected = {
        "phy": 0,
        "chip_type": "Ascend",
        "chip_name": preset.chip_name,
        "board_id": preset.board_id,
        "mainboard_id": preset.mainboard_id,
        "product": preset.product,
        "memory_mib": preset.memory_mib,
        "memory_kind": preset.memory_kind,
        "ai_cores": preset.ai_cores,
    }
    assert {key: identity[key] for key in expected} == expected
    unavailable = identity["unavailable"]
    assert isinstance(unavailable, dict)
    assert set(unavailable.values()) <= {-8255}
    assert ("mainboard" in unavailable) == (preset.mainboard_id is None)


def test_readings_move_with_time_and_stay_in_their_range() -> None:
    session = _opened()

    readings = [session.answer("usage", (0, 0, 0), s * 1000) for s in range(0, 100, 5)]

    used = [reading["memory_used_mib"] for reading in readings]
    assert len(set(used)) > 5
    assert all(isinstance(mib, int) and 0 < mib < 65536 for mib in used)
    assert session.answer("usage", (0, 0, 0), 1000) == session.answer("usage", (0, 0, 0), 4000)
    assert session.answer("processes", (0, 0, 0), 0) == {"rc": 0, "processes": []}


def test_a_chip_tells_only_the_utilisations_it_has() -> None:
    reading = _opened(chip="910A").answer("usage", (0, 0, 0), 0)

    assert reading["ai_core_percent"] is not None
    assert (reading["vector_percent"], reading["npu_percent"]) == (None, None)


def test_the_share_flag_is_one_a_card_and_forgotten_by_a_card_that_was_away() -> None:
    session = _opened({"at_s": 10, "card": 0, "drop": True}, {"at_s": 12, "card": 0, "drop": False})

    assert session.answer("share_read", (0, 0, 0), 0)["enabled"] == 0
    assert session.answer("share_enable", (0, 0, 0), 1) == {"rc": 0, "enabled": 1}
    assert session.answer("share_read", (0, 1, 1), 2)["enabled"] == 1
    assert session.answer("share_read", (1, 0, 2), 2)["enabled"] == 0
    assert session.answer("share_read", (0, 0, 0), 12_000)["enabled"] == 0
    assert session.answer("share_enable", (0, 0, 0), 12_001)["enabled"] == 1


def test_the_share_flag_can_be_taken_back() -> None:
    session = _opened()
    session.answer("share_enable", (0, 0, 0), 1)

    assert session.answer("share_disable", (0, 1, 1), 2) == {"rc": 0, "enabled": 0}
    assert session.answer("share_read", (0, 0, 0), 3)["enabled"] == 0


def test_vnpus_are_those_of_the_addressed_chip() -> None:
    vnpu = {"at_s": 1, "npu": 2, "vnpu": 101, "template": "vir04"}
    session = _opened(vnpu, chip="310P3")

    assert session.card_of((2, 0, 2, 101)) == 2
    assert session.answer("vnpus_read", (2, 0, 2), 1000)["vnpus"] == [[101, "vir04", 0, 0]]
    assert session.answer("vnpus_read", (1, 0, 1), 1000)["vnpus"] == []
    assert session.answer("vnpus_destroy", (2, 0, 2, 101), 1000) == {"rc": 0}
    assert session.answer("vnpus_read", (2, 0, 2), 1000)["vnpus"] == []


def test_chips_without_shares_or_callbacks_say_so() -> None:
    session = _opened(chip="310", npus=4)

    assert session.answer("share_enable", (0, 0, 0), 0)["rc"] == -8255
    assert session.answer("subscribe", (), 0)["rc"] == -8255
    assert not session.subscribed


def test_subscribing_twice_is_subscribing_once() -> None:
    session = _opened()

    assert session.answer("subscribe", (), 0) == {"rc": 0}
    assert session.answer("subscribe", (), 0) == {"rc": 0}
    assert session.subscribed


def test_events_say_what_happened_in_the_drivers_words() -> None:
    """A recovery repeats the time of the fault it ends: no clock of ours may trust it."""
    session = _opened(
        {"at_s": 4, "npu": 3, "fault": _CODE},
        {"at_s": 8, "npu": 3, "recover": _CODE},
        {"at_s": 9, "npu": 2, "pulse": _CODE},
        {"at_s": 10, "card": 1, "drop": True},
        {"at_s": 12, "card": 1, "drop": False},
    )

    told = [session.events(step) for step in session.node.steps_between(0, 99_000)]

    body = {"code": _CODE, "severity": 2, "name": "simulated 80E01801"}
    assert told == [
        [{**body, "logic": 3, "assertion": 1, "raised": _WALL_MS + 4_000}],
        [{**body, "logic": 3, "assertion": 0, "raised": _WALL_MS + 4_000}],
        [{**body, "logic": 2, "assertion": 2, "raised": _WALL_MS + 9_000}],
        [],
        [
            {
                "logic": logic,
                "code": 0x8C2FA009,
                "assertion": 2,
                "severity": 1,
                "raised": _WALL_MS + 12_000,
                "name": "simulated 8C2FA009",
            }
            for logic in (2, 3)
        ],
    ]


def test_an_event_carries_the_logic_id_of_the_last_init() -> None:
    session = _opened(
        {"at_s": 1, "card": 0, "drop": True},
        {"at_s": 3, "npu": 4, "fault": _CODE},
        {"at_s": 4, "npu": 0, "fault": _CODE},
    )
    session.answer("enumerate", (1,), 2_000)

    told = [session.events(step) for step in session.node.steps_between(2_000, 5_000)]

    assert [[event["logic"] for event in events] for events in told] == [[2], []]


def test_a_call_is_attributed_to_the_card_of_its_chip() -> None:
    session = _opened()

    assert session.card_of((2, 1, 5)) == 2
    assert session.card_of((9, 0, 0)) is None
    assert session.card_of(()) is None
    assert session.card_of((1,)) is None


def test_a_process_is_listed_in_bytes_and_its_memory_counts_as_used() -> None:
    session = _opened({"at_s": 1, "npu": 3, "process": 4711, "memory_mib": 100})
    idle, busy = (session.answer("usage", (1, 1, 3), now_ms) for now_ms in (0, 1000))

    assert session.answer("processes", (1, 1, 3), 1000) == {
        "rc": 0,
        "processes": [[4711, 100 << 20]],
    }
    used = [answer["memory_used_mib"] for answer in (idle, busy)]
    assert used == [used[0], int(str(used[0])) + 100]


def test_no_more_memory_is_used_than_there_is() -> None:
    session = _opened({"at_s": 1, "npu": 3, "process": 4711, "memory_mib": 1 << 20})
    usage = session.answer("usage", (1, 1, 3), 1000)

    assert usage["memory_used_mib"] == usage["memory_mib"]
