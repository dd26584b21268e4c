"""A cluster of one node for HAMi: API server, Node, scheduler, and the kubelet's side of pods.

Everything is on this machine's own address and in one directory. What happens is the story's
business.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import aiohttp

from ascend_agent.dialects.hami.chips import CHIPS
from ascend_agent.dialects.hami.device_config import parse_device_config
from ascend_agent.dialects.hami.in_force import DEVICE
from ascend_agent.driver.simulated.presets import PRESETS
from ascend_agent.errors import ConfigError
from ascend_agent.host.text_files import read_texts
from ascend_agent.model.hami import HamiChip
from ascend_agent.model.health import NodeView
from ascend_agent.settings import Settings
from ascend_agent.settings.scenario_pods import ScenarioPod
from ascend_agent.sim.cluster import FakeApiServer, node
from ascend_agent.sim.differences import PodSight
from ascend_agent.sim.entries import Entry, Fact
from ascend_agent.sim.hami.client import ApiClient, RequestError
from ascend_agent.sim.hami.manifest import NAMESPACE, manifest
from ascend_agent.sim.hami.news import scheduler_news
from ascend_agent.sim.hami.notices import Notice
from ascend_agent.sim.hami.runner import PodRunner
from ascend_agent.sim.hami.scheduler import PodDeniedError, Scheduler
from ascend_agent.sim.hami.ways import Ways
from ascend_agent.sim.kubelet import EmbeddedKubelet

NODE: Final = "simulated-node"
_TICK_S: Final = 2.0  # a real scheduler looks every 15 s, and people would wait for it
_ANSWER_S: Final = 10.0


class HamiCluster:
    """The cluster around one agent; ``running`` before the agent starts, ``run`` beside it.

    *view* tells whose dies the scheduler speaks of. *pace* below 1 makes the scheduler look
    oftener, for a story that is told faster.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        directory: Path,
        kubelet: EmbeddedKubelet,
        view: Callable[[], NodeView | None],
        tell: Callable[[Entry], None],
        pace: float = 1.0,
    ) -> None:
        self._tick_s = _TICK_S * pace
        self._given = settings
        self._directory = directory
        self._kubelet = kubelet
        self._view = view
        self._tell = tell
        self._server = FakeApiServer(now=lambda: f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}")
        self.settings = settings
        self.chip = chip_of(settings)

    @asynccontextmanager
    async def running(self) -> AsyncIterator["HamiCluster"]:
        """Serve the API while entered; ``settings`` are then those of an agent on this node."""
        self._server.store.create(*node(NODE))
        async with self._server.running(), aiohttp.ClientSession() as session:
            self._api = ApiClient(session, url=self._server.url)
            self._scheduler = Scheduler(
                self._api,
                # All that a real scheduler knows would be asked for, of which none is here.
                chips=[self.chip] if self.chip else (),
                ways=Ways(tick_s=self._tick_s),
                tell=self._hear,
            )
            self._runner = PodRunner(self._api, kubelet=self._kubelet, node=NODE, tell=self._tell)
            self.settings = self._furnish()
            yield self

    async def run(self) -> None:
        """Schedule and run pods until cancelled; a chip that HAMi does not know is told of."""
        if self.chip is None:
            facts: dict[str, Fact] = {"chip": PRESETS[self._given.simulated.chip].chip_name}
            self._tell(Entry(at_ns=time.monotonic_ns(), event="chip_unknown", facts=facts))
        async with asyncio.TaskGroup() as group:
            group.create_task(self._scheduler.run(), name="hami scheduler")
            group.create_task(self._runner.run(), name="hami kubelet")

    def pods(self) -> Mapping[str, PodSight]:
        """Return what each pod has, by name; one that waits for the scheduler has nothing."""
        made = self._server.store.find("pods", lambda _: True)
        waiting = {pod["metadata"]["name"]: PodSight(phase="Pending") for pod in made}
        return {**waiting, **self._runner.pods()}

    async def create(self, pod: ScenarioPod) -> None:
        """Create a pod; one that the webhook denies is told of."""
        if self.chip is None:
            return
        try:
            with suppress(PodDeniedError):  # the scheduler tells of it
                await self._scheduler.create(manifest(pod, self.chip))
        except RequestError as error:
            facts = {"pod": f"{NAMESPACE}/{pod.pod}", "reason": str(error)}
            self._hear(Notice(event="denied", facts=facts))

    async def delete(self, pod: str) -> None:
        """Delete a pod, as far as it is there."""
        try:
            await self._api.delete(f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}")
        except RequestError as error:
            self._hear(Notice(event="undeleted", facts={"pod": pod, "reason": str(error)}))

    def set_soft(self, soft: bool) -> None:  # noqa: FBT001 -- it is all there is to say
        """Turn the node to soft slices, or back, as an operator does: in its file."""
        entry = {"name": NODE, "hami-vnpu-core": soft}
        new = self._directory / "node-config.new"
        new.write_text(json.dumps({"nodes": [entry]}))
        new.replace(self._directory / "node-config.yaml")

    def _hear(self, notice: Notice) -> None:
        self._tell(scheduler_news(notice, self._view))

    def _furnish(self) -> Settings:
        """Write what the agent finds on its host, and return the settings that name it."""
        self.set_soft(self._given.simulated.soft)
        kubeconfig = self._directory / "kubeconfig"
        kubeconfig.write_text(json.dumps(_kubeconfig(self._server.url)))
        given = self._given.model_fields_set
        return self._given.model_copy(
            update={
                "node_name": NODE,
                "kubeconfig": kubeconfig,
                "api_server": None,
                "hami_root": self._directory / "hami",
                "hami_shared_region": self._directory / "region",
                "node_config": self._directory / "node-config.yaml",
                **({} if "hami_handshake_s" in given else {"hami_handshake_s": _ANSWER_S}),
            }
        )


def chips_of(settings: Settings) -> tuple[HamiChip, ...]:
    """Return the chips of HAMi's configuration, which scheduler and agent read alike.

    Raises:
        ConfigError: there is a file, or one was named, and it can't be used.

    """
    path = settings.device_config
    # As the agent reads it, which comes after us: what it would refuse must not be played.
    found = read_texts({DEVICE: path})
    if (text := found.texts.get(DEVICE)) is not None:
        try:
            return tuple(parse_device_config(text).chips)
        except ValueError as error:
            raise ConfigError(f"--device-config {path}: {error}") from error
    if not found.troubles and "device_config" not in settings.model_fields_set:
        return tuple(CHIPS)
    why = found.troubles.get(DEVICE, "is not there; give HAMi's device-config.yaml")
    raise ConfigError(f"--device-config {path}: {why}")


def chip_of(settings: Settings) -> HamiChip | None:
    """Return the configured chip of the simulated node, None: HAMi does not know it."""
    name = PRESETS[settings.simulated.chip].chip_name
    return next((chip for chip in chips_of(settings) if chip.chip_name == name), None)


def _kubeconfig(url: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "sim",
        "contexts": [{"name": "sim", "context": {"cluster": "sim", "user": "agent"}}],
        "clusters": [{"name": "sim", "cluster": {"server": url}}],
        "users": [{"name": "agent", "user": {"token": "none"}}],
    }
