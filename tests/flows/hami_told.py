"""A node under HAMi on which everything there is to tell is told."""

from dataclasses import replace

from ascend_agent.model.hami import (
    HamiChip,
    HamiConfig,
    HamiLayout,
    HamiRegistration,
    HamiState,
    HamiTemplate,
    RegistrationPhase,
)
from ascend_agent.model.ids import DieId, Millis, PhyId, ResourceName
from ascend_agent.model.npu import HiddenNpu, Inventory
from ascend_agent.model.vnpu import SweepMode, Vnpu, VnpuId, VnpuSweep
from tests.fakes.npus import address, inventory

CHIP = HamiChip(
    chip_name="910B3",
    word="Ascend910B3",
    resource=ResourceName("huawei.com/Ascend910B3"),
    memory_resource="huawei.com/Ascend910B3-memory",
    core_resource="huawei.com/Ascend910B3-core",
    allocatable_mib=65536,
    capacity_mib=65536,
    templates=(HamiTemplate(name="vir05_1c_16g", memory_mib=16384, ai_core=5, ai_cpu=1),),
)
STATE = HamiState(
    config=HamiConfig(chips=(CHIP,), layout=HamiLayout.NESTED),
    chip=CHIP,
    shares=4,
    wants_soft=True,
    soft_trouble="libvnpu.so is for another architecture",
    warnings=("unknown key <vDevice>",),
    refused=("node-config.yaml: no mapping",),
    origins={"shares": "template vir05_1c_16g", "soft": "default"},
)
REGISTRATION = HamiRegistration(
    phase=RegistrationPhase.ASKED,
    word="Ascend910B3",
    devices="[]",
    handshake="Requesting_2026-01-01 00:00:12",
    counts={DieId("00000000-00000005-DEADBEEF-00000000-00FF00FF"): 4},
    told_at_ms=Millis(1_700_000_000_000),
)
_FIRST = Vnpu(vnpu=VnpuId(100), template="vir05_1c_16g", opened=True, container=0)
_SECOND = replace(_FIRST, vnpu=VnpuId(101), opened=False)
SWEEP = VnpuSweep(
    mode=SweepMode.REMOVE,
    found={PhyId(1): (_FIRST, _SECOND)},
    surplus={PhyId(1): (_SECOND,)},
    removed=3,
    failed={PhyId(1): "the driver is busy"},
)


def with_hidden(count: int = 2) -> Inventory:
    """Return an inventory from which the operator keeps one NPU back."""
    hidden = HiddenNpu(address=address(7), phy=PhyId(7), die=DieId("D7"))
    return replace(inventory(count), hidden=(hidden,))
