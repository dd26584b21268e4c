"""Enumeration and identifiers: what init remembers, and when (DCMI API, enumeration)."""

import ctypes

import pytest

from tests.fake_dcmi.conftest import Loaded, LoadFake


def places(fake: Loaded) -> list[tuple[int, int, int, int]]:
    """Return card, slot, logic and physical id of every chip, as the calls tell them."""
    found = []
    for card in fake.cards():
        _, chips = fake.number("dcmi_get_device_num_in_card", card)
        for slot in range(chips):
            logic = ctypes.c_int()
            assert fake.call("dcmi_get_device_logic_id", ctypes.byref(logic), card, slot) == 0
            rc, phy = fake.number("dcmi_get_device_phyid_from_logicid", logic.value, signed=False)
            assert rc == 0
            found.append((card, slot, logic.value, phy))
    return sorted(found, key=lambda place: place[2])


def test_before_init_nothing_is_known(load_fake: LoadFake) -> None:
    """Each call has its own way to say so."""
    fake = load_fake()
    count, ids = ctypes.c_int(), (ctypes.c_int * 64)()

    assert fake.call("dcmi_get_card_list", ctypes.byref(count), ids, 64) == -8005
    assert fake.number("dcmi_get_device_num_in_card", 0) == (0, 0)
    assert fake.call("dcmi_get_device_logic_id", ctypes.byref(count), 0, 0) == -8012
    assert fake.number("dcmi_get_device_health", 0, 0, signed=False)[0] == -8001


def test_the_wrong_generation_answers_not_supported(load_fake: LoadFake) -> None:
    first, second = load_fake("preset 910B3"), load_fake("preset 950")

    assert [first.call("dcmiv2_init"), first.call("dcmi_init")] == [-8255, 0]
    assert [second.call("dcmi_init"), second.call("dcmiv2_init")] == [-8255, 0]
    assert first.number("dcmiv2_get_device_health", 0, signed=False)[0] == -8255
    assert second.number("dcmi_get_device_health", 0, 0, signed=False)[0] == -8255


def test_no_generation_works_while_the_driver_loads(load_fake: LoadFake) -> None:
    fake = load_fake("api none")

    assert [fake.call("dcmi_init"), fake.call("dcmiv2_init")] == [-8005, -8005]

    fake.host.run("api v1")
    assert fake.call("dcmi_init") == 0


@pytest.mark.parametrize(
    ("preset", "count", "first", "last"),
    [
        ("310", 4, (0, 0, 0, 0), (0, 3, 3, 3)),
        ("310P3-duo", 2, (0, 0, 0, 0), (0, 1, 1, 1)),
        ("910B3", 8, (0, 0, 0, 0), (7, 0, 7, 7)),
        ("910B3 16", 16, (0, 0, 0, 0), (15, 0, 15, 15)),
        ("910C", 16, (0, 0, 0, 0), (7, 1, 15, 15)),
        ("sparse-cards", 4, (1, 0, 0, 2), (12, 0, 3, 7)),
        ("mixed-ids", 4, (4, 1, 0, 7), (4, 0, 3, 6)),
    ],
)
def test_each_preset_has_its_cards_and_ids(
    load_fake: LoadFake,
    preset: str,
    count: int,
    first: tuple[int, int, int, int],
    last: tuple[int, int, int, int],
) -> None:
    fake = load_fake(f"preset {preset}")
    fake.call("dcmi_init")

    found = places(fake)

    assert (len(found), found[0], found[-1]) == (count, first, last)


def test_on_the_mixed_host_no_two_ids_of_a_chip_are_equal(load_fake: LoadFake) -> None:
    """A conversion that takes one id for another can't go unnoticed there."""
    fake = load_fake("preset mixed-ids")
    fake.call("dcmi_init")

    assert all(len(set(place)) == 4 for place in places(fake))


def test_a_lost_card_is_minus_one_only_after_the_next_init(load_fake: LoadFake) -> None:
    """And the logic ids behind it shift down: the physical id alone stays."""
    fake = load_fake("preset 910B3 4")
    fake.call("dcmi_init")

    fake.host.drop(1)
    assert fake.cards() == [0, 1, 2, 3]
    assert fake.number("dcmi_get_device_health", 1, 0, signed=False)[0] == -8012
    assert fake.codes(1, 0)[0] == -8005

    fake.call("dcmi_init")
    assert fake.cards() == [-1, 0, 2, 3]
    assert [place[2:] for place in places(fake)[-2:]] == [(1, 2), (2, 3)]

    fake.host.give_back(1)
    assert fake.cards() == [-1, 0, 2, 3]
    fake.call("dcmi_init")
    assert fake.cards() == [0, 1, 2, 3]


def test_a_late_card_appears_after_as_many_inits(load_fake: LoadFake) -> None:
    fake = load_fake("preset 910B3 2", "late 1 2")
    seen = []
    for _ in range(3):
        fake.call("dcmi_init")
        seen.append(fake.cards())

    assert seen == [[-1, 0], [-1, 0], [0, 1]]


def test_a_removed_card_is_not_even_counted(load_fake: LoadFake) -> None:
    fake = load_fake("preset 910B3 2")
    fake.host.remove(0)
    fake.call("dcmi_init")

    assert fake.cards() == [1]


def test_one_unusable_card_fails_the_whole_list_of_generation_2(load_fake: LoadFake) -> None:
    fake = load_fake("preset 950 4")
    fake.call("dcmiv2_init")
    assert fake.devices() == (0, [0, 1, 2, 3])

    fake.host.drop(2)
    fake.call("dcmiv2_init")
    assert fake.devices() == (-8005, [])

    fake.host.remove(2)
    fake.call("dcmiv2_init")
    assert fake.devices() == (0, [0, 1, 2])
    assert fake.number("dcmiv2_get_all_device_count") == (0, 4)


def test_the_controller_on_a_card_is_no_npu(load_fake: LoadFake) -> None:
    """Its device id is the one right after the last NPU."""
    fake = load_fake("preset 310P3-duo")
    fake.call("dcmi_init")
    logic = ctypes.c_int()

    assert fake.number("dcmi_get_device_type", 0, 2, signed=False) == (0, 1)
    assert fake.call("dcmi_get_device_logic_id", ctypes.byref(logic), 0, 2) == -8255
    assert fake.call("dcmi_get_device_logic_id", ctypes.byref(logic), 0, 3) == -8001


def test_a_list_too_short_for_the_cards_is_refused(load_fake: LoadFake) -> None:
    fake = load_fake("preset 910B3 8")
    fake.call("dcmi_init")
    count, ids = ctypes.c_int(), (ctypes.c_int * 8)()

    assert fake.call("dcmi_get_card_list", ctypes.byref(count), ids, 7) == -8001
    assert fake.call("dcmi_get_card_list", ctypes.byref(count), ids, 8) == 0
