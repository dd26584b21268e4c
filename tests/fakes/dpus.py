"""The NPUs and network cards of an A5 node, and a watcher that shows what a test says."""

import dataclasses
from collections.abc import AsyncIterator, Mapping, Sequence

from ascend_agent.chips.ascend950 import SPEC
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.ids import LogicId
from ascend_agent.model.nics import DpuBus, DpuConfig, Nic, NicLook
from ascend_agent.model.npu import Inventory, Npu
from ascend_agent.runtime.latest import Latest
from tests.fakes.npus import inventory, npu

VENDOR, DEVICE = "0x10b5", "0x1825"
SLOTS = {"enps0": "1", "enps1": "2", "enps2": "9", "enps3": "10"}


def a5_npu(phy: int, *, logic: int | None = None, bus: str | None = None) -> Npu:
    """Return an A5 NPU; it tells no bus address unless the test gives one."""
    known = npu(phy)
    at = dataclasses.replace(known.identity.address, logic=LogicId(phy if logic is None else logic))
    chip = dataclasses.replace(known.identity.chip, chip_name="Ascend950PR")
    identity = dataclasses.replace(known.identity, address=at, bus=bus, chip=chip)
    return dataclasses.replace(known, identity=identity, address=at, generation=SPEC.generation)


def a5_npus(*phys: int) -> list[tuple[Npu, ChipSpec]]:
    return [(a5_npu(phy), SPEC) for phy in phys]


def a5_inventory(*npus: Npu) -> Inventory:
    return dataclasses.replace(inventory(0), npus=npus or tuple(map(a5_npu, range(8))))


def nic(
    name: str,
    operstate: str = "up",
    *,
    path: str | None = None,
    vendor_id: str = VENDOR,
    device_id: str = DEVICE,
    slot: str | None = None,
    carrier: bool | None = None,
) -> Nic:
    """Return a DPU NIC, in the slot that ``SLOTS`` has for it."""
    return Nic(
        name=name,
        path=path or f"devices/ub0/{name}/net/{name}",
        vendor_id=vendor_id,
        device_id=device_id,
        slot=SLOTS.get(name, "") if slot is None else slot,
        operstate=operstate,
        carrier=carrier,
    )


def nics(
    enps0: str = "up", enps2: str = "up", enps1: str = "up", enps3: str = "up"
) -> tuple[Nic, ...]:
    """Return the four cards of a node in these states; an empty one can't be read."""
    states = {"enps0": enps0, "enps1": enps1, "enps2": enps2, "enps3": enps3}
    return tuple(nic(name, state) for name, state in states.items())


def config(
    bus: DpuBus = DpuBus.UB,
    *,
    vendor_ids: frozenset[str] = frozenset({VENDOR}),
    device_ids: frozenset[str] = frozenset({DEVICE}),
    names: frozenset[str] = frozenset(),
) -> DpuConfig:
    return DpuConfig(bus=bus, vendor_ids=vendor_ids, device_ids=device_ids, names=names)


class FakeNics:
    """Shows each look that ``show`` is given; ``paths`` are the PCI devices there are."""

    def __init__(self, paths: Mapping[str, str] | None = None) -> None:
        self.paths = dict(paths or {})
        self.watchers = 0
        self._looks: Latest[NicLook] = Latest("looks")
        self._writer = self._looks.claim("test")

    def show(self, *seen: Nic, trouble: str = "") -> None:
        self._writer.put(NicLook(nics=seen, trouble=trouble))

    async def looks(self) -> AsyncIterator[NicLook]:
        self.watchers += 1
        try:
            async for look in self._looks.changes():
                yield look
        finally:
            self.watchers -= 1

    async def pci_paths(self, buses: Sequence[str]) -> Mapping[str, str]:
        return {bus: self.paths[bus] for bus in buses if bus in self.paths}
