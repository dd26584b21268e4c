"""Process 1 of a node's own namespaces: mounts what the node sees, and runs its programs.

Run as ``python -I first_process.py``; knows nothing but the standard library. One order a line
comes in as JSON (``mount``, ``start``, ``signal``) and has one answer (``done`` or ``failed``);
``ended`` comes whenever a program ended. When the orders end, so does this process: then the
kernel ends whatever lives in its process namespace, shims and containers too, and forgets its
mounts.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from typing import Any

_SBIN = ":/usr/sbin:/sbin"
_CHUNK = 64 * 1024


def _say(**facts: object) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


class Programs:
    """What runs here by our order; orphans are reaped too, and not spoken of."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}

    def do(self, order: dict[str, Any]) -> None:
        """Carry an order out and answer it."""
        try:
            match order:
                case {"mount": arguments}:
                    _mount(*arguments)
                case {"start": name, "argv": argv, "log": log}:
                    self._names[_start(argv, log)] = name
                case {"signal": number, "to": name}:
                    os.kill(self._pid(name), number)
                case _:
                    raise OSError("no such order")  # noqa: TRY301 -- answered like any other
        except OSError as error:
            _say(failed=f"{error}", order=order)
        else:
            _say(done=order)

    def reap(self) -> None:
        """Take in whoever ended, and tell of those that were started by order."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            name = self._names.pop(pid, None)
            if name is not None:
                _say(ended=name, status=os.waitstatus_to_exitcode(status))

    def _pid(self, name: str) -> int:
        for pid, owner in self._names.items():
            if owner == name:
                return pid
        raise ProcessLookupError(f"{name} does not run")


def _mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(done.stderr.strip())


def _start(argv: list[str], log: str) -> int:
    """Start a program whose output goes to *log*; return its process id."""
    with open(log, "ab") as output:  # noqa: PTH123 -- a plain string from the order
        files = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, output.fileno(), 1),
            (os.POSIX_SPAWN_DUP2, output.fileno(), 2),
        ]
        environment = {"PATH": os.defpath + _SBIN, "HOME": "/run"}
        return os.posix_spawnp(argv[0], argv, environment, file_actions=files, setsid=True)


def main() -> None:
    """Take orders until they end."""
    programs = Programs()
    # A signal's handler writes a byte here, so that one wait serves orders and ended children.
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        end.setblocking(False)
    signal.set_wakeup_fd(theirs.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    orders = b""
    while True:
        ready, _, _ = select.select([sys.stdin.fileno(), ours], [], [])
        if ours in ready:
            ours.recv(_CHUNK)
            programs.reap()
        if sys.stdin.fileno() in ready:
            chunk = os.read(sys.stdin.fileno(), _CHUNK)
            if not chunk:
                return
            *whole, orders = (orders + chunk).split(b"\n")
            for line in whole:
                programs.do(json.loads(line))
            programs.reap()


if __name__ == "__main__":
    main()
