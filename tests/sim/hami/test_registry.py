"""Questions, answers, and when devices come and go, on the small API server and virtual time."""

import asyncio

import pytest

from ascend_agent.sim.cluster import node
from tests.sim.hami.stage import HANDSHAKE, REGISTER, REPORTED, WORD, Stage, cluster, reported


def known(stage: Stage, name: str = "n1") -> list[str]:
    return [one.die for one in stage.scheduler._registry.devices(name, WORD)]


async def test_a_node_that_reports_is_read_and_asked_at_once() -> None:
    async with cluster() as stage:
        await stage.until(lambda: stage.node_notes()[HANDSHAKE] != REPORTED, within_s=1)

        assert stage.node_notes()[HANDSHAKE].startswith("Requesting_2026-01-01 00:00:0")
        assert known(stage) == ["U0", "U1"]


async def test_a_new_list_counts_once_the_question_is_answered() -> None:
    async with cluster() as stage:
        await asyncio.sleep(1)
        stage.annotate({REGISTER: reported(devices=3)[REGISTER]})
        await asyncio.sleep(20)
        assert known(stage) == ["U0", "U1"]

        stage.annotate({HANDSHAKE: REPORTED})
        await asyncio.sleep(15)
        assert known(stage) == ["U0", "U1", "U2"]
        assert stage.events("asked", "answered") == ["asked", "answered", "asked"]


async def test_a_new_node_is_looked_at_without_waiting() -> None:
    async with cluster() as stage:
        await asyncio.sleep(1)
        stage.server.store.create(*node("n2", annotations=reported(devices=1)))
        await asyncio.sleep(1)
        assert known(stage, "n2") == ["U0"]

        stage.server.store.delete(("nodes", None, "n2"))
        await asyncio.sleep(1)
        assert known(stage, "n2") == []


@pytest.mark.parametrize(
    ("version", "value"), [("2.4", "Deleted_2026.01.01"), ("2.8", "Deleted_2026-01-01")]
)
async def test_silence_makes_older_ones_drop_the_devices(version: str, value: str) -> None:
    async with cluster(version=version) as stage:
        await asyncio.sleep(59)
        assert known(stage) == ["U0", "U1"]
        await asyncio.sleep(20)

        assert known(stage) == []
        assert stage.node_notes()[HANDSHAKE].startswith(value)
        assert stage.events("dropped") == ["dropped"]


async def test_silence_counts_later_only_where_the_kubelet_offers_nothing() -> None:
    async with cluster() as stage:
        await asyncio.sleep(120)
        assert known(stage) == ["U0", "U1"]

        nothing = {"status": {"allocatable": {f"huawei.com/{WORD}": "0"}}}
        stage.server.store.change(("nodes", None, "n1"), nothing)
        await stage.until(lambda: HANDSHAKE not in stage.node_notes(), within_s=16)
        assert known(stage) == []


async def test_a_device_without_a_vendor_is_never_dropped_by_2_7() -> None:
    """Why the vendor is published."""
    async with cluster(version="2.7", notes=reported(devicevendor="")) as stage:
        await asyncio.sleep(90)
        assert known(stage) == ["U0", "U1"]


async def test_2_7_looks_at_a_handshake_only_beside_a_list() -> None:
    async with cluster(version="2.7", notes={HANDSHAKE: REPORTED}) as stage:
        await asyncio.sleep(20)
        assert stage.node_notes()[HANDSHAKE] == REPORTED
    async with cluster(version="2.6", notes={}) as stage:
        await asyncio.sleep(20)
        assert stage.node_notes()[HANDSHAKE].startswith("Requesting_")


async def test_2_4_takes_over_no_more_than_memory_and_cores() -> None:
    async with cluster(version="2.4") as stage:
        await asyncio.sleep(1)
        stage.annotate(reported(devices=2, count=0, devmem=1))
        await asyncio.sleep(16)
        found = stage.scheduler._registry.devices("n1", WORD)

        assert [(one.count, one.memory_mib) for one in found] == [(4, 1), (4, 1)]


async def test_volcano_reads_each_list_and_asks_nothing() -> None:
    async with cluster(version="volcano") as stage:
        await asyncio.sleep(1)
        stage.annotate({REGISTER: reported(devices=3)[REGISTER]})
        await asyncio.sleep(1)

        assert known(stage) == ["U0", "U1", "U2"]
        await asyncio.sleep(60)
        assert stage.server.count("PATCH") == 0


async def test_a_question_that_the_server_refuses_is_put_again() -> None:
    async with cluster() as stage:
        stage.server.refuse(500, of="PATCH")
        await asyncio.sleep(16)

        assert stage.events("unasked", "asked") == ["unasked", "asked"]
