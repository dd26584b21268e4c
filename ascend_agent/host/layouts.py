"""Where the kubelet of this node keeps its directories, when nobody said (PM-2).

The device-plugin directory and the pod-resources socket move independently: some distributions
patch the first, ``--root-dir`` moves the second. So each is looked for by itself. What was found
is logged by ``app``; an option always wins.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from ascend_agent.settings import Settings

KUBELET_DIRS = (
    Path("/var/lib/kubelet"),  # kubeadm, k3s, RKE2, OpenShift: the kubelet's own default
    Path("/var/snap/microk8s/common/var/lib/kubelet"),  # MicroK8s
    Path("/var/lib/k0s/kubelet"),  # k0s
    Path("/opt/rke/var/lib/kubelet"),  # RKE on systems with a read-only root
)


def find_kubelet_dir(part: str, *, known: Sequence[Path] = KUBELET_DIRS) -> Path:
    """Return the directory whose *part* is this node's; the first of *known* where none is.

    Another than the first counts only with a kubelet's socket in it, and while the first has no
    such part at all: a kubelet that has not started yet must not lose to what is left of another.
    """
    first, *others = known
    if os.path.lexists(first / part):
        return first
    return next((each for each in others if os.path.exists(each / part / "kubelet.sock")), first)  # noqa: PTH110 -- False where we may not look, and Path.exists raises


def locate(settings: Settings, *, known: Sequence[Path] = KUBELET_DIRS) -> Settings:
    """Return *settings* with the kubelet's directories where this node has them, unless told."""
    found: dict[str, Path] = {}
    if not settings.model_fields_set & {"device_plugin_dir", "kubelet_socket"}:
        plugins = find_kubelet_dir("device-plugins", known=known) / "device-plugins"
        found |= {"device_plugin_dir": plugins, "kubelet_socket": plugins / "kubelet.sock"}
    if not settings.model_fields_set & {"kubelet_dir", "pod_resources_socket"}:
        root = find_kubelet_dir("pod-resources", known=known)
        socket = root / "pod-resources" / "kubelet.sock"
        found |= {"kubelet_dir": root, "pod_resources_socket": socket}
    return settings.model_copy(update=found)
