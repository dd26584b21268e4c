"""Ascend 910A (910, 910ProA, 910ProB): training chip, HCCS rings of four."""

from typing import Final

from ascend_agent.model.allocation import mandatory_node, optional_nodes
from ascend_agent.model.chip import CardWords, ChipSpec, Ports, VisibleIds
from ascend_agent.model.npu import ChipIdentity, NpuIdentity

_RING = 4


def _recognises(chip: ChipIdentity) -> bool:
    # 910B and A3 may begin alike: they are asked first.
    return chip.chip_name.startswith("910")


def _link_group(npu: NpuIdentity, count: int) -> int:  # noqa: ARG001 -- the seam's signature
    # By physical id: logic ids shift when a card is lost, and its neighbours would change rings.
    return npu.phy // _RING


SPEC: Final = ChipSpec(
    generation="910A",
    word="Ascend910",
    precedence=70,
    recognises=_recognises,
    link_group=_link_group,
    visible_ids=VisibleIds.PHYSICAL,
    card=CardWords(server="Ascend910", accelerator="huawei-Ascend910", tells_memory=True),
    common_nodes=(
        mandatory_node("/dev/davinci_manager"),
        *optional_nodes("/dev/hisi_hdc", "/dev/devmm_svm", "/dev/dvpp_cmdlist"),
    ),
    ports=Ports.ROCE,
)
