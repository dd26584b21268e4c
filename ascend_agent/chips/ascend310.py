"""Ascend 310: inference chip, up to four on a card, no links between chips."""

from typing import Final

from ascend_agent.model.allocation import mandatory_node, optional_nodes
from ascend_agent.model.chip import CardWords, ChipSpec, VisibleIds
from ascend_agent.model.npu import ChipIdentity, NpuIdentity


def _recognises(chip: ChipIdentity) -> bool:
    # 310P and 310B contain the text too: they are asked first.
    return "310" in chip.chip_name


def _link_group(npu: NpuIdentity, count: int) -> int:  # noqa: ARG001 -- the seam's signature
    return npu.phy


SPEC: Final = ChipSpec(
    generation="310",
    word="Ascend310",
    precedence=50,
    recognises=_recognises,
    link_group=_link_group,
    visible_ids=VisibleIds.PHYSICAL,
    card=CardWords(server="Ascend310", accelerator="huawei-Ascend310"),
    common_nodes=(
        mandatory_node("/dev/davinci_manager"),
        *optional_nodes("/dev/hisi_hdc", "/dev/devmm_svm", "/dev/dvpp_cmdlist"),
    ),
)
