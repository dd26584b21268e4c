"""Ascend 310B: system on a chip whose media and display units have device nodes of their own."""

from typing import Final

from ascend_agent.model.allocation import mandatory_node, optional_nodes
from ascend_agent.model.chip import CardWords, ChipSpec, VisibleIds
from ascend_agent.model.npu import ChipIdentity, NpuIdentity


def _recognises(chip: ChipIdentity) -> bool:
    return "310B" in chip.chip_name


def _link_group(npu: NpuIdentity, count: int) -> int:  # noqa: ARG001 -- the seam's signature
    return npu.phy


SPEC: Final = ChipSpec(
    generation="310B",
    word="Ascend310",
    precedence=40,
    recognises=_recognises,
    link_group=_link_group,
    visible_ids=VisibleIds.PHYSICAL,
    card=CardWords(server="Ascend310B", accelerator=None),
    common_nodes=(
        # Quirk: the 310B driver has a manager node of its own for containers; a container must
        # find it under the usual name.
        mandatory_node("/dev/davinci_manager", alternative="/dev/davinci_manager_docker"),
        *optional_nodes("/dev/hisi_hdc", "/dev/devmm_svm", "/dev/dvpp_cmdlist"),
        *optional_nodes(
            "/dev/pngd",
            "/dev/venc",
            "/dev/upgrade",
            "/dev/sys",
            "/dev/svm0",
            "/dev/vdec",
            "/dev/vpc",
            "/dev/ts_aisle",
            "/dev/log_drv",
            "/dev/acodec",
            "/dev/ai",
            "/dev/ao",
            "/dev/vo",
            "/dev/hdmi",
        ),
    ),
    # Its driver files are links, which the vendor's container runtime mounts only if told to.
    runtime_envs={"ASCEND_ALLOW_LINK": "True"},
)
