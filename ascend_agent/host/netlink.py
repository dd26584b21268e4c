"""Which network interfaces changed, told by the kernel the moment it happens (rtnetlink).

A message means "look again" and nothing else, so only its interface is read; what is true stands in
sysfs. A socket sees the network namespace it was opened in, which in a pod without ``hostNetwork``
is not the host's. What a change means is decided in ``nics`` and above.
"""

import asyncio
import errno
import fcntl
import socket
import struct
from collections.abc import Callable, Iterator

_LINK_GROUP = 1  # RTMGRP_LINK
_LINK_MESSAGES = (16, 17)  # RTM_NEWLINK, RTM_DELLINK
_OVERRUN = 4  # NLMSG_OVERRUN
_NAME = 3  # IFLA_IFNAME
_TYPE_MASK = 0x3FFF  # the two upper bits of an attribute's type are flags
_MESSAGE = struct.Struct("=IHHII")
_INTERFACE = struct.Struct("=BxHiII")
_ATTRIBUTE = struct.Struct("=HH")
_REQUEST = struct.Struct("16si20x")
_INDEX_OF = 0x8933  # SIOCGIFINDEX
_KERNEL = 0
_LONGEST = 1 << 16
_AT_ONCE = 1024


def open_link_socket() -> socket.socket:
    """Return a socket that hears of each change of a link; raises OSError where that is refused."""
    found = socket.socket(
        socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.NETLINK_ROUTE
    )
    try:
        found.bind((0, _LINK_GROUP))
    except OSError:
        found.close()
        raise
    return found


class LinkEvents:
    """The changes of links in one network namespace.

    Raises:
        OSError: this process may not hear of them.

    """

    def __init__(self, *, connect: Callable[[], socket.socket] = open_link_socket) -> None:
        self._socket = connect()

    async def next(self) -> frozenset[str] | None:
        """Return the interfaces that changed, waiting for one; None: any may have, some were lost.

        Empty where what came was about none. Raises OSError where the socket is of no use any more.
        """
        receive = asyncio.get_running_loop().sock_recvfrom
        try:
            return _told(*await receive(self._socket, _LONGEST))
        except OSError as error:
            if error.errno == errno.ENOBUFS:
                return None
            raise

    def drain(self) -> frozenset[str] | None:
        """Return what else is there by now, as ``next`` does; never waits. Storms are cut short."""
        names: set[str] = set()
        for _ in range(_AT_ONCE):
            try:
                changed = _told(*self._socket.recvfrom(_LONGEST))
            except BlockingIOError:
                return frozenset(names)
            except OSError as error:
                if error.errno == errno.ENOBUFS:
                    return None
                raise
            if changed is None:
                return None
            names |= changed
        return None

    def index_of(self, name: str) -> int | None:
        """Return the number of an interface in the namespace that is heard of, None if unknown."""
        try:
            answer = fcntl.ioctl(self._socket, _INDEX_OF, _REQUEST.pack(name.encode(), 0))
        except OSError:
            return None
        return int(_REQUEST.unpack(answer)[1])

    def close(self) -> None:
        """Give the descriptor back."""
        self._socket.close()


def _told(data: bytes, sender: tuple[int, int]) -> frozenset[str] | None:
    """Return the interfaces that changed; other processes may write to us, and are not heard."""
    return changed_links(data) if sender[0] == _KERNEL else frozenset()


def changed_links(data: bytes) -> frozenset[str] | None:
    """Return the interfaces that a datagram of the kernel is about; None: it says some were lost.

    What can't be read ends the reading: the kernel's word is taken, and no more than it said.
    """
    names = set()
    for kind, body in _messages(data):
        if kind == _OVERRUN:
            return None
        if kind in _LINK_MESSAGES and (name := _name(body)):
            names.add(name)
    return frozenset(names)


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield type and body of each message of a datagram."""
    while len(data) >= _MESSAGE.size:
        length, kind, *_ = _MESSAGE.unpack_from(data)
        if not _MESSAGE.size <= length <= len(data):
            return
        yield kind, data[_MESSAGE.size : length]
        data = data[_aligned(length) :]


def _name(body: bytes) -> str:
    """Return the interface's name in the body of a link message, empty where there is none."""
    rest = body[_INTERFACE.size :]
    while len(rest) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(rest)
        if not _ATTRIBUTE.size <= length <= len(rest):
            break
        if kind & _TYPE_MASK == _NAME:
            return rest[_ATTRIBUTE.size : length].rstrip(b"\0").decode(errors="replace")
        rest = rest[_aligned(length) :]
    return ""


def _aligned(length: int) -> int:
    return (length + 3) & ~3
