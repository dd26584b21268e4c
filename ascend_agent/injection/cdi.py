"""Names of CDI devices in the Allocate answer, and the specification that gives them a meaning.

The container runtime looks the names up in a file that ``flows/write_cdi_spec`` keeps current.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from ascend_agent.injection.driver_access import common_wants
from ascend_agent.interfaces import Injection
from ascend_agent.model.allocation import (
    ContainerGrant,
    DeviceNode,
    HostMount,
    InjectionWants,
    mandatory_node,
)
from ascend_agent.model.chip import ChipSpec
from ascend_agent.model.npu import Npu

__all__ = ["INJECTION", "CdiDevices", "common_wants", "document"]

_KIND: Final = "ascend-agent/npu"
_VERSION: Final = "0.5.0"
"""The first version whose device names may begin with a digit and whose nodes have a host path."""

_MOUNT_OPTIONS: Final = ("rbind", "rprivate", "nosuid", "nodev")


class CdiDevices:
    """The container runtime hands in what the specification says."""

    name: ClassVar[str] = "cdi"
    reads_mounts = False

    def wants(
        self,
        npus: Sequence[tuple[Npu, ChipSpec]],
        *,
        base_mounts: tuple[str, ...] | None,  # noqa: ARG002 -- mounts are in the specification
    ) -> InjectionWants:
        """Return the qualified names, in the order of *npus*, and the nodes they stand for.

        The runtime refuses a container whose node is missing too, but only once its pod started.
        """
        common = common_wants(npus, base_mounts=())
        return InjectionWants(
            needs=(
                *(node for node in common.nodes if node.mandatory),
                *(mandatory_node(f"/dev/davinci{npu.phy}") for npu, _ in npus),
            ),
            cdi_devices=tuple(f"{_KIND}={npu.phy}" for npu, _ in npus),
        )


def document(npus: Sequence[tuple[Npu, ChipSpec]], common: ContainerGrant) -> Mapping[str, object]:
    """Return the CDI specification of a node with these NPUs, the same for the same input.

    *common* is what ``common_wants`` came to on this host. One device an NPU, named by its
    physical id, ascending. Container runtimes refuse a specification without any device.
    """
    devices = [
        {
            "name": str(phy),
            "containerEdits": {
                "deviceNodes": [
                    {"path": f"/dev/davinci{phy}", "permissions": "rw"},
                ]
            },
        }
        for phy in sorted({npu.phy for npu, _ in npus})
    ]
    return {
        "cdiVersion": _VERSION,
        "kind": _KIND,
        "containerEdits": {
            "deviceNodes": [_node(node) for node in common.nodes],
            "mounts": [_mount(mount) for mount in common.mounts],
        },
        "devices": devices,
    }


def _node(node: DeviceNode) -> Mapping[str, str]:
    edit = {"path": node.container_path, "permissions": node.permissions}
    if node.host_path != node.container_path:
        edit["hostPath"] = node.host_path
    return edit


def _mount(mount: HostMount) -> Mapping[str, object]:
    access = "ro" if mount.read_only else "rw"
    return {
        "hostPath": mount.host_path,
        "containerPath": mount.container_path,
        "options": [access, *_MOUNT_OPTIONS],
    }


INJECTION: Final[Injection] = CdiDevices()
