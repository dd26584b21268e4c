import asyncio
import subprocess
import sys

import pytest

# What the server loads late is loaded here, so that loading it blocks no test's loop.
import ascend_agent.telemetry.http_site  # noqa: F401 -- as said
from ascend_agent.errors import HostError
from ascend_agent.telemetry.http import HttpServer
from tests.telemetry.test_http_site import Client, FakePages


async def test_the_server_says_where_it_listens_and_serves_until_cancelled(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """In its log as well: with port 0 nobody could know it otherwise."""
    caplog.set_level("INFO", logger="ascend_agent.telemetry.http")
    server = HttpServer(address="127.0.0.1", port=0, pages=FakePages())
    async with asyncio.TaskGroup() as group:
        running = group.create_task(server.run())
        host, port = await server.bound.first()
        status, _, _ = await Client(port).ask("/healthz")
        still_running = not running.done()
        running.cancel()

    assert (host, status, still_running) == ("127.0.0.1", 200, True)
    assert [(vars(record)["address"], vars(record)["port"]) for record in caplog.records] == [
        ("127.0.0.1", port)
    ]
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)


async def test_it_can_be_started_again() -> None:
    """The supervisor does so after a failure."""
    server = HttpServer(address="127.0.0.1", port=0, pages=FakePages())
    places = server.bound.changes()
    for _ in range(2):
        async with asyncio.TaskGroup() as group:
            running = group.create_task(server.run())
            _, port = await anext(places)
            assert (await Client(port).ask("/readyz"))[0] == 200
            running.cancel()


async def test_an_address_that_can_not_be_used_is_an_error_of_the_host() -> None:
    with pytest.raises(HostError, match=r"can't listen on 192\.0\.2\.1:9400"):
        await HttpServer(address="192.0.2.1", port=9400, pages=FakePages()).run()


@pytest.mark.peer
def test_aiohttp_is_not_loaded_before_the_server_starts() -> None:
    """It takes 0.2 to 0.5 s, and NPUs are registered first (D10)."""
    code = "import sys, ascend_agent.telemetry.http; print('aiohttp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)

    assert done.stdout == b"False\n"
