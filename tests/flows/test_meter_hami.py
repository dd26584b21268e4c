"""What is told of HAMi is what the bus and the files say at that moment."""

from collections.abc import Collection
from dataclasses import replace

from ascend_agent.bus import Bus
from ascend_agent.flows.meter_hami import MeterHami
from ascend_agent.model.hami import (
    HamiChip,
    HamiConfig,
    HamiRegistration,
    HamiState,
    LockRepairs,
    RegistrationPhase,
)
from ascend_agent.model.ids import PhyId, ResourceName
from ascend_agent.model.metered import HamiSeen, SoftReadings, SoftUsage, TurnUsage, Unread
from ascend_agent.model.pods import ContainerKind, PodContainer, Pods
from ascend_agent.model.vnpu import SweepMode, VnpuSweep
from tests.fakes.cluster import pod
from tests.fakes.npus import inventory, npu

RESOURCE = ResourceName("huawei.com/Ascend910B3")
CHIP = HamiChip(
    chip_name="910B3",
    word="Ascend910B3",
    resource=RESOURCE,
    memory_resource="",
    allocatable_mib=65536,
    capacity_mib=65536,
)
STATE = HamiState(config=HamiConfig(chips=(CHIP,)), chip=CHIP)
TURNS = {PhyId(0): TurnUsage(managers=1, waiting=0, turn_since_us=None)}


class Files:
    """Files of containers, as they are now."""

    def __init__(self) -> None:
        self.now = SoftReadings()
        self.asked: list[tuple[set[str], set[PhyId]]] = []

    def read(self, *, containers: Collection[str], npus: Collection[PhyId]) -> SoftReadings:
        self.asked.append(({*containers}, {*npus}))
        return self.now


def meter(bus: Bus, files: Files, *, host_sum: bool = False) -> MeterHami:
    return MeterHami(bus=bus, meter=files, host_sum=host_sum)


def pods() -> Pods:
    main = PodContainer(name="main", kind=ContainerKind.APP, limits={RESOURCE: 1})
    annotations = {
        "hami.io/Ascend910B3-devices-allocated": f"{npu(2).identity.die},Ascend910B3,1024,10:;"
    }
    return Pods(pods=(replace(pod("p"), annotations=annotations, containers=(main,)),), live=True)


def test_before_anything_was_said_no_file_is_read() -> None:
    files = Files()

    assert meter(Bus([]), files).seen() == HamiSeen(host_sum=False)
    assert files.asked == []


def test_the_files_are_read_each_time_and_given_to_the_pods_of_now() -> None:
    bus, files = Bus([]), Files()
    bus.hami.claim("test").put(STATE)
    bus.inventory.claim("test").put(inventory())
    bus.pods.claim("test").put(pods())
    asked = meter(bus, files)
    (before,) = asked.seen().devices
    assert files.asked == [({"uid-p_main"}, {each.phy for each in inventory().npus})]

    files.now = SoftReadings(
        containers={"uid-p_main": SoftUsage(limit_bytes=9, used_bytes=(5,) * 8)},
        turns=TURNS,
        unread={Unread.IMPLAUSIBLE: 1},
    )
    after = asked.seen()

    assert (before.npu, before.used_bytes) == (2, None)
    assert [(each.npu, each.used_bytes) for each in after.devices] == [(2, 5)]
    assert after.turns == TURNS
    assert after.unread == {Unread.IMPLAUSIBLE: 1}


def test_while_pods_or_npus_are_unknown_nothing_is_anybodys() -> None:
    bus, files = Bus([]), Files()
    files.now = SoftReadings(turns=TURNS)
    bus.hami.claim("test").put(STATE)
    bus.inventory.claim("test").put(inventory())

    found = meter(bus, files).seen()

    assert found.devices == ()
    assert found.turns == TURNS


def test_only_files_of_npus_and_containers_that_are_here_are_asked_for() -> None:
    """A container may make a file for any number: each new one would be three more series."""
    bus, files = Bus([]), Files()
    bus.hami.claim("test").put(STATE)
    asked = meter(bus, files)
    asked.seen()
    bus.pods.claim("test").put(Pods(pods=(pod("without"),), live=True))
    asked.seen()
    bus.inventory.claim("test").put(inventory(2))
    asked.seen()

    assert files.asked == [(set(), set()), (set(), set()), (set(), {0, 1})]


def test_what_other_flows_say_is_passed_on() -> None:
    bus = Bus([])
    state = replace(STATE, chip=None)
    registration = HamiRegistration(phase=RegistrationPhase.REPORTED)
    sweep = VnpuSweep(mode=SweepMode.OFF)
    bus.hami.claim("test").put(state)
    bus.registered.claim("test").put(registration)
    bus.vnpus.claim("test").put(sweep)
    bus.locks.claim("test").put(LockRepairs(released=3))

    assert meter(bus, Files(), host_sum=True).seen() == HamiSeen(
        state=state,
        registration=registration,
        sweep=sweep,
        locks=LockRepairs(released=3),
        host_sum=True,
    )
