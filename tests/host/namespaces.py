"""A network namespace of a test's own: its links go up and down, and nobody else's do.

Sockets belong to the namespace they were made in and keep it alive; so a thread enters a new one,
makes them, and ends.
"""

import ctypes
import fcntl
import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ascend_agent.host.netlink import LinkEvents, open_link_socket

_NEW_NETWORK = 0x40000000  # CLONE_NEWNET
_GET_FLAGS, _SET_FLAGS = 0x8913, 0x8914  # SIOCGIFFLAGS, SIOCSIFFLAGS
_UP = 1
_FLAGS = struct.Struct("16sh22x")


@dataclass(frozen=True, slots=True)
class Namespace:
    """A fresh network namespace; the only link in it that always exists is ``lo``, number 1."""

    ears: socket.socket
    hands: socket.socket

    def events(self) -> LinkEvents:
        """Listen to the namespace; once, as the socket is given away."""
        return LinkEvents(connect=lambda: self.ears)

    def turn(self, *, up: bool, link: str = "lo") -> None:
        """Turn a link up or down; the kernel has told of it when this returns."""
        name = link.encode()
        _, flags = _FLAGS.unpack(fcntl.ioctl(self.hands, _GET_FLAGS, _FLAGS.pack(name, 0)))
        flags = flags | _UP if up else flags & ~_UP
        fcntl.ioctl(self.hands, _SET_FLAGS, _FLAGS.pack(name, flags))


@contextmanager
def network_namespace() -> Iterator[Namespace]:
    """Make a namespace.

    Raises:
        PermissionError: this process may not.

    """
    made: list[Namespace | OSError] = []

    def enter() -> None:
        try:
            _leave_ours()
            made.append(Namespace(open_link_socket(), socket.socket(socket.AF_INET)))
        except OSError as error:
            made.append(error)

    thread = threading.Thread(target=enter, name="network namespace")
    thread.start()
    thread.join()
    [found] = made
    if isinstance(found, OSError):
        raise found
    try:
        yield found
    finally:
        found.ears.close()
        found.hands.close()


def _leave_ours() -> None:
    """Move the calling thread into a network namespace of its own."""
    if ctypes.CDLL(None, use_errno=True).unshare(_NEW_NETWORK):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
