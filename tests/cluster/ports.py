"""Ports for servers that must come back on the same one.

A port of the kernel's own range for outgoing connections would do until the server is stopped:
then somebody's outgoing connection may take it, even a client's own that tries to reach the
server and so ends up talking to itself. Until its server listens a port is nobody's, so no other
port of this process is the same, and parallel runs choose among other numbers.
"""

import os
import random
import socket
from pathlib import Path

_OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 10_000
_TRIES = 100
_RUNS = 16
_given: set[int] = set()


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody has, below those of outgoing connections."""
    first_outgoing = int(_OUTGOING.read_text().split()[0])
    chance = random.SystemRandom()  # the suite's own seed would give parallel runs the same ports
    for _ in range(_TRIES):
        port = chance.randrange(_LOWEST, max(first_outgoing, _LOWEST + 1000))
        port -= (port - os.getpid()) % _RUNS
        if port in _given:
            continue
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given.add(port)
        return port
    raise RuntimeError(f"no free port below {first_outgoing}")
