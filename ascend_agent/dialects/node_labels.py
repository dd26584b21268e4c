"""The node labels by which MindCluster's users and schedulers know its NPUs.

Decides what each label says and which of those that are there already are ours to change. They
describe one chip, that of the lowest physical id, since a label has one value: on a node of two
kinds of chip they tell of the first. When they are written is the flow's business.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ascend_agent.model.chip import CardWords
from ascend_agent.model.npu import Npu
from ascend_agent.model.world import NodeWorld

_CHIP: Final = "node.kubernetes.io/npu.chip.name"
_SERVER: Final = "servertype"
_DRIVER: Final = "huawei.com/driver.version"
_ACCELERATOR: Final = "accelerator"
_MEMORY: Final = "mind-cluster/npu-chip-memory"
_ACCELERATOR_TYPE: Final = "accelerator-type"
_INFER_CARD: Final = "infer-card-type"

_RECOVER: Final = tuple(
    f"huawei.com/{word}-{what}"
    for word in ("Ascend910", "npu")
    for what in ("Recover", "NetworkRecover")
)
"""Left behind by a way of isolating chips that MindCluster gave up; nobody reads them."""

_VALUE: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_MIB_PER_GIB: Final = 1024
_SHOWN_TEXT: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """Labels as they should be, None: absent; and why some are not among them, for people."""

    wanted: Mapping[str, str | None]
    left_out: tuple[str, ...]


def labels(world: NodeWorld) -> Labels:
    """Return the labels that are ours to set or remove; of a node without NPUs none at all."""
    npus = [view.npu for view in world.view.npus]
    first = next((npu for npu in npus if npu.identity.chip.chip_name), None)
    if first is None:
        return Labels(wanted={}, left_out=())
    told = _told(first, npus, world)
    there = world.node.labels
    left_out = {
        key: f"{key}: the driver's text {_cut(value)} can be no label"
        for key, value in told.items()
        if value is not None and not _VALUE.fullmatch(value)
    }
    wanted: dict[str, str | None] = dict.fromkeys(_RECOVER)
    for key, value in told.items():
        if value is not None and key not in left_out:
            wanted[key] = value
        elif key in _stale(first, world):
            wanted[key] = None
    if _SERVER in there and not _written_by_a_plugin(there[_SERVER], world):
        wanted.pop(_SERVER, None)
    return Labels(wanted=wanted, left_out=tuple(left_out.values()))


def _told(first: Npu, npus: Iterable[Npu], world: NodeWorld) -> Mapping[str, str | None]:
    """Return what each label should say; None: it does not apply, or the driver does not tell."""
    identity, card = first.identity, _card(first, world)
    cores, board = identity.ai_cores, identity.chip.board_id
    memory_gib = (identity.memory_mib or 0) // _MIB_PER_GIB
    of_all = {_infer_card(npu, world) for npu in npus}
    return {
        _CHIP: identity.chip.chip_name,
        _SERVER: f"{card.server}-{cores}" if cores else None,
        _DRIVER: world.driver.dcmi_version or None,
        _ACCELERATOR: card.accelerator,
        _MEMORY: f"{memory_gib}G" if memory_gib and card.tells_memory else None,
        _ACCELERATOR_TYPE: None if board is None else card.accelerator_types.get(board),
        _INFER_CARD: of_all.pop() if len(of_all) == 1 else None,
    }


def _stale(first: Npu, world: NodeWorld) -> frozenset[str]:
    """Return the labels that say something, by a plugin's hand, that no longer holds.

    Only what a plugin can have written is taken away. With the chip's name unchanged, a label that
    does not apply to this chip was set by somebody who had a reason, but for single words that a
    plugin alone uses.
    """
    there = world.node.labels
    cards = [spec.card for spec in world.specs.values()]
    words = {
        _ACCELERATOR_TYPE: {word for card in cards for word in card.accelerator_types.values()},
        _INFER_CARD: {word for card in cards for word in card.infer_cards.values()},
    }
    stale = {key for key, known in words.items() if there.get(key) in known}
    if there.get(_CHIP, first.identity.chip.chip_name) != first.identity.chip.chip_name:
        stale |= {_SERVER, _ACCELERATOR, _MEMORY} & there.keys()
    return frozenset(stale)


def _written_by_a_plugin(value: str, world: NodeWorld) -> bool:
    """Return whether ``servertype`` is a chip type and a number; ``soc`` is an administrator's."""
    servers = "|".join(re.escape(spec.card.server) for spec in world.specs.values())
    return re.fullmatch(rf"(?:{servers})[A-Za-z0-9]*-[0-9]+", value) is not None


def _card(npu: Npu, world: NodeWorld) -> CardWords:
    return world.specs[npu.generation].card


def _infer_card(npu: Npu, world: NodeWorld) -> str | None:
    return _card(npu, world).infer_cards.get(npu.identity.chip.product or "")


def _cut(text: str) -> str:
    return repr(text if len(text) <= _SHOWN_TEXT else f"{text[:_SHOWN_TEXT]}...")
