"""What the running agent says of itself."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from ascend_agent.doctor.findings import Verdict
from ascend_agent.doctor.running_agent import CHECK, status_url
from ascend_agent.settings import HttpAddress
from tests.doctor.scene import found, place, the_one

pytestmark = pytest.mark.peer  # a real HTTP server


@asynccontextmanager
async def serving(body: str) -> AsyncIterator[str]:
    """Serve *body* as the status page; give the address as --http has it."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=body, content_type="application/json")

    application = web.Application()
    application.add_routes([web.get("/status", answer)])
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def test_an_agent_that_is_ready_is_fine(tmp_path: Path) -> None:
    async with serving(json.dumps({"ready": True, "version": "1.2"})) as http:
        finding = await the_one(CHECK, place(tmp_path, settings={"http": http}))

    assert (finding.verdict, finding.detail) == (Verdict.OK, "version 1.2")


async def test_each_reason_of_one_that_is_not_is_a_failure(tmp_path: Path) -> None:
    """So a node that shows 0 devices explains itself in one place (OB-6)."""
    status = {"ready": False, "why": "driver: starting; huawei.com/Ascend910: waiting"}
    async with serving(json.dumps(status)) as http:
        findings = await CHECK.look(place(tmp_path, settings={"http": http}))

    assert [one.detail for one in findings] == ["driver: starting", "huawei.com/Ascend910: waiting"]
    assert {one.verdict for one in findings} == {Verdict.FAIL}


@pytest.mark.parametrize(
    ("hami", "why"),
    [
        ({"wants_soft": True, "mode": "hard", "soft_trouble": "no libvnpu.so"}, "no libvnpu.so"),
        ({"wants_soft": True, "mode": "soft", "soft_trouble": ""}, None),
        ({"wants_soft": False, "mode": "hard"}, None),
        (None, None),
    ],
)
async def test_soft_mode_that_is_withheld_is_explained(
    tmp_path: Path, hami: object, why: str | None
) -> None:
    """CF-6, CF-3."""
    async with serving(json.dumps({"ready": True, "version": "1", "hami": hami})) as http:
        findings = await CHECK.look(place(tmp_path, settings={"http": http}))

    told = [one.detail for one in findings if one.what == "soft mode not offered"]
    assert told == ([] if why is None else [why])


@pytest.mark.parametrize("body", ["{}", "[]", "no JSON"])
async def test_another_programs_page_is_no_answer(tmp_path: Path, body: str) -> None:
    async with serving(body) as http:
        assert [
            verdict for verdict, _ in await found(CHECK, place(tmp_path, settings={"http": http}))
        ] == [Verdict.WARN]


async def test_nobody_there_is_a_warning(tmp_path: Path) -> None:
    async with serving("{}") as http:
        pass

    assert (await the_one(CHECK, place(tmp_path, settings={"http": http}))).verdict is Verdict.WARN


async def test_without_pages_there_is_nobody_to_ask(tmp_path: Path) -> None:
    assert (await the_one(CHECK, place(tmp_path))).verdict is Verdict.SKIPPED
    where = place(tmp_path, settings={"http": "127.0.0.1:0"})
    assert (await the_one(CHECK, where)).verdict is Verdict.SKIPPED


@pytest.mark.parametrize(
    ("host", "url"),
    [
        (None, "http://127.0.0.1:9100/status"),
        ("0.0.0.0", "http://127.0.0.1:9100/status"),  # noqa: S104 -- compared, not bound
        ("::", "http://[::1]:9100/status"),
        ("10.0.0.1", "http://10.0.0.1:9100/status"),
    ],
)
def test_every_address_means_this_host(host: str | None, url: str) -> None:
    assert status_url(HttpAddress(host=host, port=9100)) == url
