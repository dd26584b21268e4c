"""Ascend 950 (A5): addressed by logic id alone, linked over UB instead of HCCS."""

from typing import Final

from ascend_agent.model.allocation import DirectoryWant, mandatory_node, optional_nodes
from ascend_agent.model.chip import CardWords, ChipSpec, Ports, VisibleIds
from ascend_agent.model.npu import ChipIdentity, NpuIdentity

_LONGEST_NAME = 32
_ATLAS_850 = frozenset({0x23, 0x25, 0x27})


def _recognises(chip: ChipIdentity) -> bool:
    return chip.chip_name.startswith("Ascend950") and len(chip.chip_name) <= _LONGEST_NAME


def _link_group(npu: NpuIdentity, count: int) -> int:  # noqa: ARG001 -- the seam's signature
    return npu.phy


SPEC: Final = ChipSpec(
    generation="950",
    word="npu",
    precedence=20,
    recognises=_recognises,
    link_group=_link_group,
    # The vendor's container runtime is handed logic ids for this generation.
    visible_ids=VisibleIds.LOGIC,
    # The vendor's container runtime leaves the last two out here, its device plugin does not.
    card=CardWords(server="npu", accelerator="huawei-npu", tells_memory=True),
    common_nodes=(
        mandatory_node("/dev/davinci_manager"),
        *optional_nodes("/dev/hisi_hdc", "/dev/devmm_svm", "/dev/dvpp_cmdlist"),
    ),
    directories=(DirectoryWant(path="/dev/uburma"), DirectoryWant(path="/dev/ummu")),
    ports=Ports.UB,
    bonded_mainboards=_ATLAS_850,
    dpu_slots=(*[("1", "9")] * 4, *[("2", "10")] * 4),
)
