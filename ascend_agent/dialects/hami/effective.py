"""HAMi's files, the NPUs and the host → what holds on this node, and where each value is from.

Decides which chip is offered (HAMi C4), into how many devices an NPU is divided, and whether soft
slices are given (HAMi C3).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ascend_agent.dialects.hami.in_force import DEVICE, NODE, InForce
from ascend_agent.model.hami import (
    HamiChip,
    HamiConfig,
    HamiLayout,
    HamiNodeEntry,
    HamiRules,
    HamiState,
    SoftHost,
)
from ascend_agent.model.ids import CardId, NodeName
from ascend_agent.model.npu import Inventory

_SUGGESTED: Final = 2
"""So many times more devices are suggested where memory and cores are divided freely."""
_NAMES_SHOWN: Final = 20


def effective(
    in_force: InForce,
    *,
    node: NodeName,
    inventory: Inventory | None,
    soft_host: SoftHost | None,
    rules: HamiRules,
) -> HamiState:
    """Return what holds; None: not looked at yet."""
    device, entry = in_force.device.value, in_force.node.value.entry
    config = HamiConfig(chips=device.chips, soft=device.soft, layout=device.layout, entry=entry)
    chip = None if in_force.unknown else _choose(device.chips, inventory)
    said_soft = device.soft if entry is None or entry.soft is None else entry.soft
    # Nor is the host prepared, a share flag set or a file removed for what nobody may have asked.
    wants_soft = said_soft and not in_force.unknown
    said = entry.shares if entry else None
    shares = said or (chip.derived_shares if chip else 1)
    return HamiState(
        config=config,
        chip=chip,
        rules=rules,
        shares=shares,
        wants_soft=wants_soft,
        soft=wants_soft and soft_host is not None and soft_host.ready,
        soft_pending=wants_soft and not (soft_host is not None and soft_host.decided),
        trouble="" if chip else _trouble(in_force, inventory),
        soft_trouble=_soft_trouble(soft_host) if wants_soft else "",
        warnings=(
            *in_force.warnings,
            *_mixed(device.chips, chip, inventory),
            *(_few(chip, shares, node) if chip and wants_soft and not said else ()),
            *(_missed(entry, inventory, in_force.names[NODE]) if entry and inventory else ()),
        ),
        refused=tuple(f"{in_force.names[role]}: {why}" for role, why in in_force.refused.items()),
        origins=_origins(in_force, chip),
    )


def _choose(chips: Sequence[HamiChip], inventory: Inventory | None) -> HamiChip | None:
    """Return the chip of the first NPU that is configured: one a node is all HAMi knows."""
    by_name = {chip.chip_name: chip for chip in chips}
    names = (npu.identity.chip.chip_name for npu in inventory.npus) if inventory else ()
    return next((by_name[name] for name in names if name in by_name), None)


def _trouble(in_force: InForce, inventory: Inventory | None) -> str:
    if in_force.unknown:
        # Here and not in ``refused`` alone: readiness is what people look at first.
        return "; ".join(
            f"no NPU is offered until {in_force.names[role]} is in order or gone: {why}"
            for role, why in in_force.unknown.items()
        )
    if inventory is None:
        return "no NPU has been read yet"
    found = _found(inventory)
    if not found and inventory.hidden:
        return (
            f"every NPU of this node is hidden by filterDevices in {in_force.names[NODE]}; "
            "take those out that should be offered"
        )
    if not found:
        return "the driver lists no NPU; see the agent's warnings about the driver"
    known = [chip.chip_name for chip in in_force.device.value.chips][:_NAMES_SHOWN]
    return (
        f"chip {', '.join(found)} is not configured for HAMi; configured are "
        f"{', '.join(known) or 'none'} ({_chips_from(in_force)}): add an entry with that chipName "
        f"to vnpus in {in_force.names[DEVICE]}, here and for the scheduler"
    )


def _found(inventory: Inventory) -> list[str]:
    """Return the names of the chips there are, recognised or not."""
    names = [npu.identity.chip.chip_name for npu in inventory.npus]
    names += [unknown.chip.chip_name for unknown in inventory.unknown]
    return list(dict.fromkeys(names))


def _mixed(
    chips: Sequence[HamiChip], chosen: HamiChip | None, inventory: Inventory | None
) -> Iterator[str]:
    if chosen is None or inventory is None:
        return
    others = [name for name in _found(inventory) if name != chosen.chip_name]
    if others:
        configured = {chip.chip_name for chip in chips}
        why = "HAMi knows one chip a node" if set(others) & configured else "not configured"
        yield f"chip {', '.join(others)} is not offered beside {chosen.chip_name}: {why}"


def _few(chip: HamiChip, shares: int, node: NodeName) -> Iterator[str]:
    """Yield that the number of pods follows templates, where nothing is cut by templates (CF-2)."""
    yield (
        f"soft mode takes at most {shares} pods an NPU, however small they are, as many as the "
        f"templates of {chip.chip_name} give; for more, set vDeviceCount in this node's entry of "
        f'node-config.yaml: nodes: [{{name: "{node}", vDeviceCount: {shares * _SUGGESTED}}}]'
    )


def _missed(entry: HamiNodeEntry, inventory: Inventory, name: str) -> Iterator[str]:
    """Yield which filters hide nothing, once every NPU is read: they may be misspelt."""
    if inventory.unread or inventory.lost_cards or inventory.unreadable:
        return
    # An NPU that is still listed goes with the next look: filters come before the list they change.
    listed = [npu.identity for npu in inventory.npus]
    cards: set[CardId] = {hidden.address.shown for hidden in inventory.hidden}
    cards |= {identity.address.shown for identity in listed}
    dies = {hidden.die for hidden in inventory.hidden} | {identity.die for identity in listed}
    # With a whole card hidden its dies are not read, so nothing can be said of any die.
    read = all(hidden.die is not None for hidden in inventory.hidden)
    for die in sorted(entry.hidden_dies - dies if read else ()):
        yield (
            f"{name}: filterDevices, uuid: no NPU of this node is {die[:80]}; correct or remove it"
        )
    for card in sorted(entry.hidden_cards - cards):
        yield (
            f"{name}: filterDevices, index: no card of this node has number {card} in npu-smi; "
            "correct or remove it"
        )


def _soft_trouble(host: SoftHost | None) -> str:
    return "the host has not been made ready yet" if host is None else host.trouble


def _origins(in_force: InForce, chip: HamiChip | None) -> Mapping[str, str]:
    entry = in_force.node.value.entry
    of_node = f"this node's entry in {in_force.names[NODE]}"
    if in_force.unknown:
        files = " and ".join(in_force.names[role] for role in in_force.unknown)
        nowhere = f"not known until {files} can be used"
        return dict.fromkeys(("chips", "soft", "shares", "hidden"), nowhere)
    derived = f"template {chip.templates[0].name}" if chip and chip.templates else "no templates"
    flat = in_force.device.value.layout is not HamiLayout.NESTED
    of_all = "default" if flat else f"vnpus in {in_force.names[DEVICE]}"
    return {
        "chips": _chips_from(in_force),
        "soft": of_node if entry and entry.soft is not None else of_all,
        "shares": of_node if entry and entry.shares else derived,
        "hidden": of_node if entry and (entry.hidden_dies or entry.hidden_cards) else "default",
    }


def _chips_from(in_force: InForce) -> str:
    device = in_force.device
    if not device.present:
        return f"built-in, without {in_force.names[DEVICE]}"
    return f"{in_force.names[DEVICE]}, {device.value.layout.value} layout"
