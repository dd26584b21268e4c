"""One kubelet resource: socket, registration, re-registration, the list that streams show.

Decides when to open, when to register and when to do either again. How a socket is served is
``kubelet``'s, what is offered ``offers``'s.
"""

import asyncio
import logging
from typing import Any

from ascend_agent.bus import Bus
from ascend_agent.errors import KubeletError
from ascend_agent.flows.offers import Offers
from ascend_agent.interfaces import ResourceEndpoint
from ascend_agent.model.kubelet import ServingPhase, ServingState, SocketIdentity
from ascend_agent.runtime.backoff import jittered
from ascend_agent.runtime.beside import beside
from ascend_agent.runtime.latest import Latest, LatestWriter
from ascend_agent.runtime.wakeup import Wakeup

log = logging.getLogger(__name__)

_RETRY_S = (0.02, 0.05, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_HICCUPS = 2
"""So many failures in a row are what any kubelet restart may bring, and worth no line."""
_STREAM_DUE_S = 30.0
"""A kubelet that registered us but opens no stream for so long has forgotten us."""
_STREAM_BACK_S = 1.0
"""A kubelet whose last stream ended gets this long to open another before we register again."""

_UNDISPUTED_S = 60.0
"""Who takes the place of a socket that stood this long does not fight for it."""
_DISPUTE = (
    "another process serves a socket of the same name: end the other device plugin, or give both "
    "agents the same --run-dir"
)


class ServeResource:
    """Keeps one resource registered and its list current."""

    def __init__(
        self,
        *,
        offers: Offers,
        endpoint: ResourceEndpoint,
        bus: Bus,
        state: LatestWriter[ServingState],
    ) -> None:
        self._offers = offers
        self._endpoint = endpoint
        self._bus = bus
        self._state = state
        self._wakeup = Wakeup()
        self._inputs: tuple[Latest[Any], ...] = (
            *(bus.node, bus.directory, bus.instance, bus.reregister, endpoint.streams),
            *offers.changes,
        )
        self._offered: tuple[int, ...] = ()
        self._registrations = 0
        self._trouble = ""

    async def run(self) -> None:
        """Serve for ever; the socket is drained and removed on the way out."""
        clock = asyncio.get_running_loop().time
        disputes = 0
        for channel in self._inputs:
            channel.attach(self._wakeup)
        try:
            while True:
                await self._until_wanted()
                # A fresh server each time: one that was closed must never serve again (KL-3).
                await self._endpoint.close()
                await self._open()
                opened = clock()
                await self._keep_registered()
                disputes = disputes + 1 if clock() - opened < _UNDISPUTED_S else 1
                if self._endpoint.displaced():
                    await self._let_stand(disputes)
                else:
                    disputes = 0
        finally:
            for channel in self._inputs:
                channel.detach(self._wakeup)
            try:
                await self._endpoint.close()
            finally:
                self._say(ServingPhase.WAITING, "stopped")

    async def _until_wanted(self) -> None:
        while why := self._not_wanted():
            if self._not_ours():
                await self._endpoint.close()
            # What is still open has a kubelet that wants to know: a directory that is gone for a
            # while ends no stream.
            self._publish_offer()
            self._say(ServingPhase.WAITING, why)
            await self._wakeup.wait()

    def _not_wanted(self) -> str:
        """Return why there is nothing to serve now, or an empty string."""
        directory = self._bus.directory.value
        view = self._bus.node.value
        if view is None:
            return "no device list yet"
        if not self._offers.views(view):
            return "no npu of this resource"
        if why := self._not_ours():
            return why
        if directory is None or not directory.present:
            trouble = directory.trouble if directory else "not looked at yet"
            return f"device-plugin directory: {trouble or 'missing'}"
        return ""

    def _not_ours(self) -> str:
        """Return why this process may not serve the node now, or an empty string."""
        instance = self._bus.instance.value
        return "node lock: not tried yet" if instance is None else instance.obstacle

    async def _open(self) -> None:
        attempt = 0
        while True:
            self._publish_offer()
            try:
                await self._endpoint.open()
            except KubeletError as error:
                await self._retry_after(error, attempt)
                attempt += 1
            else:
                return

    async def _keep_registered(self) -> None:
        """Register, and again whenever the kubelet may not know us; return to open anew."""
        known_to: SocketIdentity | None = None
        wanted = self._bus.reregister.version
        clock = asyncio.get_running_loop().time
        due = 0.0
        overdue = False
        had_streams = 0
        attempt = 0
        while not self._must_reopen(wanted):
            self._publish_offer()
            kubelet = self._kubelet()
            streams = self._endpoint.streams.value or 0
            if had_streams and not streams:
                due = clock() + _STREAM_BACK_S
            had_streams = streams
            if kubelet is None:
                known_to = None
                self._say(ServingPhase.SERVING, "the kubelet's socket is missing")
                await self._wakeup.wait()
            elif kubelet != known_to or (not streams and overdue):
                if not streams:
                    self._say(ServingPhase.SERVING, self._trouble or "registering")
                try:
                    if not await self._register(kubelet, wanted):
                        continue
                except KubeletError as error:
                    known_to = None
                    await self._retry_after(error, attempt)
                    attempt += 1
                    continue
                attempt, overdue = 0, False
                known_to, due = kubelet, clock() + _STREAM_DUE_S
                self._note_registered()
            else:
                self._say(ServingPhase.STREAMING if streams else ServingPhase.REGISTERED, "")
                # Timers may fire a tick before their time, so the clock is not asked again.
                overdue = not await self._wakeup.wait(None if streams else due)

    async def _let_stand(self, disputes: int) -> None:
        """Leave what took our socket's place alone, for longer each time it comes back.

        Two that each take their place back at once would keep the kubelet busy, and would be
        reached by nobody.
        """
        self._say(ServingPhase.SERVING, _DISPUTE)
        wait_s = jittered(_RETRY_S[min(disputes, len(_RETRY_S)) - 1])
        until = asyncio.get_running_loop().time() + wait_s
        while self._endpoint.displaced() and await self._wakeup.wait(until):
            self._publish_offer()

    def _must_reopen(self, wanted: int) -> bool:
        """Return whether the socket is lost, no longer ours to serve on, or to be made anew."""
        return (
            not self._endpoint.in_place()
            or bool(self._not_ours())
            or self._bus.reregister.version != wanted
        )

    async def _register(self, kubelet: SocketIdentity, wanted: int) -> bool:
        """Register; False where *kubelet* went meanwhile, so that its answer means nothing.

        A kubelet may take 10 s to answer. Streams that are open go on showing what changes.
        """
        name = f"register {self._offers.resource}"
        async with beside(self._endpoint.register(), name=name) as attempt:
            attempt.add_done_callback(lambda _: self._wakeup.set())
            while not attempt.done():
                self._publish_offer()
                await self._wakeup.wait()
                if self._kubelet() != kubelet or self._must_reopen(wanted):
                    break
        if attempt.cancelled():
            return False
        attempt.result()
        return True

    def _kubelet(self) -> SocketIdentity | None:
        directory = self._bus.directory.value
        return directory.kubelet if directory else None

    def _publish_offer(self) -> None:
        view = self._bus.node.value
        versions = (self._bus.node.version, *(each.version for each in self._offers.changes))
        if view is not None and versions != self._offered:
            self._offered = versions
            self._endpoint.publish(self._offers.offer(view))

    def _note_registered(self) -> None:
        self._registrations += 1
        self._trouble = ""
        log.info(
            "registered with the kubelet",
            extra={"resource": self._offers.resource, "count": self._registrations},
        )

    async def _retry_after(self, error: KubeletError, attempt: int) -> None:
        """Say what keeps us from serving, once a cause, and wait for a retry or for news."""
        text = str(error)
        if attempt >= _HICCUPS and text != self._trouble:
            log.warning(
                "not registered with the kubelet",
                extra={"resource": self._offers.resource, "why": text},
            )
            self._trouble = text
        self._say(ServingPhase.SERVING, text)
        wait_s = jittered(_RETRY_S[min(attempt, len(_RETRY_S) - 1)])
        until = asyncio.get_running_loop().time() + wait_s
        looked = (self._bus.directory.version, self._bus.reregister.version)
        # Only news of the directory cut the wait short: a storm of faults must not become a
        # storm of registrations.
        while await self._wakeup.wait(until):
            self._publish_offer()
            if looked != (self._bus.directory.version, self._bus.reregister.version):
                return

    def _say(self, phase: ServingPhase, detail: str) -> None:
        self._state.put(
            ServingState(
                resource=self._offers.resource,
                phase=phase,
                detail=detail,
                registrations=self._registrations,
                streams=self._endpoint.streams.value or 0,
            )
        )
