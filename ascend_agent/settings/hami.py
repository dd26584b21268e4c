"""What can be set about HAMi; a group of ``Settings``, whose names are those of the options."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from ascend_agent.model.hami import HamiRules, HookMount, PodMode, SoftPaths
from ascend_agent.model.vnpu import SweepMode
from ascend_agent.settings.forms import AbsolutePath


class HamiSettings(BaseModel):
    """The settings of the hami dialect; nothing else reads them."""

    # Built only as a part of the whole ``Settings``.
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    device_config: AbsolutePath = Field(
        default=Path("/device-config.yaml"),
        description="HAMi's device-config.yaml; the built-in chip table where there is none",
    )
    node_config: AbsolutePath = Field(
        default=Path("/node-config.yaml"),
        description="HAMi's node-config.yaml; global settings where there is none",
    )
    hami_root: AbsolutePath = Field(
        default=Path("/usr/local/hami-vnpu-core"),
        description="directory on the host of the limiting library and of containers' directories",
    )
    hami_shared_region: AbsolutePath = Field(
        default=Path("/usr/local/hami-shared-region"),
        description="directory on the host in which containers of one NPU take turns",
    )
    hami_assets: AbsolutePath = Field(
        default=Path("/usr/local/hami-vnpu-core-assets"),
        description="directory with libvnpu.so and ld.so.preload, from which the host gets them",
    )
    hami_hook_mount: HookMount = Field(
        default=HookMount.DIR,
        description="mount the library's directory (HAMi 2.9 needs it), or the library alone",
    )
    hami_node_mode: PodMode = Field(
        default=PodMode.AUTO,
        description="which pods without vnpu-mode get soft slices on a soft node",
    )
    hami_strict_lock: bool = Field(
        default=False,
        description="serve no pod but the owner of the node lock; not for Volcano, whose has none",
    )
    hami_fence: bool = Field(
        default=True,
        description="publish sick NPUs with no devices, so that older schedulers avoid them",
    )
    hami_refuse_unhealthy: bool = Field(
        default=True, description="refuse a pod whose NPU is sick by now"
    )
    hami_check_quotas: bool = Field(
        default=True, description="refuse memory and cores beyond what the card has"
    )
    hami_network_group: int = Field(
        default=4, ge=1, le=64, description="NPUs of network group 0; all others are in group 1"
    )
    hami_handshake_s: float = Field(
        default=30, ge=10, le=50, description="seconds from the scheduler's question to the answer"
    )
    hami_report_offset_s: int = Field(
        default=1, ge=-60, le=60, description="seconds added to the time in an answer"
    )
    hami_host_sum: bool = Field(
        default=True,
        description="hami_host_gpu_memory_used_bytes is the containers' sum where they report",
    )
    vnpu_sweep: SweepMode = Field(
        default=SweepMode.REMOVE,
        description="what becomes of vNPUs nobody owns; removed once all owners were read",
    )
    vnpu_sweep_interval_s: float = Field(
        default=60, ge=5, le=86400, description="seconds between two sweeps"
    )
    vnpu_sweep_grace_s: float = Field(
        default=120, ge=30, le=86400, description="seconds a vNPU must be idle and unowned"
    )

    @property
    def soft_paths(self) -> SoftPaths:
        """Where the parts of soft slices lie on the host."""
        return SoftPaths(
            root=str(self.hami_root),
            region=str(self.hami_shared_region),
            hook=self.hami_hook_mount,
        )

    @property
    def hami_rules(self) -> HamiRules:
        """How strict the dialect is."""
        return HamiRules(
            pod_mode=self.hami_node_mode,
            strict_lock=self.hami_strict_lock,
            fence=self.hami_fence,
            refuse_unhealthy=self.hami_refuse_unhealthy,
            check_quotas=self.hami_check_quotas,
            network_group=self.hami_network_group,
        )
