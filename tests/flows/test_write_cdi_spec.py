"""The CDI specification follows the inventory and the host's files."""

import asyncio
import logging
from collections.abc import Mapping

import pytest

from ascend_agent.bus import Bus
from ascend_agent.errors import HostError
from ascend_agent.flows.write_cdi_spec import WriteCdiSpec
from tests.fakes.host import FakeHost
from tests.fakes.npus import inventory
from tests.fakes.running import running, settle
from tests.fakes.specs import spec_of


class _Writer:
    def __init__(self) -> None:
        self.documents: list[Mapping[str, object]] = []
        self.fails = False

    async def write(self, document: Mapping[str, object]) -> bool:
        if self.fails:
            raise HostError("/var/run/cdi is not writable")
        if self.documents and self.documents[-1] == document:
            return False
        self.documents.append(document)
        return True


def _names(document: Mapping[str, object]) -> list[str]:
    devices = document["devices"]
    assert isinstance(devices, list)
    return [device["name"] for device in devices]


async def test_it_is_written_when_the_npus_change_and_looked_over_slowly() -> None:
    bus, writer = Bus([]), _Writer()
    npus = bus.inventory.claim("test")
    host = FakeHost("/dev/davinci_manager")
    flow = WriteCdiSpec(bus=bus, host=host, writer=writer, spec_of=spec_of)

    async with running(flow.run):
        assert writer.documents == []
        npus.put(inventory(1))
        await settle()
        npus.put(inventory(2))
        await settle()
        assert [_names(document) for document in writer.documents] == [["0"], ["0", "1"]]

        await asyncio.sleep(120)
        assert len(writer.documents) == 2

        host.paths.add("/dev/hisi_hdc")
        await asyncio.sleep(30)
        assert "/dev/hisi_hdc" in str(writer.documents[-1])


async def test_a_directory_that_can_not_be_written_is_told_once_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    bus, writer = Bus([]), _Writer()
    bus.inventory.claim("test").put(inventory(1))
    writer.fails = True
    host = FakeHost("/dev/davinci_manager")

    async with running(WriteCdiSpec(bus=bus, host=host, writer=writer, spec_of=spec_of).run):
        await asyncio.sleep(90)
        writer.fails = False
        await asyncio.sleep(60)
        assert len(writer.documents) == 1
        writer.fails = True
        await asyncio.sleep(30)

    assert [r.getMessage() for r in caplog.records] == [
        "cdi specification not written",
        "cdi specification written",
        "cdi specification not written",
    ]


async def test_a_missing_control_node_writes_nothing_until_it_is_there(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A specification without it would start containers that can't open their NPU."""
    bus, writer, host = Bus([]), _Writer(), FakeHost()
    bus.inventory.claim("test").put(inventory(1))

    async with running(WriteCdiSpec(bus=bus, host=host, writer=writer, spec_of=spec_of).run):
        assert writer.documents == []
        assert "/dev/davinci_manager" in vars(caplog.records[0])["why"]
        host.paths.add("/dev/davinci_manager")
        await asyncio.sleep(30.1)
        assert len(writer.documents) == 1
