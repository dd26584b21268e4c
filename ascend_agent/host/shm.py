"""The files in which the limiting library of soft slices keeps its accounts, read and never mapped.

Containers may write whatever they like there, and put there whatever they like: a pipe, a link, a
device, a file that shrinks while it is read. Looked at is what is asked for by name, however many
files there are besides. Whose the numbers are is decided elsewhere.
"""

import os
import re
import stat
import struct
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from ascend_agent.errors import HostError
from ascend_agent.model.ids import PhyId
from ascend_agent.model.metered import SoftReadings, SoftUsage, TurnUsage, Unread
from ascend_agent.runtime.threads import Threads

DEVICES: Final = 8
"""NPUs of which a container's file can tell."""

LOCAL_BYTES: Final = 6200
_LOCAL_FILE = "vnpu_local_shmem"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_LIMIT = struct.Struct("<Q")
_PROCESSES_AT = 1080
_PROCESS = struct.Struct(f"<ii{DEVICES}QI4x")
_LEAST_BYTES = _PROCESSES_AT + _PROCESS.size

# Two layouts of the registry: the library of HAMi 2.10 added a priority to each slot.
_SLOT_SIZES = {2848: 40, 2336: 32}
_REGISTRY_BYTES = max(_SLOT_SIZES)
_REGISTRY = struct.Struct("<I4xQII")
_SLOTS_AT = 280
_SLOTS = 64
_SLOT_ACTIVE = struct.Struct("<24xI")
_QUEUE = 64
_WORD = 2**32

MOST_BYTES: Final = 2**50
"""More than any NPU has; a file with such a number is no account."""
_MOST_US = 2**52
"""A hundred and forty years from the epoch."""
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class SoftFiles:
    """Implements ``interfaces.SoftMeter`` on the host's directories; blocks, never for long.

    Of a host that does not answer within *deadline_s* nothing is told: all else that is known of
    the node must not wait for its disk.
    """

    def __init__(self, *, root: Path, shared_region: Path, deadline_s: float = 2.0) -> None:
        self._containers = root / "containers"
        self._shared_region = shared_region
        self._deadline_s = deadline_s
        self._threads = Threads(name="soft-files", limit=1)

    def read(self, *, containers: Collection[str], npus: Collection[PhyId]) -> SoftReadings:
        """Return what the files say; what is missing or unfinished is absent."""
        try:
            work = partial(self._read, containers, npus)
            return self._threads.call(work, deadline_s=self._deadline_s)
        except TimeoutError:
            return SoftReadings(unread={Unread.LATE: 1})
        except HostError:  # no thread is to be had
            return SoftReadings(unread={Unread.UNREADABLE: 1})

    def _read(self, names: Collection[str], npus: Collection[PhyId]) -> SoftReadings:
        unread: Counter[Unread] = Counter()
        containers: dict[str, SoftUsage] = {}
        for name, data in self._locals(names, unread):
            with _judged(unread):
                if (usage := decode_local(data)) is not None:
                    containers[name] = usage
        turns: dict[PhyId, TurnUsage] = {}
        for npu, data in self._registries(npus, unread):
            with _judged(unread):
                if (turn := decode_registry(data)) is not None:
                    turns[npu] = turn
        return SoftReadings(containers=containers, turns=turns, unread=unread)

    def _locals(
        self, names: Collection[str], unread: Counter[Unread]
    ) -> Iterator[tuple[str, bytes]]:
        """Yield the file of each container that has one, with the name of its directory."""
        with _directory(self._containers, unread) as root:
            for name in names if root is not None else ():
                if not _NAME.fullmatch(name):
                    continue  # no container's, and it might lead elsewhere
                with _directory(name, unread, inside=root) as own:
                    if (data := _content(own, _LOCAL_FILE, LOCAL_BYTES, unread)) is not None:
                        yield name, data

    def _registries(
        self, npus: Collection[PhyId], unread: Counter[Unread]
    ) -> Iterator[tuple[PhyId, bytes]]:
        with _directory(self._shared_region, unread) as root:
            for npu in npus:
                # One byte more than the largest layout: a larger file has none that we know.
                name = f"{npu}_global_registry"
                data = _content(root, name, _REGISTRY_BYTES + 1, unread)
                if data is not None:
                    yield npu, data


def decode_local(data: bytes) -> SoftUsage | None:
    """Return what a container's file says, None where it is too short to say anything.

    Raises:
        ValueError: it has numbers that no machine has.

    """
    if len(data) < _LEAST_BYTES:
        return None
    (limit,) = _LIMIT.unpack_from(data)
    used = [0] * DEVICES
    for at in range(_PROCESSES_AT, len(data) - _PROCESS.size + 1, _PROCESS.size):
        _, _, *sizes, active = _PROCESS.unpack_from(data, at)
        if active:  # a slot stays as it was when its process has ended
            used = [before + size for before, size in zip(used, sizes, strict=True)]
    if max(limit, *used) > MOST_BYTES:
        raise ValueError("more memory than any NPU has")
    return SoftUsage(limit_bytes=limit, used_bytes=tuple(used))


def decode_registry(data: bytes) -> TurnUsage | None:
    """Return what an NPU's file of turns says, None where it has neither known size.

    Raises:
        ValueError: it has numbers that can't be.

    """
    slot_size = _SLOT_SIZES.get(len(data))
    if slot_size is None:
        return None
    owner, since_us, head, tail = _REGISTRY.unpack_from(data)
    active = [
        bool(_SLOT_ACTIVE.unpack_from(data, _SLOTS_AT + slot * slot_size)[0])
        for slot in range(_SLOTS)
    ]
    waiting = (tail - head) % _WORD
    if waiting > _QUEUE and max(head, tail) < _QUEUE:
        waiting = (tail - head) % _QUEUE  # kept as places in the ring
    taken = owner < _SLOTS and active[owner] and since_us > 0
    if waiting > _QUEUE or (taken and since_us > _MOST_US):
        raise ValueError("a queue or a time that can't be")
    return TurnUsage(
        managers=sum(active), waiting=waiting, turn_since_us=since_us if taken else None
    )


@contextmanager
def _judged(unread: Counter[Unread]) -> Iterator[None]:
    try:
        yield
    except ValueError:
        unread[Unread.IMPLAUSIBLE] += 1


@contextmanager
def _directory(
    name: Path | str, unread: Counter[Unread], *, inside: int | None = None
) -> Iterator[int | None]:
    """Open a directory that is no link; None where there is none, or it can't be read."""
    flags = _OPEN | os.O_DIRECTORY | (os.O_NOFOLLOW if inside is not None else 0)
    descriptor = None
    try:
        descriptor = os.open(name, flags, dir_fd=inside)
    except FileNotFoundError:
        pass
    except OSError:
        unread[Unread.UNREADABLE] += 1
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _content(directory: int | None, name: str, limit: int, unread: Counter[Unread]) -> bytes | None:
    """Return the first *limit* bytes of a regular file, None where there is none."""
    if directory is None:
        return None
    try:
        return _read(directory, name, limit)
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        unread[Unread.UNREADABLE] += 1
        return None


def _read(directory: int, name: str, limit: int) -> bytes:
    # To open a device already does something to it, so what is there is looked at before; and it
    # may be replaced meanwhile, so what was looked at is opened, not what has its name.
    place = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
    try:
        if not stat.S_ISREG(os.fstat(place).st_mode):
            raise ValueError(f"{name} is no regular file")
        descriptor = os.open(f"/proc/self/fd/{place}", _OPEN)
    finally:
        os.close(place)
    try:
        return os.pread(descriptor, limit, 0)
    finally:
        os.close(descriptor)
