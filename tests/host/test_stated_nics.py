"""The cards of a simulated node, on virtual time."""

import asyncio

import pytest
from looptime import LoopTimeProxy

from ascend_agent.chips.ascend950 import SPEC
from ascend_agent.faults.dpu_mapping import discover
from ascend_agent.host.stated_nics import STATED_CONFIG, StatedChange, StatedFile, StatedNics
from ascend_agent.model.nics import DpuMapping, NicLook
from ascend_agent.settings.dpus import parse_dpu_config
from tests.fakes.dpus import SLOTS, a5_npu


def change(at_s: float, name: str, operstate: str) -> StatedChange:
    return StatedChange(at_s=at_s, name=name, operstate=operstate)


def states(look: NicLook) -> str:
    return " ".join(nic.operstate for nic in look.nics)


async def test_what_a_scenario_says_happens_in_its_time(looptime: LoopTimeProxy) -> None:
    changes = [
        change(3, "enps0", "down"),
        change(2, "enps3", "dormant"),
        change(3, "enps1", "testing"),
        change(9, "enps0", "up"),
    ]
    looks = StatedNics(cards=SLOTS, changes=changes, started=0).looks()

    seen = [(states(await anext(looks)), float(looptime)) for _ in range(4)]
    assert seen == [
        ("up up up up", 0),
        ("up up up dormant", 2),
        ("down testing up dormant", 3),
        ("up testing up dormant", 9),
    ]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1000):
            await anext(looks)
    await looks.aclose()


async def test_who_looks_late_sees_what_has_become(looptime: LoopTimeProxy) -> None:
    changes = [change(1, "enps0", "down"), change(8, "enps0", "up")]
    await asyncio.sleep(5)
    nics = StatedNics(cards=SLOTS, changes=changes, started=0)
    looks = nics.looks()

    assert states(await anext(looks)) == "down up up up"
    assert states(await anext(looks)) == "up up up up"
    assert looptime == 8
    await looks.aclose()


async def test_the_file_makes_dpu_nics_of_the_cards() -> None:
    data = await StatedFile(STATED_CONFIG).read()
    assert data is not None
    nics = StatedNics(cards=SLOTS, changes=[], started=0)
    looks = nics.looks()
    config = parse_dpu_config(data, name="stated")
    found = discover(config.config, (await anext(looks)).nics, [(a5_npu(0), SPEC)], pci_paths={})
    await looks.aclose()

    assert isinstance(found, DpuMapping)
    assert config.ignored == ()
    assert await nics.pci_paths(["0000:C1:00.0"]) == {}
