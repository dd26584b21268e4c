"""The device list: what HAMi's scheduler is told of the NPUs, byte by byte (HL-2, UP-2).

Decides which NPUs are listed and how each looks. HAMi before 2.10 and Volcano don't look at
``health``, but all of them refuse a device whose ``count`` its users have reached: so a sick NPU
keeps its entry, which accounts for the pods that still run, and loses its count (HAMi B6).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ascend_agent.dialects.hami import keys
from ascend_agent.model.hami import HamiChip, HamiConfig, HamiState
from ascend_agent.model.health import NodeView, NpuView
from ascend_agent.model.ids import DieId
from ascend_agent.model.npu import Npu

_SOFT_CORES: Final = 100
_GROUPED: Final = "Ascend910"
"""Of words that begin so the scheduler places several devices within one network group."""
_PAIRED: Final = "Ascend910C"
"""Of this word two devices of equal ``index // 2`` are one module, all in one network group."""
_DIES: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What is registered under one word: the device list as text, and whether soft slices are."""

    word: str
    devices: str
    soft: bool

    @property
    def annotations(self) -> Mapping[str, str]:
        """The two annotations of the Node that say it; the handshake makes them heard."""
        return {
            keys.SOFT: "true" if self.soft else "false",
            keys.register(self.word): self.devices,
        }

    @property
    def counts(self) -> Mapping[DieId, int]:
        """How many devices each NPU in the list has."""
        return {DieId(each["id"]): each.get("count", 0) for each in json.loads(self.devices)}


def listing(view: NodeView, state: HamiState) -> Listing | None:
    """Return what the scheduler should know; None where there is nothing to be listed.

    An empty list is a read error to every scheduler and removes nothing, so it is never told.
    """
    if state.chip is None:
        return None
    listed = _listed(view, state.config, state.chip)
    if not listed:
        return None
    chip, indices = state.chip, _indices(listed, state.chip)
    devices = [
        _device(each, index, state, chip) for each, index in zip(listed, indices, strict=True)
    ]
    text = json.dumps(devices, separators=(",", ":"))
    return Listing(word=chip.word, devices=text, soft=state.soft)


def _listed(view: NodeView, config: HamiConfig, chip: HamiChip) -> tuple[NpuView, ...]:
    """Return the NPUs of *chip* that can be named and are not hidden, ordered by physical id."""
    entry = config.entry
    hidden_dies = entry.hidden_dies if entry else frozenset()
    hidden_cards = entry.hidden_cards if entry else frozenset()
    return tuple(
        each
        for each in view.npus
        if each.npu.identity.chip.chip_name == chip.chip_name
        and each.npu.identity.die is not None
        and each.npu.identity.die not in hidden_dies
        and each.npu.identity.address.shown not in hidden_cards
    )


def _indices(listed: Sequence[NpuView], chip: HamiChip) -> Sequence[int]:
    """Return the position of each, with a gap where the other die of a module is not listed."""
    if chip.word != _PAIRED:
        return range(len(listed))
    places = [_place(each.npu) for each in listed]
    cards = sorted({card for card, _ in places})
    return [_DIES * cards.index(card) + die for card, die in places]


def _place(npu: Npu) -> tuple[int, int]:
    """Return the module and which of its two dies *npu* is."""
    address = npu.identity.address
    if address.card is None or address.slot is None or address.slot >= _DIES:
        return npu.phy // _DIES, npu.phy % _DIES
    return address.card, address.slot


def _device(view: NpuView, index: int, state: HamiState, chip: HamiChip) -> Mapping[str, object]:
    healthy = view.healthy and view.kept is None
    fields: dict[str, object] = {
        "id": view.npu.identity.die,
        "index": index,
        "count": 0 if state.rules.fence and not healthy else state.shares,
        "devmem": chip.allocatable_mib,
        "devcore": _SOFT_CORES if state.soft else chip.ai_core,
        "type": chip.word,
        "health": healthy,
        # HAMi 2.6 and 2.7 look for a node's devices by it, and never fill it in (HAMi B9).
        "devicevendor": chip.word,
    }
    if chip.word.startswith(_GROUPED):
        fields["custominfo"] = {"NetworkID": _network(view.npu, chip, state.rules.network_group)}
    # As the peer, whose fields are left out where they are zero.
    return {name: value for name, value in fields.items() if value}


def _network(npu: Npu, chip: HamiChip, group: int) -> int:
    """Return the network group, by physical id: hiding a card moves no other one (HAMi B7)."""
    return 0 if chip.word == _PAIRED or npu.phy < group else 1
