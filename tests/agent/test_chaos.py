"""Whatever happens in whatever order: once it is quiet, the kubelet's list is the truth."""

import asyncio
import random
from typing import Any

import pytest

from ascend_agent.settings.simulated import CHIPS
from tests.agent.stage import Stage, staged
from tests.agent.test_virtual_node import WORDS, node

pytestmark = pytest.mark.slow

TROUBLE_S = 120
QUIET_S = 90  # longer than the longest hang and the slowest look for a card that came back
STEPS = 60
CODES = ("8C204E00", "80CB8009")  # no rule counts how often they come
CARD_CALLS = ("health", "identity", "usage")
NODE_CALLS = ("open", "enumerate", "subscribe")


class Trouble:
    """A scenario of random steps on a node of *npus*, and what is true of them after it."""

    def __init__(self, seed: int, *, npus: int, npus_per_card: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 -- no secret
        self._npus = npus
        self._per_card = npus_per_card
        times = sorted(round(self.random.uniform(0, TROUBLE_S), 2) for _ in range(STEPS))
        self.steps = [{"at_s": at_s, **self._pick()} for at_s in times]
        self.standing: dict[int, set[str]] = {npu: set() for npu in range(npus)}
        self.gone: set[int] = set()
        for step in self.steps:
            self._note(step)

    @property
    def sick(self) -> list[int]:
        """The NPUs that are out of service in the end."""
        return sorted({npu for npu, codes in self.standing.items() if codes} | self.gone)

    def _pick(self) -> dict[str, Any]:
        npu = self.random.randrange(self._npus)
        card = npu // self._per_card
        code = self.random.choice(CODES)
        hang_s = self.random.choice((0.5, 5.0, 25.0))
        choices: list[dict[str, Any]] = [
            {"npu": npu, "fault": code},
            {"card": card, "fault": code},
            {"npu": npu, "recover": code},
            {"card": card, "recover": code},
            {"npu": npu, "pulse": code},
            {"card": card, "drop": True},
            {"card": card, "drop": False},
            {"card": card, "call": self.random.choice(CARD_CALLS), "hang_s": hang_s},
            {"call": self.random.choice(NODE_CALLS), "hang_s": hang_s},
            {"worker": "die"},
        ]
        return self.random.choice(choices)

    def _note(self, step: dict[str, Any]) -> None:
        first = self._per_card * step.get("card", 0)
        npus = {step["npu"]} if "npu" in step else set(range(first, first + self._per_card))
        if "fault" in step:
            for npu in npus:
                self.standing[npu].add(step["fault"])
        elif "recover" in step:
            for npu in npus:
                self.standing[npu].discard(step["recover"])
        elif step.get("drop") is True:
            self.gone |= npus
            for npu in npus:
                self.standing[npu].clear()
        elif step.get("drop") is False:
            self.gone -= npus


async def torment_kubelet(stage: Stage, chance: random.Random, word: str) -> None:
    """Restart the kubelet and take our socket away, at random times, while the trouble lasts."""
    while stage.now() < TROUBLE_S:
        await asyncio.sleep(chance.uniform(0.1, 20))
        if chance.random() < 0.7:
            await stage.kubelet.restart(down_s=chance.choice((0.0, 0.3, 3.0, 15.0)))
        else:
            (stage.plugins / f"{word}.sock").unlink(missing_ok=True)


@pytest.mark.parametrize("chip", ["910B3", "910C", "310P3-duo", "950"])
@pytest.mark.parametrize("seed", range(4))
async def test_in_the_end_the_kubelet_knows_the_truth(seed: int, chip: str) -> None:
    shape, word = CHIPS[chip], WORDS.get(chip, "Ascend910")
    trouble = Trouble(seed, npus=shape.usual_npus, npus_per_card=shape.npus_per_card)
    async with (
        staged(node(*trouble.steps, chip=chip)) as stage,
        stage.kubelet,
        stage.agent() as agent,
    ):
        await torment_kubelet(stage, trouble.random, word)
        await asyncio.sleep(max(0.0, TROUBLE_S - stage.now()) + QUIET_S)
        devices = stage.ids(f"huawei.com/{word}")
        story = len(stage.story)
        await asyncio.sleep(60)

        assert list(devices) == [f"{word}-{npu}" for npu in range(shape.usual_npus)]
        unfit = [device for device, healthy in devices.items() if not healthy]
        assert unfit == [f"{word}-{npu}" for npu in trouble.sick]
        assert len(stage.story) == story
        assert [task.name for task in agent.bus.tasks.value or () if task.restarts] == []
