"""The device list of one resource, as all its ListAndWatch streams show it.

Decided here: nothing queues. A stream that can't keep up skips to the newest list, one whose
list would repeat the last stays silent, and the bytes of an NPU are made once for all streams.
What the list says is decided by whoever publishes it.
"""

import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from ascend_agent.kubelet import codec
from ascend_agent.model.allocation import DeviceGroup
from ascend_agent.model.ids import ResourceName
from ascend_agent.model.kubelet import ListSent, Offer
from ascend_agent.runtime.latest import Latest
from ascend_agent.runtime.topic import Publisher
from ascend_agent.runtime.wakeup import Wakeup

_STATES_KEPT = 4  # healthy or not, with NUMA node or without; what is kept of shares goes by


class ListEncoder:
    """Joins the bytes of groups, which it remembers.

    6,400 devices take 100 ms and more to encode as messages; when one NPU changes, only its own
    are made anew. At most four states an NPU are kept.
    """

    def __init__(self) -> None:
        self._pieces: dict[DeviceGroup, bytes] = {}

    def encode(self, groups: Sequence[DeviceGroup]) -> bytes:
        """Return the ListAndWatch message for *groups*, in their order."""
        pieces = self._pieces
        data = b"".join([pieces.get(group) or self._add(group) for group in groups])
        if len(pieces) > _STATES_KEPT * len(groups):
            self._pieces = {group: pieces[group] for group in groups}
        return data

    def _add(self, group: DeviceGroup) -> bytes:
        piece = self._pieces[group] = codec.format_group(group)
        return piece


@dataclass(frozen=True, slots=True, kw_only=True)
class _EncodedOffer:
    """An offer and its bytes."""

    offer: Offer
    data: bytes


class DeviceLists:
    """The newest list of one resource, its streams, and word of each list that left.

    ``streams`` says how many are open.
    """

    def __init__(self, *, resource: ResourceName, sent: Publisher[ListSent]) -> None:
        self.streams: Latest[int] = Latest(f"streams {resource}")
        self._resource = resource
        self._sent = sent
        self._count = self.streams.claim("kubelet endpoint")
        self._count.put(0)
        self._encoder = ListEncoder()
        self._offer: Offer | None = None
        self._encoded: _EncodedOffer | None = None
        self._open: set[Wakeup] = set()
        self._cycle = 0

    def publish(self, offer: Offer) -> None:
        """Make *offer* what every stream shows next."""
        self._offer = offer
        self._wake()

    def end_streams(self) -> None:
        """Let every open stream end by itself; new ones begin as ever."""
        self._cycle += 1
        self._wake()

    async def watch(self) -> AsyncGenerator[bytes, None]:
        """Yield the list there is, then each change, until ``end_streams``.

        The next list is asked for when the last one was handed to the connection, so a reader
        that stopped holds up nobody but itself.
        """
        wakeup, cycle = Wakeup(), self._cycle
        shown: _EncodedOffer | None = None
        self._open.add(wakeup)
        self._count.put(len(self._open))
        try:
            while cycle == self._cycle:
                newest = self._newest()
                if newest is None or (shown is not None and newest.data == shown.data):
                    await wakeup.wait()
                    continue
                yield newest.data
                self._tell(newest.offer, shown.offer if shown else newest.offer)
                shown = newest
        finally:
            self._open.discard(wakeup)
            self._count.put(len(self._open))

    def _wake(self) -> None:
        for wakeup in self._open:
            wakeup.set()

    def _newest(self) -> _EncodedOffer | None:
        """Return the newest offer with its bytes, made when a stream first wants them."""
        if self._offer is None:
            return None
        if self._encoded is None or self._encoded.offer is not self._offer:
            data = self._encoder.encode(self._offer.groups)
            self._encoded = _EncodedOffer(offer=self._offer, data=data)
        return self._encoded

    def _tell(self, offer: Offer, before: Offer) -> None:
        sent_ns = time.monotonic_ns()
        was = {group.npu: group.healthy for group in before.groups}
        turned = [
            group for group in offer.groups if was.get(group.npu, group.healthy) != group.healthy
        ]
        self._sent.publish(
            ListSent(
                resource=self._resource,
                generation=offer.generation,
                total=sum(group.shares for group in offer.groups),
                healthy=sum(group.fit_devices for group in offer.groups),
                sent_ns=sent_ns,
                causes=tuple((group.npu, offer.causes.get(group.npu)) for group in turned),
                recovered=frozenset(group.npu for group in turned if group.healthy),
            )
        )
