"""A sysfs in a directory, with the kernel's links: what a test does to it, it can see."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Sysfs:
    """The sysfs at ``root``."""

    root: Path

    def add_device(self, place: str, **attributes: str) -> Path:
        """Make a device below ``devices`` with these attributes."""
        path = self.root / "devices" / place
        path.mkdir(parents=True, exist_ok=True)
        for name, value in attributes.items():
            (path / name).write_text(f"{value}\n")
        return path

    def add_nic(
        self,
        name: str,
        *,
        place: str | None = None,
        slot: str = "1",
        operstate: str = "up",
        index: int = 1,
    ) -> Path:
        """Make an interface of a device; ``device`` and the entry of the class are links."""
        parent = place or f"ub0/{name}"
        self.add_device(parent, vendor="0x10b5", device="0x1825", slot_id=slot)
        path = self.add_device(f"{parent}/net/{name}", operstate=operstate, ifindex=str(index))
        (path / "device").symlink_to("../..")
        self._enlist(name, f"{parent}/net/{name}")
        return path

    def add_virtual(self, name: str) -> None:
        """Make an interface that belongs to no device, such as the host's end of a pod's."""
        self.add_device(f"virtual/net/{name}", operstate="up", ifindex="9")
        self._enlist(name, f"virtual/net/{name}")

    def set_operstate(self, name: str, operstate: str) -> None:
        path = self.root / "class" / "net" / name / "operstate"
        path.with_name("new").write_text(f"{operstate}\n")
        path.with_name("new").rename(path)  # never empty, as the kernel's never is

    def remove(self, name: str) -> None:
        (self.root / "class" / "net" / name).unlink()

    def _enlist(self, name: str, place: str) -> None:
        net = self.root / "class" / "net"
        net.mkdir(parents=True, exist_ok=True)
        (net / name).symlink_to(f"../../devices/{place}")
