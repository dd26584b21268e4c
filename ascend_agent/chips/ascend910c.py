"""Ascend 910C (A3): two dies a card, each an NPU; HCCS among all sixteen of a server."""

from typing import Final

from ascend_agent.model.allocation import mandatory_node, optional_nodes
from ascend_agent.model.chip import CardWords, ChipSpec, Ports, VisibleIds
from ascend_agent.model.npu import ChipIdentity, NpuIdentity

_BOARDS = frozenset({0xB0, 0xB1, 0xB2, 0xB3, 0xB4, 0x81, 0x83, 0xD1, 0xD3})

_RING = 16


def _recognises(chip: ChipIdentity) -> bool:
    # Only the board tells an A3: its chip name is the plain family name. The name counts all the
    # same, since the boards of other families are numbered on their own.
    named = chip.chip_name == "Ascend910" or chip.chip_name.startswith("910")
    return named and chip.board_id in _BOARDS


def _link_group(npu: NpuIdentity, count: int) -> int:  # noqa: ARG001 -- the seam's signature
    # By physical id: logic ids shift when a card is lost, and its neighbours would change rings.
    return npu.phy // _RING


SPEC: Final = ChipSpec(
    generation="910C",
    word="Ascend910",
    precedence=10,
    recognises=_recognises,
    link_group=_link_group,
    visible_ids=VisibleIds.PHYSICAL,
    card=CardWords(server="Ascend910A3", accelerator="huawei-Ascend910", tells_memory=True),
    common_nodes=(
        mandatory_node("/dev/davinci_manager"),
        *optional_nodes("/dev/hisi_hdc", "/dev/devmm_svm", "/dev/dvpp_cmdlist"),
    ),
    ports=Ports.ROCE,
    has_switches=True,
)
