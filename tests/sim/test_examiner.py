"""When an expectation must be true, for how long, and what is told where it is not."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from ascend_agent.bus import Bus
from ascend_agent.model.ids import ResourceName
from ascend_agent.settings import Expectation
from ascend_agent.sim.device_names import by_number
from ascend_agent.sim.entries import Entry
from ascend_agent.sim.examiner import Examiner
from ascend_agent.sim.kubelet import EmbeddedKubelet, Listed, Pod
from ascend_agent.sim.sights import Sights
from tests.fakes.npus import view
from tests.fakes.running import running, settle
from tests.sim.kubelet.plugins import FakePlugin, register, serving
from tests.sim.kubelet.stage import staged
from tests.sim.views import faulty, node

RESOURCE = ResourceName("huawei.com/Ascend910")
EXPECTATION: TypeAdapter[Expectation] = TypeAdapter(Expectation)
SICK = {"npu": 1, "state": "separated"}


class Examination:
    """An examiner with what it looks at, from loop time ``started`` on."""

    def __init__(self, kubelet: EmbeddedKubelet, expected: Sequence[dict[str, Any]]) -> None:
        self.bus = Bus([RESOURCE])
        self.node = self.bus.node.claim("test")
        self.told: list[Entry] = []
        self._started = asyncio.get_running_loop().time()
        self.examiner = Examiner(
            sights=Sights(bus=self.bus, kubelet=kubelet, npus_of=by_number(2)),
            expectations=[EXPECTATION.validate_python(one) for one in expected],
            started=self._started,
            tell=self.told.append,
            patience_s=0.5,
        )

    @property
    def failures(self) -> list[str]:
        return list(self.examiner.failures)

    async def at(self, seconds: float, *, sick: bool | None = None) -> None:
        """Wait for a time, and let the second NPU be out or fit from then on."""
        await asyncio.sleep(self._started + seconds - asyncio.get_running_loop().time())
        if sick is not None:
            self.node.put(node(view(0), faulty(1) if sick else view(1)))
        await settle()


@asynccontextmanager
async def examining(*expected: dict[str, Any]) -> AsyncIterator[Examination]:
    """Examine without a kubelet."""
    kubelet = EmbeddedKubelet(plugin_dir=Path("/none"), pod_resources_socket=Path("/none/s"))
    one = Examination(kubelet, expected)
    async with running(one.examiner.run):
        yield one


async def test_what_is_true_at_its_time_may_change_afterwards() -> None:
    async with examining({"at_s": 4, **SICK}) as one:
        await one.at(3, sick=True)
        await one.at(3.9)
        assert one.failures == ["expectation 1 (at 4 s) was not looked at"]
        await one.at(4.1, sick=False)

        assert one.failures == []


async def test_what_is_never_true_is_told_once_its_time_and_some_patience_are_over() -> None:
    async with examining({"at_s": 4, **SICK}) as one:
        await one.at(3, sick=False)
        await one.at(4.4)
        assert one.told == []
        await one.at(4.6, sick=True)

        why = "expectation 1 (at 4 s) is not met: NPU 1: state healthy, not separated"
        assert one.failures == [why]
        assert [(entry.event, entry.facts) for entry in one.told] == [
            ("unexpected", {"difference": why}),
            ("examined", {"expectations": 1, "failed": 1}),
        ]


async def test_what_comes_true_a_little_late_is_met() -> None:
    """Machines are of different speed."""
    async with examining({"at_s": 4, **SICK}) as one:
        await one.at(3, sick=False)
        await one.at(4.3, sick=True)

        assert one.failures == []
        assert [entry.event for entry in one.told] == ["examined"]


@pytest.mark.parametrize(("fails_s", "met"), [(5.9, False), (6.1, True)])
async def test_what_lasts_must_be_true_all_the_time_and_no_longer(
    fails_s: float, *, met: bool
) -> None:
    """Be it for a moment that nobody looks for: the flash of a health."""
    async with examining({"at_s": 4, "until_s": 6, **SICK}) as one:
        await one.at(3, sick=True)
        await one.at(fails_s, sick=False)
        await one.at(fails_s, sick=True)
        await one.at(7)

        assert (one.failures == []) == met
        if not met:
            assert "expectation 1 (at 4 s) held until 5.900 s only: NPU 1" in one.failures[0]


async def test_each_expectation_goes_by_its_own_times() -> None:
    fit = {"npu": 1, "state": "healthy"}
    async with examining(
        {"at_s": 6, **fit}, {"at_s": 4, "until_s": 5, **SICK}, {"at_s": 5.5, **SICK}
    ) as one:
        await one.at(3, sick=True)
        await one.at(5.2, sick=False)
        await one.at(9)

        assert [failure[:14] for failure in one.failures] == ["expectation 3 "]


async def test_an_agent_without_a_view_meets_nothing() -> None:
    async with examining({"at_s": 1, **SICK}) as one:
        await one.at(2)

        assert one.failures == ["expectation 1 (at 1 s) is not met: the agent has no view"]


async def test_the_kubelet_holds_an_npu_fit_only_with_all_its_shares() -> None:
    """And a pod has the NPUs that its shares are of."""
    devices = {"Ascend910-0-0": True, "Ascend910-0-1": True}
    devices |= {"Ascend910-1-0": True, "Ascend910-1-1": False}
    plugin = FakePlugin(devices)
    async with staged() as stage, serving(plugin, stage.plugins / "npu.sock"):
        await register(stage.socket)
        await stage.next(Listed)
        pod = Pod(
            namespace="default", name="training-0", container="main", resource=RESOURCE, count=2
        )
        await stage.kubelet.admit(pod)
        one = Examination(
            stage.kubelet,
            [
                {"at_s": 1, "npu": 0, "kubelet": "Healthy"},
                {"at_s": 1, "npu": 1, "kubelet": "Unhealthy"},
                {"at_s": 1, "pod": "training-0", "npus": 1},
                {"at_s": 1, "until_s": 3, "npu": 1, "kubelet": "Unhealthy"},
            ],
        )
        async with running(one.examiner.run):
            await one.at(0.5, sick=False)
            await one.at(2)
            plugin.offer(dict.fromkeys(devices, True))
            await stage.next(Listed)
            await one.at(2.5)

            assert [failure[:14] for failure in one.failures] == ["expectation 4 "]
