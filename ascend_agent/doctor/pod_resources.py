"""The check ``pod-resources``: whether the kubelet tells who holds which device.

Without it the agent serves all the same, and does not know which NPUs are in use.
"""

from collections import Counter
from typing import Final

from ascend_agent.doctor.check import Check
from ascend_agent.doctor.findings import Finding, fail, ok, warn
from ascend_agent.doctor.place import Place
from ascend_agent.errors import KubeletBusyError, KubeletError
from ascend_agent.kubelet.podresources import KubeletPodResources

_ASCEND: Final = "huawei.com/"


async def _look(place: Place) -> tuple[Finding, ...]:
    path = place.settings.pod_resources_socket
    source = KubeletPodResources(socket=path, timeout_s=place.deadline_s)
    try:
        holders = await source.read_holders()
    except KubeletBusyError as error:
        return (warn("kubelet is busy", str(error), remedy="ask again"),)
    except KubeletError as error:
        return (
            fail(
                "no pod resources",
                str(error),
                remedy="mount the kubelet's pod-resources directory into the pod, or correct "
                "--kubelet-dir (the kubelet's --root-dir) or --pod-resources-socket",
            ),
        )
    finally:
        source.close()
    held = Counter({name: len(ids) for name, ids in holders.items() if name.startswith(_ASCEND)})
    detail = ", ".join(f"{count} {name} held" for name, count in sorted(held.items()))
    return (ok("kubelet lists its pods", f"{path}: {detail or 'no NPU is held'}"),)


CHECK: Final = Check(
    name="pod-resources",
    asks="Does the kubelet's pod-resources socket answer, and which NPUs are held?",
    advice=(
        "No pod resources: the socket lies below the kubelet's --root-dir, which --kubelet-dir "
        "names; it does not move together with the device-plugin directory."
    ),
    look=_look,
)
