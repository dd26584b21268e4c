"""The network cards of the host in sysfs, looked at whenever the kernel says that a link changed.

Every event means "look again"; a slow poll finds what no event told, and a faster one stands in
where the kernel's word does not reach us. Which cards are DPU NICs is decided in
``faults/dpu_mapping``.
"""

import asyncio
import logging
import os
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from ascend_agent.errors import HostError
from ascend_agent.host.netlink import LinkEvents
from ascend_agent.model.nics import Nic, NicLook
from ascend_agent.runtime.threads import Threads

log = logging.getLogger(__name__)

T = TypeVar("T")

_BUS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_LONGEST = 32  # bytes of an attribute; the longest state, lowerlayerdown, has 14
_CALM_S = 0.05  # one change makes several messages, and a storm is no reason for a thousand looks
_OTHER_NAMESPACE = (
    "the agent lives in a network namespace of its own and hears of that alone; give its pod "
    "hostNetwork: true"
)


class SysfsNics:
    """Implements ``interfaces.NicWatcher`` on sysfs, which is mounted at *root*.

    *poll_s* is the time between two looks while the kernel tells of changes, *blind_s* while it
    does not.
    """

    def __init__(
        self,
        *,
        root: Path = Path("/sys"),
        connect: Callable[[], LinkEvents] = LinkEvents,
        poll_s: float = 5.0,
        blind_s: float = 1.0,
        deadline_s: float = 2.0,
    ) -> None:
        self._root = root
        self._scan = _Scan(root)
        self._connect = connect
        self._poll_s = poll_s
        self._blind_s = blind_s
        self._deadline_s = deadline_s
        self._threads = Threads(name="host-nics")
        self._events: LinkEvents | None = None
        self._virtual: frozenset[str] = frozenset()
        self._deaf = ""

    async def looks(self) -> AsyncGenerator[NicLook, None]:
        """Yield how the cards are now, and again each time they are different."""
        last: NicLook | None = None
        try:
            while True:
                # The socket first, then the look: what changes in between is heard.
                refused = self._listen()
                look = await self._look()
                self._tell(refused or self._deafness(look.nics))
                if look != last:
                    last = look
                    yield look
                await self._wait()
        finally:
            self._hang_up()

    async def pci_paths(self, buses: Sequence[str]) -> Mapping[str, str]:
        """Return where the PCI devices of these addresses lie, as ``Nic.path``; absent: unknown."""
        try:
            return await self._ask(partial(self._scan.pci_paths, tuple(buses)))
        except HostError:
            return {}

    def _listen(self) -> str:
        """Hear of changes from now on; return why that is refused, or an empty string."""
        if self._events is None:
            try:
                self._events = self._connect()
            except OSError as error:
                return f"rtnetlink: {error.strerror or error}"
        return ""

    def _hang_up(self) -> None:
        if self._events is not None:
            self._events.close()
            self._events = None

    async def _look(self) -> NicLook:
        try:
            nics, self._virtual = await self._ask(self._scan.nics)
        except HostError as error:
            return NicLook(trouble=str(error))
        return NicLook(nics=nics)

    async def _ask(self, question: Callable[[], T]) -> T:
        try:
            return await self._threads.run(question, deadline_s=self._deadline_s)
        except TimeoutError:
            why = f"did not answer within {self._deadline_s:g} s; look for a hung driver"
        except OSError as error:
            why = f"can't be listed ({error.strerror or error}); mount the host's /sys there"
        raise HostError(f"network cards in {self._root}: {why}")

    def _deafness(self, nics: Sequence[Nic]) -> str:
        """Return why events of these cards can't reach us, or an empty string.

        The cards are those of the network namespace in which sysfs was mounted.
        """
        if self._events is None:
            return ""
        heard = self._events.index_of
        return _OTHER_NAMESPACE if any(heard(nic.name) != nic.index for nic in nics) else ""

    async def _wait(self) -> None:
        """Return when a card may have changed, or when it is time to look anyway."""
        period_s = self._blind_s if self._deaf else self._poll_s
        if self._events is None:
            await asyncio.sleep(period_s)
            return
        try:
            async with asyncio.timeout(period_s):
                await self._hear(self._events)
        except TimeoutError:
            return
        except OSError as error:
            log.debug("link events ended", extra={"why": str(error)})
            self._hang_up()

    async def _hear(self, events: LinkEvents) -> None:
        while True:
            names = await events.next()
            # Interfaces of pods come and go by the dozen; none of them belongs to a device.
            if names is None or names - self._virtual:
                break
        await asyncio.sleep(_CALM_S)
        events.drain()

    def _tell(self, deaf: str) -> None:
        """Log when events stop coming, when the reason changes and when they are back."""
        if deaf == self._deaf:
            return
        self._deaf = deaf
        if deaf:
            log.warning("link events unavailable", extra={"why": deaf})
        else:
            log.info("link events available again")


class _Scan:
    """Reads sysfs at *root*; everything here may block and runs on a thread.

    A link may lead anywhere, and names come from the kernel and the vendor's library: whatever does
    not lie below ``devices`` in the end is not there.
    """

    def __init__(self, root: Path) -> None:
        self._root = str(root)

    def nics(self) -> tuple[tuple[Nic, ...], frozenset[str]]:
        """Return the interfaces of devices, ascending by name, and the names of all others."""
        net = f"{self._root}/class/net"
        devices = self._devices()
        nics, virtual = [], set()
        for entry in sorted(os.listdir(net)):  # noqa: PTH208 -- names, not paths
            # The kernel takes nearly any bytes for a name; as netlink's, it is shown as text.
            name = os.fsencode(entry).decode(errors="replace")
            # A node has hundreds of those, one a pod, and the whole way of a link takes long.
            if _target(f"{net}/{entry}").endswith(f"/virtual/net/{entry}"):
                virtual.add(name)
                continue
            place = os.path.realpath(f"{net}/{entry}")
            if place.startswith(devices):
                nics.append(_nic(name, place, devices=devices))
        return tuple(nics), frozenset(virtual)

    def pci_paths(self, buses: Sequence[str]) -> Mapping[str, str]:
        """Return the path of each PCI device, by its address as it was given."""
        devices = self._devices()
        paths = {}
        for bus in buses:
            # The driver writes hex digits large, sysfs small.
            if _BUS.fullmatch(bus.lower()):
                place = os.path.realpath(f"{self._root}/bus/pci/devices/{bus.lower()}")
                if place.startswith(devices) and os.path.exists(place):  # noqa: PTH110 -- a string
                    paths[bus] = _path(place, devices)
        return paths

    def _devices(self) -> str:
        return os.path.realpath(f"{self._root}/devices") + "/"


def _nic(name: str, place: str, *, devices: str) -> Nic:
    """Return the interface whose directory is *place*."""

    def read(attribute: str) -> str:
        return _read(f"{place}/{attribute}", devices=devices)

    operstate, index = read("operstate"), read("ifindex")
    carrier = read("carrier") if operstate == "unknown" else ""
    return Nic(
        name=name,
        path=_path(place, devices),
        vendor_id=read("device/vendor"),
        device_id=read("device/device"),
        slot=read("device/slot_id"),
        operstate=operstate,
        carrier={"1": True, "0": False}.get(carrier),
        index=int(index) if index.isascii() and index.isdigit() else None,
    )


def _target(path: str) -> str:
    """Return what a link says, empty where there is none any more or it is none."""
    try:
        return os.readlink(path)  # noqa: PTH115 -- at each look, and a Path costs thrice the call
    except OSError:
        return ""


def _path(place: str, devices: str) -> str:
    return f"devices/{place.removeprefix(devices)}"


def _read(path: str, *, devices: str) -> str:
    """Return a short attribute, trimmed; empty where it can't be read or lies elsewhere."""
    place = os.path.realpath(path)
    if not place.startswith(devices):
        return ""
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        data = os.read(descriptor, _LONGEST)
    except OSError:
        return ""  # so says a link that is down of its carrier
    finally:
        os.close(descriptor)
    return data.decode("ascii", errors="replace").strip("\0 \t\r\n")
