"""One node of real programs: containerd with runc, and a kubelet; each starts and ends alone.

The node's name, its folder and its control groups are its own, and go with ``close``. What runs
in it outlives a kubelet or containerd that is ended, as on any node.
"""

import platform
import secrets
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.api import Api, Json, node_path
from tests.cluster.node.enclosure import Enclosure
from tests.cluster.node.image import write_archive
from tests.cluster.node.layout import make_home, write_kubelet_config
from tests.cluster.programs import program
from tests.cluster.waiting import eventually

KUBELET = "kubelet"
CONTAINERD = "containerd"
_NEEDED = ("runc", "containerd-shim-runc-v2", "busybox")
_GO_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}
_SOCKET = "/run/containerd/containerd.sock"
_TAIL_LINES = 40
_FIRST_LIST = b'"SyncLoop ADD"'  # logged of a list without pods too


class ClusterNode:
    """A node, none of whose programs run yet; knows no event loop between calls."""

    def __init__(self) -> None:
        self._kubelet = program(KUBELET)
        self._containerd = program(CONTAINERD)
        self._ctr = program("ctr")
        for needed in _NEEDED:
            program(needed)
        self.name = f"node-{secrets.token_hex(3)}"
        self.home = make_home()
        self._inside = Enclosure(self.home)
        for arguments in self.home.mounts():
            self._inside.mount(arguments)
        self._config = write_kubelet_config(self.home, group=self._inside.group)
        self._asked = 0
        self._log_before = 0  # bytes of the kubelet's log when it was last started
        self.outages = 0  # of the API server, before the kubelet was started

    @property
    def group(self) -> str:
        """The control group that holds the node's pods, in every hierarchy."""
        return self._inside.group

    def close(self) -> None:
        """End all that runs here, and leave nothing."""
        self._inside.close()

    async def start_containerd(self) -> None:
        """Start containerd and wait until it answers; the image is there."""
        self._inside.start(CONTAINERD, [self._containerd])

        async def answers() -> bool | None:
            return await self.run(self._ctr, "version") == 0 or None

        await eventually(answers, what="containerd's answer")
        archive = self.home.path / "image.tar"
        if not archive.exists():
            write_archive(archive, architecture=_GO_NAMES[platform.machine()])
            await self.ctr("images", "import", str(archive))

    def start_kubelet(self, kubeconfig: Path) -> None:
        """Start the kubelet; that it serves is another matter (``ready``, ``hears_of_pods``)."""
        log = self.home.log(KUBELET)
        self._log_before = log.stat().st_size if log.exists() else 0
        self._inside.start(
            KUBELET,
            [
                self._kubelet,
                f"--config={self._config}",
                f"--kubeconfig={kubeconfig}",
                f"--hostname-override={self.name}",
                "--v=2",
            ],
        )

    async def stop(self, name: str, *, by: signal.Signals = signal.SIGTERM) -> None:
        """End the kubelet or containerd by a signal, and wait for it."""
        if self._inside.running(name):
            self._inside.send(name, by)
            await self._inside.ended(name)

    @contextmanager
    def halted(self, name: str) -> Iterator[None]:
        """Have a program stand still until the block ends, or it is killed."""
        self._inside.send(name, signal.SIGSTOP)
        try:
            yield
        finally:
            if self._inside.running(name):
                self._inside.send(name, signal.SIGCONT)

    def running(self, name: str) -> bool:
        """Return whether it runs, as far as was heard."""
        return self._inside.running(name)

    async def ctr(self, *arguments: str) -> None:
        """Ask containerd something by its own client, among the kubelet's containers."""
        status = await self.run(self._ctr, "--namespace=k8s.io", *arguments)
        assert status == 0, self.tail("run")

    async def run(self, *argv: str | Path) -> int:
        """Run a program inside to its end and return its status; the log ``run`` has its words."""
        self._asked += 1
        name = f"run-{self._asked}"
        self._inside.start(name, argv, log="run")
        return await self._inside.ended(name)

    async def ready(self, api: Api) -> Json:
        """Wait until the node says it is ready, and return it."""
        node = await api.until(node_path(self.name), is_ready)
        assert node is not None
        return node

    async def hears_of_pods(self) -> None:
        """Wait until the kubelet that was started last was told which pods there are.

        Until then it takes devices in its checkpoint for taken, those of pods as well that are
        gone, and refuses a pod that comes with the first list for want of others.
        """
        log = self.home.log(KUBELET)

        async def told() -> bool | None:
            with log.open("rb") as lines:
                lines.seek(self._log_before)
                return any(_FIRST_LIST in line and b'"api"' in line for line in lines) or None

        await eventually(told, what="the kubelet's first list of pods")

    def tail(self, name: str) -> str:
        """Return the end of a program's log."""
        log = self.home.log(name)
        lines = log.read_text(errors="replace").splitlines() if log.exists() else []
        return "\n".join(lines[-_TAIL_LINES:])


def is_ready(node: Json | None) -> bool:
    """Return whether a Node object says that it is ready."""
    conditions = node["status"].get("conditions", []) if node else []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
