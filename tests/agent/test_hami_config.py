"""HAMi's files, live: what the kubelet is offered follows them without a restart (HAMi C5)."""

import re
from pathlib import Path

import pytest

from tests.agent.scene import node, served

pytestmark = pytest.mark.peer

MODEL = "preset 910B3 2"
B3 = "huawei.com/Ascend910B3"
CHIP = """
vnpus:
- chipName: {chip}
  commonWord: {word}
  resourceName: huawei.com/{word}
  memoryAllocatable: 65536
  templates: [{{name: vir05_1c_16g, memory: 16384}}]
"""


class Files:
    """Both files of a node, as ConfigMaps mounted as directories."""

    def __init__(self, home: Path) -> None:
        self.device = home / "device" / "device-config.yaml"
        self.node = home / "node" / "node-config.yaml"
        self.device.parent.mkdir()
        self.node.parent.mkdir()

    @property
    def options(self) -> tuple[str, ...]:
        return (
            *("--dialect", "hami", "--node-name", "node-a"),
            *("--device-config", str(self.device), "--node-config", str(self.node)),
            *(
                "--hami-root",
                str(self.device.parent),
                "--hami-shared-region",
                str(self.node.parent),
            ),
        )

    def say(self, *, chip: str = "910B3", word: str = "Ascend910B3") -> None:
        _replace(self.device, CHIP.format(chip=chip, word=word))

    def say_of_node(self, entry: str) -> None:
        _replace(self.node, f"nodes: [{{name: node-a, {entry}}}]")


def _replace(path: Path, text: str) -> None:
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


async def test_the_chip_is_registered_under_its_name_with_devices_by_die(fake_dcmi: Path) -> None:
    async with node(fake_dcmi, MODEL) as there:
        files = Files(there.home)
        async with there.agent(*files.options) as agent:
            registered = await there.kubelet.event("registered")
            first = await there.kubelet.event("list")
            listed = await there.kubelet.do("devices", stream=first["stream"])
            status = await agent.status()
            told = await agent.logged("hami configuration in force")

    assert (registered["resource"], registered["endpoint"]) == (B3, "Ascend910B3.sock")
    assert (first["total"], first["healthy"]) == (8, 8)
    dies = [npu["die"] for npu in status["npus"]]
    ids = [f"{die}-{share}" for die in dies for share in range(4)]
    assert sorted(each[0] for each in listed["devices"]) == sorted(ids)
    assert re.fullmatch(r"[0-9A-F]{8}(-[0-9A-F]{8}){4}", dies[0])
    assert {each[2] is None for each in listed["devices"]} == {True}
    assert served(status, B3)["phase"] == "streaming"
    assert (told["resource"], told["shares"], told["mode"]) == (B3, 4, "hard")


async def test_other_counts_and_hidden_cards_are_a_new_list_and_no_registration(
    fake_dcmi: Path,
) -> None:
    """CF-2, CF-8."""
    async with node(fake_dcmi, MODEL) as there:
        files = Files(there.home)
        async with there.serving(*files.options) as agent:
            files.say_of_node("vDeviceCount: 10")
            more = await there.kubelet.event("list")
            files.say_of_node("vDeviceCount: 10, filterDevices: {index: [1]}")
            fewer = await there.kubelet.event("list")
            status = await agent.until(lambda now: len(now["npus"]) == 1)
            files.node.unlink()
            as_before = await there.kubelet.event("list", total=8)

            assert (more["total"], fewer["total"], as_before["healthy"]) == (20, 10, 8)
            assert status["ready"]
            assert there.kubelet.seen("registered") == []
            assert there.kubelet.seen("stream_end") == []


async def test_another_word_is_registered_and_the_old_one_is_gone(fake_dcmi: Path) -> None:
    async with node(fake_dcmi, MODEL) as there:
        files = Files(there.home)
        async with there.serving(*files.options) as agent:
            files.say(word="Ascend910B")
            registered = await there.kubelet.event("registered")
            listed = await there.kubelet.event("list", total=8)
            status = await agent.until(
                lambda now: now["ready"] and now["resources"][0]["resource"].endswith("910B")
            )

            assert registered["resource"] == "huawei.com/Ascend910B"
            assert (listed["healthy"], len(status["resources"])) == (8, 1)
            assert not (there.plugins / "Ascend910B3.sock").exists()
            assert agent.told("another ascend plugin on this node") == []


async def test_a_chip_that_is_not_configured_is_told_and_served_once_it_is(
    fake_dcmi: Path,
) -> None:
    """HAMi C4: the older plugin ends again and again."""
    async with node(fake_dcmi, MODEL) as there:
        files = Files(there.home)
        files.say(chip="910B9")
        async with there.agent(*files.options) as agent:
            told = await agent.logged("chip not configured for hami")
            ready, why = await agent.get("/readyz")
            files.say()
            await there.kubelet.event("registered", resource=B3)
            await agent.logged("chip configured for hami")

    assert "chip 910B3 is not configured for HAMi; configured are 910B9" in told["why"]
    assert (ready, told["why"] in why) == (503, True)


async def test_a_file_that_can_not_be_used_changes_nothing(fake_dcmi: Path) -> None:
    """CF-1, CF-5."""
    async with node(fake_dcmi, MODEL) as there:
        files = Files(there.home)
        files.say_of_node("vDeviceCount: 2")
        async with there.serving(*files.options) as agent:
            files.say_of_node("vDeviceCount: many")
            told = await agent.logged("hami configuration refused")
            files.say_of_node("vDeviceCount: 3")
            listed = await there.kubelet.event("list")
            await agent.logged("hami configuration accepted")

    assert "vDeviceCount: 'many' is not allowed" in told["why"]
    assert listed["total"] == 6


async def test_the_plugins_own_arguments_are_enough(fake_dcmi: Path) -> None:
    """CF-1: its manifest names the first file alone, which says who schedules."""
    async with node(fake_dcmi, MODEL) as there:
        files = Files(there.home)
        files.say(word="Ascend910B")
        arguments = (f"--config_file={files.device}", "--node_name=node-a", "--v=4")
        async with there.agent(*arguments, *files.options[6:]) as agent:
            registered = await there.kubelet.event("registered")
            await agent.logged("agent starts")

    assert registered["resource"] == "huawei.com/Ascend910B"
