"""What the kubelet remembers."""

import json
import os
from pathlib import Path

import pytest

from ascend_agent.doctor.checkpoint import CHECK, judge
from ascend_agent.doctor.findings import Verdict
from tests.doctor.scene import ASCEND, as_nobody, found, place, put, the_one

NAME = "kubelet_internal_checkpoint"


def checkpoint(registered: dict[str, list[str]], *held: str) -> str:
    """Return a checkpoint in the kubelet's form."""
    entries = [
        {"PodUID": "u", "ContainerName": "c", "ResourceName": name, "DeviceIDs": {"-1": ["x"]}}
        for name in held
    ]
    data = {"PodDeviceEntries": entries or None, "RegisteredDevices": registered}
    return json.dumps({"Data": data, "Checksum": 1})


async def test_our_own_resources_are_as_they_should_be(tmp_path: Path) -> None:
    text = checkpoint({ASCEND: ["Ascend910-0", "Ascend910-1"], "example.com/x": ["1"]}, ASCEND)
    put(tmp_path / "plugins" / NAME, text)

    finding = await the_one(CHECK, place(tmp_path))

    assert (finding.verdict, finding.detail) == (Verdict.OK, f"2 {ASCEND}")


async def test_a_resource_of_another_plugin_is_named(tmp_path: Path) -> None:
    put(tmp_path / "plugins" / NAME, checkpoint({"huawei.com/Ascend910B3": ["a"]}))

    assert await found(CHECK, place(tmp_path)) == [(Verdict.WARN, "resource of another plugin")]


async def test_a_resource_whose_devices_are_gone_is_forgotten(tmp_path: Path) -> None:
    put(tmp_path / "plugins" / NAME, checkpoint({"huawei.com/Ascend910B3": []}))

    assert (await the_one(CHECK, place(tmp_path))).verdict is Verdict.OK


async def test_pods_that_hold_devices_of_another_plugin_are_told(tmp_path: Path) -> None:
    """They keep NPUs of which this agent knows nothing."""
    put(tmp_path / "plugins" / NAME, checkpoint({}, "huawei.com/Ascend910-2c"))

    assert await found(CHECK, place(tmp_path)) == [(Verdict.WARN, "devices of another plugin held")]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"Data": 3}', '{"Data": {"RegisteredDevices": 1}}', "[" * 200_000]
)
def test_one_that_can_not_be_read_fails(text: str) -> None:
    """The kubelet forgets who holds what, and may give a running pod's NPU out again."""
    (finding,) = judge(text, own=())

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "checkpoint unreadable")


async def test_none_yet_is_nothing_to_judge(tmp_path: Path) -> None:
    assert (await the_one(CHECK, place(tmp_path))).verdict is Verdict.SKIPPED


async def test_one_that_is_not_ours_to_read_is_not_judged(tmp_path: Path) -> None:
    put(tmp_path / "plugins" / NAME, "{}")
    where = place(tmp_path)

    with as_nobody():  # to whom a test's folder is closed
        finding = await the_one(CHECK, where)

    assert finding.verdict is Verdict.SKIPPED


async def test_one_that_is_no_file_fails_at_once(tmp_path: Path) -> None:
    """A reader of a pipe would wait for a writer until its deadline."""
    path = tmp_path / "plugins" / NAME
    path.parent.mkdir()
    os.mkfifo(path)

    finding = await the_one(CHECK, place(tmp_path))

    assert (finding.verdict, finding.what) == (Verdict.FAIL, "checkpoint unreadable")
    assert "no regular file" in finding.detail
