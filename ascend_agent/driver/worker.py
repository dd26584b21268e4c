"""The vendor library's own process: ``python -I -m ascend_agent.driver.worker FD``.

A hang or a crash inside the library must never stop the agent. What is decided here: how this
process is set up, and when it ends. Calls run in ``lanes``, writing is ``outbox``'s, what a call
does is a backend's; the agent's side is ``process``.

This process lives on every node for as long as the agent does, so it and its backends import no
asyncio, dataclasses, typing, logging, model, errors or interfaces: a test counts.
"""

import ctypes
import faulthandler
import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator

from ascend_agent.driver.frames import Splitter
from ascend_agent.driver.lanes import Lanes
from ascend_agent.driver.outbox import Decode, Outbox

_PR_SET_PDEATHSIG = 1
_CHUNK = 1 << 16
_SWITCH_INTERVAL_S = 0.0005
# Address space, not memory: only pages that a call touches count. A vendor call with a large
# array on its stack must still fit.
_STACK = 1 << 20


def main() -> None:
    """Serve the agent over the descriptor in argv until it closes its end, then exit at once."""
    sock = socket.socket(fileno=int(sys.argv[1]))
    # A program that the library starts must not keep our end open after we are gone.
    sock.set_inheritable(False)
    _end_with_the_agent(sock)
    # A crash inside the library leaves the stack of the lane that called it in the agent's log;
    # those of all lanes would be longer than what the agent keeps of our output.
    faulthandler.enable(all_threads=False)
    # A key press in a terminal reaches us as well as the agent, whose drain still needs us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # Callbacks hand over to the outbox through the interpreter's lock: let them in quickly.
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    threading.stack_size(_STACK)
    serve(sock)
    os._exit(0)  # not sys.exit: a lane may hang in C for ever


def serve(sock: socket.socket) -> None:
    """Serve requests from *sock* until the agent closes its end.

    Raises:
        ValueError: the agent sent what is no request; nothing it says later can be trusted.

    """
    frames = _read(sock)
    hello = next(frames, None)
    if hello is None:
        return
    outbox = Outbox(sock)
    backend, decode = _make_backend(hello, outbox.event)
    threading.Thread(target=outbox.run, args=(decode,), name="outbox", daemon=True).start()
    lanes = Lanes(backend=backend, reply=outbox.reply)
    for frame in frames:
        match frame:
            case {"id": int(number), "lane": int() | str() as lane, "op": str(op), "args": list(a)}:
                lanes.put(number, lane, op, a)
            case _:
                raise ValueError(f"no request: {frame}")
    lanes.stop()
    outbox.stop()


def _read(sock: socket.socket) -> Iterator[dict[str, object]]:
    splitter = Splitter()
    try:
        while data := sock.recv(_CHUNK):
            yield from splitter.feed(data)
    except ConnectionError:
        return  # the agent ended with answers of ours unread


def _make_backend(
    hello: dict[str, object], emit: Callable[[int, object], None]
) -> tuple[object, Decode]:
    """Return the backend that *hello* asks for; only its code is loaded."""
    match hello:
        case {"driver": "dcmi", "config": dict(config)}:
            from ascend_agent.driver.dcmi.backend import DcmiBackend  # noqa: PLC0415 -- see above

            vendor = DcmiBackend(config, emit)
            return vendor, vendor.decode
        case {"driver": "simulated", "config": dict(config)}:
            from ascend_agent.driver.simulated import backend  # noqa: PLC0415 -- see above

            simulated = backend.SimulatedBackend(config, emit)
            return simulated, simulated.decode
        case _:
            raise ValueError(f"no driver of ours: {hello}")


def _end_with_the_agent(sock: socket.socket) -> None:
    """Have the kernel kill this process when the agent dies, whatever the library does then."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    # It may have died before that call: the socket knows who made it.
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    agent, _, _ = struct.unpack("3i", credentials)
    if os.getppid() != agent:
        os._exit(0)


if __name__ == "__main__":
    main()
