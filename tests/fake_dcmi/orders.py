"""The datagrams by which a test reaches a process that has a fake library loaded."""

import contextlib
import itertools
import os
import select
import socket
from pathlib import Path

from ascend_agent.driver.dcmi.abi import LIBDCMI, LIBLINGQU

ANSWER_S = 20.0

_OF_SWITCHES = ".lingqu."
_numbers = itertools.count()


class SilentProcessError(RuntimeError):
    """A process that has the library loaded lives and did not answer; names its socket."""


def sockets(directory: Path, library: str = LIBDCMI) -> list[Path]:
    """Return the sockets in a host's *directory*, one a process that has *library* loaded."""
    paths = sorted(directory.glob("*.sock"))
    return [path for path in paths if (_OF_SWITCHES in path.name) == (library == LIBLINGQU)]


def process_of(path: Path) -> int:
    """Return the id of the process that a socket belongs to."""
    return int(path.name.partition(".")[0])


def send(order: str, path: Path, *, answers: bool) -> str | None:
    """Return the answer; None where none is wanted, or the process ends without one.

    Raises:
        SilentProcessError: as the class says.

    """
    own = path.parent / f"test{next(_numbers)}"
    with contextlib.ExitStack() as held:
        channel = held.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
        channel.settimeout(ANSWER_S)
        channel.bind(str(own))
        held.callback(own.unlink)
        try:
            # Before the order: what is told to this process later can't be told to another.
            process = os.pidfd_open(process_of(path))
            held.callback(os.close, process)
            channel.sendto(order.encode(), str(path))
            answer = _hear(channel, process) if answers else ""
        except (ConnectionRefusedError, FileNotFoundError, ProcessLookupError):
            answer = None
        except TimeoutError:
            raise SilentProcessError(f"{path} did not answer {order!r}") from None
        if answer is None:
            path.unlink(missing_ok=True)  # killed: nobody else removes it
        return answer


def _hear(channel: socket.socket, process: int) -> str | None:
    """Return what a process answers, None if it ends first: an order may outlive its reader.

    Raises:
        TimeoutError: it lives and says nothing.

    """
    either = select.poll()
    either.register(channel, select.POLLIN)
    either.register(process, select.POLLIN)
    if not either.poll(ANSWER_S * 1000):
        raise TimeoutError
    channel.setblocking(False)
    try:
        return channel.recv(512).decode()  # also the last word of one that has ended since
    except BlockingIOError:
        return None
