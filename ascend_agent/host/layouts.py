"""Where the kubelet of this node keeps its directories, when nobody said (PM-2).

The device-plugin directory and the pod-resources socket move independently: some distributions
patch the first, ``--root-dir`` moves the second. So each is looked for by itself. What was found
is logged by ``app``; an option always wins.
"""

import os
from collections.abc import Sequence
from pathlib import Path

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
