"""A node's file system: what its programs find, and where the agent finds the same from outside.

In its own mount namespace the node's ``/var`` and ``/run`` are folders of the test, and ``/dev``,
``/etc`` and ``/usr/local`` are the machine's with the test's files laid over them. So the kubelet,
containerd and the answers of the agent all speak of a host's usual paths, nothing of the machine
is touched, and the agent, which runs outside, sees the same host through ``--host-root``.
"""

import os
import shlex
import stat
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import yaml

from tests.cluster.node.image import IMAGE
from tests.cluster.ports import free_port

DRIVER_FILES = (
    "usr/local/Ascend/driver/lib64/libascend_hal.so",
    "usr/local/Ascend/driver/version.info",
    "usr/local/dcmi/libdcmi.so",
    "usr/local/bin/npu-smi",
    "etc/ascend_install.info",
)
"""Files of the vendor's driver, below the root; each says its own path."""
HAMI_PLACES = ("usr/local/hami-vnpu-core", "usr/local/hami-shared-region")
"""What soft slices have on the host, below the root; there from the start, and empty."""

DEVICE_NUMBERS: Mapping[str, tuple[int, int]] = MappingProxyType(
    {
        "davinci_manager": (243, 0),
        "devmm_svm": (243, 1),
        "hisi_hdc": (243, 2),
        **{f"davinci{phy}": (244, phy) for phy in range(16)},
    }
)
"""Major and minor of each device node, by its name in ``/dev``.

The majors are for local use and have no driver. So who may open a node is told that there is no
such device, and who may not, by the device control group, is refused; a node such as 1:3 would
prove nothing, because every container may open it.
"""

_TUNABLES: Mapping[str, int] = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1_000_000,
    "kernel/keys/root_maxbytes": 25_000_000,
}
"""What the kubelet sets in the kernel where it finds anything else (pkg/kubelet/cm)."""

_CONTAINERD = f"""\
version = 3
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.nri.v1.nri",
  "io.containerd.image-verifier.v1.bindir",
]

[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{IMAGE}"

[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true
  cdi_spec_dirs = ["/var/run/cdi"]

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  SystemdCgroup = false
"""

_LOOPBACK = """\
{"cniVersion": "1.0.0", "name": "none", "plugins": [{"type": "loopback"}]}
"""


@dataclass(frozen=True, slots=True)
class NodeHome:
    """The folder of one node, by what is where in it as seen from outside."""

    path: Path

    @property
    def root(self) -> Path:
        """What is laid over the machine's file system; the agent's ``--host-root``."""
        return self.path / "root"

    @property
    def kubelet(self) -> Path:
        """The node's ``/var/lib/kubelet``."""
        return self.path / "var/lib/kubelet"

    @property
    def plugins(self) -> Path:
        """The kubelet's device-plugin directory."""
        return self.kubelet / "device-plugins"

    @property
    def checkpoint(self) -> Path:
        """What the kubelet's device manager remembers over its own restarts."""
        return self.plugins / "kubelet_internal_checkpoint"

    @property
    def pod_resources(self) -> Path:
        """The socket on which the kubelet tells who has what, and what it could give."""
        return self.kubelet / "pod-resources" / "kubelet.sock"

    @property
    def cdi(self) -> Path:
        """The node's ``/var/run/cdi``."""
        return self.path / "run/cdi"

    @property
    def hami_root(self) -> Path:
        """The node's ``/usr/local/hami-vnpu-core``, which is the test's own and can be written."""
        return self.root / HAMI_PLACES[0]

    @property
    def hami_region(self) -> Path:
        """The node's ``/usr/local/hami-shared-region``, likewise."""
        return self.root / HAMI_PLACES[1]

    @property
    def pod_logs(self) -> Path:
        """The node's ``/var/log/pods``."""
        return self.path / "var/log/pods"

    def log(self, program: str) -> Path:
        """Return the log of one of the node's programs."""
        return self.path / f"{program}.log"

    def mounts(self) -> Sequence[tuple[str, ...]]:
        """Return the arguments of ``mount`` that make the node's view, in order."""
        laid = [self._laid(name) for name in ("dev", "etc", "usr/local")]
        tunables = [
            ("--bind", str(self.path / "sysctl" / name.replace("/", ".")), f"/proc/sys/{name}")
            for name in _TUNABLES
        ]
        own = [("--bind", str(self.path / name), f"/{name}") for name in ("run", "var")]
        return (*laid, *self._hami_mounts(), *tunables, *own)

    def hami_view(self) -> Sequence[str]:
        """Return what an agent is started through to see HAMi's places under the host's paths.

        A view of its own, of which nobody else knows: as the volumes of its pod give it.
        """
        mounts = [self._laid("usr/local"), *self._hami_mounts()]
        orders = [shlex.join(("mount", *each)) for each in mounts]
        script = "; ".join((*orders, 'exec "$@"'))
        return ("unshare", "--mount", "--", "sh", "-ec", script, "sh")

    def _laid(self, name: str) -> tuple[str, ...]:
        layers = f"lowerdir={self.root / name}:/{name}"
        return ("-t", "overlay", "overlay", "-o", layers, f"/{name}")

    def _hami_mounts(self) -> Sequence[tuple[str, ...]]:
        return [("--bind", str(self.root / place), f"/{place}") for place in HAMI_PLACES]


def make_home() -> NodeHome:
    """Make a folder with a short path (socket paths have 107 bytes) and all that is in it."""
    home = NodeHome(Path(tempfile.mkdtemp(prefix="node")))
    for folder in ("run/lock", "var/lib", "var/log", "var/tmp", "sysctl"):
        (home.path / folder).mkdir(parents=True)
    (home.path / "var/run").symlink_to("/run")
    home.plugins.mkdir(parents=True)
    for name, value in _TUNABLES.items():
        (home.path / "sysctl" / name.replace("/", ".")).write_text(f"{value}\n")
    _write(home.root / "etc/containerd/config.toml", _CONTAINERD)
    _write(home.root / "etc/cni/net.d/10-none.conflist", _LOOPBACK)
    for name in DRIVER_FILES:
        _write(home.root / name, f"/{name}\n")
    for place in (*HAMI_PLACES, "dev", "usr/local/Ascend/driver/lib64/driver"):
        (home.root / place).mkdir()
    for name, numbers in DEVICE_NUMBERS.items():
        os.mknod(home.root / "dev" / name, stat.S_IFCHR | 0o666, os.makedev(*numbers))
    return home


def write_kubelet_config(home: NodeHome, *, group: str) -> Path:
    """Write the kubelet's configuration; *group* is the control group all of its pods are in."""
    config = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{group}",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "enforceNodeAllocatable": [],
        "evictionHard": dict.fromkeys(
            ("memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available"), "0%"
        ),
        "failCgroupV1": False,
        "failSwapOn": False,
        "healthzPort": 0,
        "imageGCHighThresholdPercent": 100,
        "makeIPTablesUtilChains": False,
        "maxOpenFiles": 20000,
        "maxPods": 250,
        "nodeStatusReportFrequency": "1s",
        "nodeStatusUpdateFrequency": "1s",
        "oomScoreAdj": 0,
        "port": free_port(),
        "readOnlyPort": 0,
        "resolvConf": "",
        "volumePluginDir": "/var/lib/kubelet/volume-plugins",
    }
    path = home.path / "kubelet.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
