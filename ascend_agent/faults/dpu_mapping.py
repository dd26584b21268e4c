"""Which NPU uses which DPU NICs, out of what the configuration selects and where devices lie.

In one pass over one look, all or nothing: half a mapping would call NPUs healthy that are not.
How the cards found here are is decided in ``dpus``.
"""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType

from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.ids import PhyId
from ascend_agent.model.nics import DpuBus, DpuConfig, DpuMapping, Nic, NoMapping
from ascend_agent.model.npu import Npu

_ROOT_PARTS = 2
"""``devices`` and the root bus: what two devices share at least to share a PCI tree."""


def select(config: DpuConfig, nics: Sequence[Nic]) -> tuple[Nic, ...]:
    """Return the network cards that the configuration means, ascending by name.

    One that tells neither vendor nor device is none, even where they are not restricted.
    """
    return tuple(
        sorted(
            (
                nic
                for nic in nics
                if _fits(nic.vendor_id, config.vendor_ids)
                and _fits(nic.device_id, config.device_ids)
                and (not config.names or nic.name in config.names)
            ),
            key=lambda nic: nic.name,
        )
    )


def _fits(text: str, allowed: frozenset[str]) -> bool:
    return bool(text) and (not allowed or text in allowed)


def discover(
    config: DpuConfig,
    nics: Sequence[Nic],
    npus: Sequence[tuple[Npu, ChipSpec]],
    *,
    pci_paths: Mapping[str, str],
) -> DpuMapping | NoMapping:
    """Return which of *npus* uses which of *nics*.

    *pci_paths* leads from an NPU's bus address to where its device lies, as ``Nic.path``; it is
    needed for ``pcie`` alone.
    """
    cards = select(config, nics)
    if not cards:
        return NoMapping(
            why="no network card of this host fits the selectors; compare them with vendor and "
            "device in /sys/class/net/*/device, and see that the agent sees the host's network"
        )
    if config.bus is DpuBus.UB:
        return _by_slot(cards, npus)
    return _by_bridge(cards, npus, pci_paths)


def supersedes(new: DpuMapping, old: DpuMapping) -> bool:
    """Return whether *new*, found later under the same configuration, may replace *old*.

    A card that is gone is down and not forgotten, or its loss would make NPUs healthy; where
    another came in its place it was renamed or replaced.
    """
    used = {name for names in old.by_npu.values() for name in names}
    return used <= new.cards.keys() or len(new.cards) >= len(old.cards)


def _by_slot(cards: Sequence[Nic], npus: Sequence[tuple[Npu, ChipSpec]]) -> DpuMapping | NoMapping:
    by_npu: dict[PhyId, tuple[str, ...]] = {}
    for npu, spec in npus:
        slots = spec.dpu_slots[npu.phy % len(spec.dpu_slots)]
        names = tuple(card.name for card in cards if card.slot in slots)
        if len(names) != len(slots):
            found = ", ".join(names) or "none"
            return NoMapping(
                why=f"NPU {npu.phy} needs {len(slots)} DPU NICs in slots {' and '.join(slots)}, "
                f"and there is: {found}; look for cards that are missing, or that the selectors "
                "leave out or let in wrongly"
            )
        by_npu[npu.phy] = names
    return _mapping(DpuBus.UB, by_npu, cards)


def _by_bridge(
    cards: Sequence[Nic], npus: Sequence[tuple[Npu, ChipSpec]], pci_paths: Mapping[str, str]
) -> DpuMapping | NoMapping:
    """Give each NPU a card below the nearest bridge that is above both.

    Of several there, the first NPU of that bridge has the first, each later one the second.
    """
    by_npu: dict[PhyId, tuple[str, ...]] = {}
    without: list[PhyId] = []
    served: set[tuple[str, ...]] = set()
    for npu, _ in sorted(npus, key=lambda each: (each[0].identity.address.logic, each[0].phy)):
        bus = npu.identity.bus
        if bus is None or bus not in pci_paths:
            return NoMapping(
                why=f"the PCI device of NPU {npu.phy} is not known ({bus or 'not told'}); if NPUs "
                "and DPU NICs of this node are joined by UB, say ub in the file"
            )
        bridge, below = _nearest(cards, pci_paths[bus])
        if not below:
            without.append(npu.phy)
            continue
        card = below[min(1, len(below) - 1) if bridge in served else 0]
        served.add(bridge)
        by_npu[npu.phy] = (card.name,)
    if not by_npu:
        return NoMapping(
            why="no NPU shares a PCI tree with a DPU NIC; if they are joined by UB, say ub in the "
            "file"
        )
    return _mapping(DpuBus.PCIE, by_npu, cards, without=tuple(without))


def _nearest(cards: Sequence[Nic], path: str) -> tuple[tuple[str, ...], tuple[Nic, ...]]:
    """Return the deepest place above *path* with cards below it, and those; none, if none."""
    parts = path.split("/")
    shared = {card.name: _shared(parts, card.path.split("/")) for card in cards}
    most = max(shared.values(), default=0)
    if most < _ROOT_PARTS:
        return (), ()
    return tuple(parts[:most]), tuple(card for card in cards if shared[card.name] == most)


def _shared(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many parts two paths have in common from their beginning."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _mapping(
    bus: DpuBus,
    by_npu: Mapping[PhyId, tuple[str, ...]],
    cards: Sequence[Nic],
    *,
    without: tuple[PhyId, ...] = (),
) -> DpuMapping:
    return DpuMapping(
        bus=bus,
        by_npu=MappingProxyType(dict(sorted(by_npu.items()))),
        cards=MappingProxyType({card.name: card for card in cards}),
        without=without,
    )
