"""How a server stops listening without losing sight of who had just come in.

asyncio accepts a connection in one step of the loop and attaches it to its server in a later one.
A server closed in between drops the connection half made: its peer waits for an end that comes
with some garbage collection, and nobody can abort what nobody knows.
"""

import asyncio


async def stop_accepting(server: asyncio.Server) -> None:
    """Close *server* to newcomers; whoever it had accepted is connected when this returns.

    Cancelled, it still closes. Does nothing to a server that is closed.
    """
    try:
        for listener in server.sockets:
            server.get_loop().remove_reader(listener)
        # One step attaches what was accepted, the next tells its protocol of it.
        for _ in range(2):
            await asyncio.sleep(0)
    finally:
        server.close()
