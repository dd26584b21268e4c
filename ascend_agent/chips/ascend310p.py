"""Ascend 310P: inference cards of one chip or two (300I Duo), and the 200I SoC A1."""

import re
from typing import Final

from ascend_agent.model.allocation import mandatory_node, optional_nodes
from ascend_agent.model.chip import CardWords, ChipSpec, VisibleIds
from ascend_agent.model.npu import ChipIdentity, NpuIdentity

_NAME = re.compile(r"310P|I2")  # builds for China say I2 where others say 310P1 or 310P3

_SOC_NODES = optional_nodes(
    "/dev/vpc",
    "/dev/vdec",
    "/dev/sys",
    "/dev/spi_smbus",
    "/dev/user_config",
    "/dev/ts_aisle",
    "/dev/svm0",
    "/dev/log_drv",
    "/dev/memory_bandwidth",
    "/dev/upgrade",
    "/dev/event_sched",
    "/dev/xsmem_dev",
)


def _recognises(chip: ChipIdentity) -> bool:
    return _NAME.match(chip.chip_name) is not None


def _link_group(npu: NpuIdentity, count: int) -> int:  # noqa: ARG001 -- the seam's signature
    """Return the card: the two chips of a Duo are linked, any other chip has a card to itself."""
    card = npu.address.card
    return npu.phy if card is None else card


SPEC: Final = ChipSpec(
    generation="310P",
    word="Ascend310P",
    precedence=30,
    recognises=_recognises,
    link_group=_link_group,
    visible_ids=VisibleIds.PHYSICAL,
    card=CardWords(
        server="Ascend310P",
        accelerator="huawei-Ascend310P",
        infer_cards={"Atlas 300I Duo": "card-300i-duo", "300I Duo": "card-300i-duo"},
    ),
    common_nodes=(
        mandatory_node("/dev/davinci_manager"),
        *optional_nodes("/dev/hisi_hdc", "/dev/devmm_svm", "/dev/dvpp_cmdlist"),
    ),
    # Builds for China drop the word Atlas, here and above.
    product_nodes={"Atlas 200I SoC A1": _SOC_NODES, "200I SoC A1": _SOC_NODES},
    coupled_card=True,  # of the Duo; the others have one chip a card
)
