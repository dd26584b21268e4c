"""Which NPU uses which DPU NIC: topology 5.2 to 5.4 with the right rules of 5.9."""

import pytest

from ascend_agent.chips.ascend950 import SPEC
from ascend_agent.faults.dpu_mapping import discover, select, supersedes
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.nics import DpuBus, DpuConfig, DpuMapping, Nic, NoMapping
from ascend_agent.model.npu import Npu
from tests.fakes.dpus import a5_npu, a5_npus, config, nic, nics

EIGHT = a5_npus(*range(8))
ROOT = "devices/pci0000:00"
PCIE = config(DpuBus.PCIE)


def found(*cards: Nic, npus: list[tuple[Npu, ChipSpec]] = EIGHT) -> DpuMapping:
    mapping = discover(config(), cards, npus, pci_paths={})
    assert isinstance(mapping, DpuMapping), mapping.why
    return mapping


def why(*cards: Nic, npus: list[tuple[Npu, ChipSpec]] = EIGHT) -> str:
    nothing = discover(config(), cards, npus, pci_paths={})
    assert isinstance(nothing, NoMapping)
    return nothing.why


# --- the filter ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "card", "kept"),
    [
        (config(), nic("a"), True),
        (config(), nic("a", vendor_id="0x8086"), False),
        (config(), nic("a", device_id="0x1826"), False),
        (config(vendor_ids=frozenset()), nic("a", vendor_id="0x8086"), True),
        (config(device_ids=frozenset()), nic("a", device_id="0x1826"), True),
        (config(vendor_ids=frozenset()), nic("a", vendor_id=""), False),
        (config(device_ids=frozenset()), nic("a", device_id=""), False),
        (config(), nic("a", vendor_id="0x10B5"), False),
        (config(names=frozenset({"a"})), nic("a"), True),
        (config(names=frozenset({"b"})), nic("a"), False),
        (config(), nic("a", operstate="down"), True),
    ],
)
def test_a_card_is_meant_if_all_selectors_let_it_in(
    wanted: DpuConfig, card: Nic, *, kept: bool
) -> None:
    """Topology 5.2; what can't be read excludes a card even where nothing is asked for."""
    assert bool(select(wanted, [card])) is kept


def test_cards_are_taken_by_name_whatever_the_order_of_the_look() -> None:
    assert [card.name for card in select(config(), [nic("b"), nic("a"), nic("A")])] == [
        "A",
        "a",
        "b",
    ]


def test_no_card_at_all_is_told_with_what_to_compare() -> None:
    assert "no network card of this host fits the selectors" in why(nic("a", vendor_id="0x8086"))
    assert "sees the host's network" in why()


# --- by slot ------------------------------------------------------------------------------


def test_each_half_of_the_npus_has_the_cards_of_its_slots() -> None:
    """Topology G16."""
    mapping = found(*nics())

    first, second = ("enps0", "enps2"), ("enps1", "enps3")
    assert mapping.by_npu == {n: first if n < 4 else second for n in range(8)}
    assert mapping.bus is DpuBus.UB
    assert sorted(mapping.cards) == ["enps0", "enps1", "enps2", "enps3"]


def test_the_mapping_goes_by_physical_id_modulo_eight() -> None:
    """D21: a logic id shifts when a card is lost, and must not lead to another's NIC."""
    npus = [(a5_npu(8, logic=0), SPEC), (a5_npu(13, logic=1), SPEC)]

    assert found(*nics(), npus=npus).by_npu == {8: ("enps0", "enps2"), 13: ("enps1", "enps3")}


@pytest.mark.parametrize(
    ("cards", "told"),
    [
        (nics()[:3], "NPU 4 needs 2 DPU NICs in slots 2 and 10, and there is: enps1"),
        (nics()[1:2], "NPU 0 needs 2 DPU NICs in slots 1 and 9, and there is: none"),
        (
            (*nics(), nic("enps5", slot="9")),
            "NPU 0 needs 2 DPU NICs in slots 1 and 9, and there is: enps0, enps2, enps5",
        ),
        ((*nics()[:3], nic("enps3", slot="")), "NPU 4 needs 2"),
    ],
)
def test_half_a_mapping_is_none(cards: tuple[Nic, ...], told: str) -> None:
    """D19: the peer keeps what it had found when it fails."""
    assert told in why(*cards)


def test_only_npus_of_this_node_need_their_cards() -> None:
    """A node of four NPUs has the two cards of the first half."""
    cards = [card for card in nics() if card.slot in {"1", "9"}]

    assert found(*cards, npus=a5_npus(0, 1, 2, 3)).by_npu.keys() == {0, 1, 2, 3}


# --- by bridge ----------------------------------------------------------------------------


def at(name: str, path: str) -> Nic:
    return nic(name, path=f"{path}/net/{name}")


def by_bridge(cards: list[Nic], places: dict[int, str]) -> DpuMapping | NoMapping:
    """Discover for NPUs whose PCI devices lie at these *places*, by physical id."""
    npus = [(a5_npu(phy, bus=f"0000:{phy:02X}:00.0"), SPEC) for phy in places]
    paths = {f"0000:{phy:02X}:00.0": place for phy, place in places.items()}
    return discover(PCIE, cards, npus, pci_paths=paths)


def test_an_npu_uses_the_card_below_the_nearest_bridge() -> None:
    """D17: the peer's "switch" is the root bus, below which everything of a socket lies."""
    cards = [at("enp1", f"{ROOT}/0000:00:01.0/0000:01:00.0"), at("enp2", f"{ROOT}/0000:00:02.0")]
    mapping = by_bridge(
        cards,
        {
            0: f"{ROOT}/0000:00:02.0/0000:05:00.0",
            1: f"{ROOT}/0000:00:01.0/0000:02:00.0",
        },
    )

    assert isinstance(mapping, DpuMapping)
    assert mapping.by_npu == {0: ("enp2",), 1: ("enp1",)}


def test_of_several_cards_the_first_npu_has_the_first_and_the_others_the_second() -> None:
    """Topology 5.4.4."""
    bridge = f"{ROOT}/0000:00:01.0"
    cards = [at(f"enp{n}", f"{bridge}/0000:01:0{n}.0") for n in range(3)]
    mapping = by_bridge(cards, {n: f"{bridge}/0000:02:0{n}.0" for n in range(3)})

    assert isinstance(mapping, DpuMapping)
    assert mapping.by_npu == {0: ("enp0",), 1: ("enp1",), 2: ("enp1",)}


def test_the_first_npu_is_the_first_by_logic_id_and_each_bridge_counts_by_itself() -> None:
    cards = [
        at(f"enp{side}{n}", f"{ROOT}/0000:00:0{side}.0/0000:01:0{n}.0")
        for side in (1, 2)
        for n in (0, 1)
    ]
    npus = [(a5_npu(phy, logic=3 - phy, bus=f"0000:{phy:02X}:00.0"), SPEC) for phy in range(4)]
    paths = {
        f"0000:{phy:02X}:00.0": f"{ROOT}/0000:00:0{1 + phy % 2}.0/0000:02:0{phy}.0"
        for phy in range(4)
    }
    mapping = discover(PCIE, cards, npus, pci_paths=paths)

    assert isinstance(mapping, DpuMapping)
    assert mapping.by_npu == {0: ("enp11",), 1: ("enp21",), 2: ("enp10",), 3: ("enp20",)}
    assert list(mapping.by_npu) == [0, 1, 2, 3]


def test_one_card_serves_all_npus_near_it() -> None:
    bridge = f"{ROOT}/0000:00:01.0"
    mapping = by_bridge([at("enp0", bridge)], {n: f"{bridge}/0000:02:0{n}.0" for n in range(2)})

    assert isinstance(mapping, DpuMapping)
    assert mapping.by_npu == {0: ("enp0",), 1: ("enp0",)}


def test_an_npu_under_another_root_has_none_and_the_rest_go_on() -> None:
    mapping = by_bridge(
        [at("enp0", f"{ROOT}/0000:00:01.0")],
        {0: f"{ROOT}/0000:00:02.0", 1: "devices/pci0001:00/0001:00:01.0"},
    )

    assert isinstance(mapping, DpuMapping)
    assert mapping.by_npu == {0: ("enp0",)}
    assert mapping.without == (1,)


def test_no_npu_near_any_card_is_no_mapping() -> None:
    nothing = by_bridge(
        [at("enp0", f"{ROOT}/0000:00:01.0")], {0: "devices/pci0001:00/0001:00:01.0"}
    )

    assert isinstance(nothing, NoMapping)
    assert "no NPU shares a PCI tree with a DPU NIC" in nothing.why


@pytest.mark.parametrize(
    ("bus", "told"),
    [
        (None, "NPU 0 is not known (not told)"),
        ("0000:C1:00.0", "NPU 0 is not known (0000:C1:00.0)"),
    ],
)
def test_an_npu_whose_place_is_unknown_ends_the_search(bus: str | None, told: str) -> None:
    """Topology 5.4: without its address nothing can be said, and half a mapping is none."""
    nothing = discover(
        PCIE, [at("enp0", f"{ROOT}/0000:00:01.0")], [(a5_npu(0, bus=bus), SPEC)], pci_paths={}
    )

    assert isinstance(nothing, NoMapping)
    assert told in nothing.why


# --- later --------------------------------------------------------------------------------


def test_a_mapping_without_a_card_that_was_in_use_is_not_taken() -> None:
    """Its loss would else make healthy NPUs of those that used it."""
    bridge = f"{ROOT}/0000:00:01.0"
    cards = [at("enp0", f"{bridge}/0000:01:00.0"), at("enp1", f"{bridge}/0000:01:01.0")]
    places = {0: f"{bridge}/0000:02:00.0", 1: f"{bridge}/0000:02:01.0"}
    old, new = by_bridge(cards, places), by_bridge(cards[:1], places)
    assert isinstance(old, DpuMapping)
    assert isinstance(new, DpuMapping)

    assert new.by_npu == {0: ("enp0",), 1: ("enp0",)}
    assert not supersedes(new, old)
    assert supersedes(old, new)


def test_a_card_of_another_name_in_its_place_is_taken() -> None:
    """Interfaces are renamed, by udev or by people."""
    old = found(*nics())
    new = found(*nics()[:3], nic("renamed", slot="10"))

    assert supersedes(new, old)
    assert new.by_npu[a5_npu(7).phy] == ("enps1", "renamed")


def test_the_loss_of_a_card_that_nobody_uses_holds_nothing_up() -> None:
    old = found(*nics(), nic("spare", slot="3"))

    assert supersedes(found(*nics()), old)
