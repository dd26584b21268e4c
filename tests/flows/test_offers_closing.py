"""What the kubelet is told of an NPU that takes no more containers, from the fold to the bytes.

PreSeparateNPU: the running job is not disturbed, and no new one begins (W12).
"""

from dataclasses import dataclass, field

from ascend_agent.dialects import plain
from ascend_agent.faults.catalog import BUILT_IN
from ascend_agent.faults.fold import fold
from ascend_agent.faults.inputs import FoldInput
from ascend_agent.faults.ledger import HealthRules, Ledger
from ascend_agent.flows.offers import ResourceOffers
from ascend_agent.interfaces import SlicingMode
from ascend_agent.kubelet.lists import ListEncoder
from ascend_agent.model.allocation import AllocationRequest, Assignment, Holder
from ascend_agent.model.fault import FaultCode
from ascend_agent.model.ids import Millis, PluginDeviceId, ResourceName
from ascend_agent.model.world import SharePolicy
from ascend_agent.slicing import shared, whole
from tests.fakes.npus import inventory
from tests.fakes.specs import spec_of
from tests.faults.steps import RESET, SPECS, answer, occur, recover
from tests.peer._generated.deviceplugin.v1beta1 import api_pb2 as google

CLOSING = FaultCode(0x8118043C)  # PreSeparateNPU
RESOURCE = ResourceName("huawei.com/Ascend910")
HOLDER = Holder(namespace="jobs", pod="train-0", container="main")


@dataclass
class _Node:
    """One NPU, its shares, and what the kubelet's stream shows of it at each moment."""

    mode: SlicingMode
    shares: int
    now: int = 0
    ledger: Ledger = field(
        default_factory=lambda: Ledger.empty(
            fault_rules=BUILT_IN, rules=HealthRules(shares_required=False), specs=SPECS
        )
    )
    encoder: ListEncoder = field(default_factory=ListEncoder)

    def __post_init__(self) -> None:
        self.offers = ResourceOffers(
            word="Ascend910",
            resource=RESOURCE,
            dialect=plain.DIALECT,
            mode=self.mode,
            shares=self.shares,
            share_policy=SharePolicy.SPREAD,
            spec_of=spec_of,
        )
        self.take(inventory(1))
        self.take(answer())

    def take(self, *items: FoldInput, at_s: float | None = None) -> None:
        self.now = self.now if at_s is None else round(at_s * 1000)
        self.ledger = fold(self.ledger, items, Millis(self.now)).ledger

    def hold(self, *devices: str, at_s: float | None = None) -> None:
        """Have the kubelet say that these devices are held, and no others."""
        held = {RESOURCE: {PluginDeviceId(device): HOLDER for device in devices}}
        self.now = self.now if at_s is None else round(at_s * 1000)
        view = self.ledger.view
        assert view is not None
        worlds = [self.offers.world(view, Millis(self.now))]
        self.take(plain.DIALECT.holders(held, worlds))

    def healthy(self) -> list[str]:
        """Return the devices that the kubelet's stream calls healthy."""
        view = self.ledger.view
        assert view is not None
        data = self.encoder.encode(self.offers.offer(view).groups)
        devices = google.ListAndWatchResponse.FromString(data).devices
        assert len(devices) == self.shares
        return [device.ID for device in devices if device.health == "Healthy"]

    def gives(self, device: str) -> bool:
        """Return whether an Allocate of *device* is granted."""
        view = self.ledger.view
        assert view is not None
        request = AllocationRequest(resource=RESOURCE, devices=(PluginDeviceId(device),))
        world = self.offers.world(view, Millis(self.now))
        return isinstance(plain.DIALECT.assign(request, world), Assignment)


def test_w12_an_npu_in_use_closes_with_the_end_of_its_pod() -> None:
    node = _Node(whole.MODE, 1)
    node.hold("Ascend910-0")
    node.take(occur(CLOSING, seq=1, at=1_000), at_s=1)
    assert node.healthy() == ["Ascend910-0"]

    node.hold(at_s=601)
    assert node.healthy() == []
    assert not node.gives("Ascend910-0")

    node.take(recover(CLOSING, seq=2, at=900_000), at_s=900)
    node.take(answer(asked=2, at=900_001))
    assert node.healthy() == ["Ascend910-0"]
    assert node.gives("Ascend910-0")


def test_w12_a_worse_fault_closes_it_at_once() -> None:
    """The level shown is the milder one's; each fault has its own effect all the same (D20)."""
    node = _Node(whole.MODE, 1)
    node.hold("Ascend910-0")
    node.take(occur(CLOSING, seq=1, at=1_000), at_s=1)
    node.take(occur(RESET, seq=2, at=101_000), at_s=101)

    assert node.healthy() == []


def test_an_npu_that_nobody_uses_closes_at_once() -> None:
    node = _Node(whole.MODE, 1)
    node.hold()
    node.take(occur(CLOSING, seq=1, at=1_000), at_s=1)

    assert node.healthy() == []


def test_while_nobody_knows_who_uses_it_an_npu_stays_as_it_is() -> None:
    """Unknown is not "nobody"."""
    node = _Node(whole.MODE, 1)
    node.take(occur(CLOSING, seq=1, at=1_000), at_s=1)

    assert node.healthy() == ["Ascend910-0"]


def test_of_four_shares_one_held_one_is_healthy_and_three_are_not() -> None:
    """The held one follows when its pod ends."""
    node = _Node(shared.MODE, 4)
    node.hold("Ascend910-0-2")
    assert len(node.healthy()) == 4
    node.take(occur(CLOSING, seq=1, at=1_000), at_s=1)
    assert node.healthy() == ["Ascend910-0-2"]
    assert [share for share in range(4) if node.gives(f"Ascend910-0-{share}")] == [2]

    node.hold(at_s=601)
    assert node.healthy() == []

    node.take(recover(CLOSING, seq=2, at=900_000), at_s=900)
    node.take(answer(asked=2, at=900_001))
    assert len(node.healthy()) == 4


def test_shares_close_one_after_the_other() -> None:
    node = _Node(shared.MODE, 4)
    node.hold("Ascend910-0-0", "Ascend910-0-3")
    node.take(occur(CLOSING, seq=1, at=1_000), at_s=1)
    assert node.healthy() == ["Ascend910-0-0", "Ascend910-0-3"]

    node.hold("Ascend910-0-3", at_s=60)
    assert node.healthy() == ["Ascend910-0-3"]


def test_a_pod_from_before_the_npu_was_shared_keeps_no_share_of_today() -> None:
    """It has the NPU and runs on; which id the kubelet may give out is another matter."""
    node = _Node(shared.MODE, 4)
    node.hold("Ascend910-0")
    node.take(occur(CLOSING, seq=1, at=1_000), at_s=1)

    assert node.healthy() == []
