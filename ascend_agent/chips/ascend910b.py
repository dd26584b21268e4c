"""Ascend 910B (A2): HCCS among all chips of the host, or none on the inference cards."""

import re
from typing import Final

from ascend_agent.model.allocation import mandatory_node, optional_nodes
from ascend_agent.model.chip import CardWords, ChipSpec, Ports, VisibleIds
from ascend_agent.model.npu import ChipIdentity, NpuIdentity

_NAME = re.compile(r"(?:910B|A2G)\d")  # builds for China say A2G4 where others say 910B4

_INFERENCE_BOARDS = frozenset({0x28, 0x29})
"""300I A2 (32 and 64 GB)."""

_UNLINKED_BOARDS = _INFERENCE_BOARDS | {0x33, 0x3C}
"""The same, and the 800I A2 without HCCS."""

_RING = 8
_BOX16_RING = 16


def _recognises(chip: ChipIdentity) -> bool:
    return _NAME.match(chip.chip_name) is not None


def _link_group(npu: NpuIdentity, count: int) -> int:
    if npu.chip.board_id in _UNLINKED_BOARDS:
        return npu.phy
    # By physical id: logic ids shift when a card is lost, and its neighbours would change rings.
    return npu.phy // (_BOX16_RING if count > _RING else _RING)


SPEC: Final = ChipSpec(
    generation="910B",
    word="Ascend910",
    precedence=60,
    recognises=_recognises,
    link_group=_link_group,
    visible_ids=VisibleIds.PHYSICAL,
    card=CardWords(
        server="Ascend910B",
        accelerator="huawei-Ascend910",
        tells_memory=True,
        accelerator_types=dict.fromkeys(_INFERENCE_BOARDS, "card-910b-infer"),
    ),
    common_nodes=(
        mandatory_node("/dev/davinci_manager"),
        *optional_nodes("/dev/hisi_hdc", "/dev/devmm_svm", "/dev/dvpp_cmdlist"),
    ),
    ports=Ports.ROCE,
)
