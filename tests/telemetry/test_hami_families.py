"""What HAMi is told, and what became of it, under names of ours."""

from dataclasses import replace

from ascend_agent.model.hami import (
    HamiChip,
    HamiConfig,
    HamiRegistration,
    HamiState,
    LockRepairs,
    RegistrationPhase,
)
from ascend_agent.model.ids import DieId, Millis, PhyId, ResourceName
from ascend_agent.model.metered import ContainerDevice, HamiSeen, TurnUsage, Unread
from ascend_agent.model.seen import Seen
from ascend_agent.model.vnpu import SweepMode, Vnpu, VnpuId, VnpuSweep
from ascend_agent.telemetry.hami_families import hami_families
from ascend_agent.telemetry.measured import Counted
from tests.fakes.npus import inventory, npu
from tests.telemetry.samples import Samples, of, samples

CHIP = HamiChip(
    chip_name="910B3",
    word="Ascend910B3",
    resource=ResourceName("huawei.com/Ascend910B3"),
    memory_resource="",
    allocatable_mib=65536,
    capacity_mib=65536,
)
STATE = HamiState(
    config=HamiConfig(chips=(CHIP,)),
    chip=CHIP,
    shares=4,
    wants_soft=True,
    warnings=("one", "two"),
    refused=("three",),
    origins={"shares": "templates of 910B3"},
)
DEVICE = ContainerDevice(
    namespace="ml",
    pod="p",
    container="main",
    place=0,
    npu=PhyId(3),
    die=DieId("D3"),
    granted_mib=16384,
    granted_core_percent=25,
)


def told(hami: HamiSeen, *, counted: Counted | None = None, seen: Seen | None = None) -> Samples:
    return samples(hami_families(seen or Seen(), hami, counted or Counted()))


def die_of(phy: int) -> DieId:
    die = npu(phy).identity.die
    assert die is not None
    return die


def vnpus(*ids: int) -> tuple[Vnpu, ...]:
    return tuple(
        Vnpu(vnpu=VnpuId(each), template="vir04", opened=False, container=0) for each in ids
    )


def test_before_anything_is_known_nothing_is_claimed() -> None:
    assert told(HamiSeen()) == {'hami_skipped_series{reason="no-die"}': 0}


def test_what_is_granted_is_told_whatever_the_slice() -> None:
    """OB-1; under label names that no scraper overwrites (OB-4)."""
    found = told(HamiSeen(devices=(DEVICE, DEVICE)))

    holder = 'npu="3",holder_namespace="ml",holder_pod="p",holder_container="main"'
    assert found[f"hami_granted_memory_bytes{{{holder}}}"] == 16384 << 20
    assert found[f"hami_granted_cores_ratio{{{holder}}}"] == 0.25
    assert found['hami_skipped_series{reason="duplicate"}'] == 1


def test_the_chip_is_told_and_the_shares_with_where_they_come_from() -> None:
    """CF-2: nobody could see why an NPU takes so few pods."""
    found = told(HamiSeen(state=STATE))

    info = 'chip="910B3",word="Ascend910B3",resource="huawei.com/Ascend910B3"'
    assert found[f"hami_info{{{info}}}"] == 1
    assert found['hami_shares{origin="templates of 910B3"}'] == 4
    assert found["hami_allocatable_memory_bytes"] == 65536 << 20


def test_what_is_wanted_and_what_is_done_may_differ() -> None:
    """CF-6: soft slices are asked for, and the host can't limit containers."""
    found = told(HamiSeen(state=STATE))

    assert of(found, "hami_soft_mode") == {
        'hami_soft_mode{which="wanted"}': 1,
        'hami_soft_mode{which="done"}': 0,
    }
    assert of(found, "hami_config_troubles") == {
        'hami_config_troubles{kind="warning"}': 2,
        'hami_config_troubles{kind="refused"}': 1,
    }


def test_a_node_of_which_no_chip_is_configured_has_no_info() -> None:
    found = told(HamiSeen(state=replace(STATE, chip=None)))

    assert not of(found, "hami_info")
    assert not of(found, "hami_allocatable_memory_bytes")


def test_the_registration_is_told_with_its_time() -> None:
    registration = HamiRegistration(
        phase=RegistrationPhase.ASKED,
        counts={die_of(0): 4, die_of(1): 0, DieId("gone"): 4},
        told_at_ms=Millis(1_700_000_000_500),
    )

    found = told(HamiSeen(registration=registration), seen=Seen(inventory=inventory(3)))

    assert of(found, "hami_registration_phase") == {
        f'hami_registration_phase{{phase="{phase.value}"}}': phase is RegistrationPhase.ASKED
        for phase in RegistrationPhase
    }
    assert found["hami_handshake_timestamp_seconds"] == 1_700_000_000.5
    assert of(found, "hami_published_devices") == {
        'hami_published_devices{npu="0"}': 4,
        'hami_published_devices{npu="1"}': 0,
    }


def test_a_handshake_that_was_never_written_has_no_time() -> None:
    found = told(HamiSeen(registration=HamiRegistration(phase=RegistrationPhase.WAITING)))

    assert not of(found, "hami_handshake_timestamp_seconds")


def test_vnpus_are_told_with_those_of_nobody() -> None:
    sweep = VnpuSweep(
        mode=SweepMode.REMOVE,
        found={PhyId(0): vnpus(100, 101), PhyId(1): ()},
        surplus={PhyId(0): vnpus(101)},
        removed=7,
        failed={PhyId(0): "busy"},
    )

    found = told(HamiSeen(sweep=sweep))

    assert {name: value for name, value in found.items() if "vnpus" in name} == {
        'hami_vnpus{npu="0"}': 2,
        'hami_vnpus{npu="1"}': 0,
        'hami_vnpus_surplus{npu="0"}': 1,
        "hami_vnpus_removed_total": 7,
        'hami_vnpus_unremovable{npu="0"}': 1,
    }


def test_turns_are_told_and_a_turn_of_nobody_has_no_time() -> None:
    turns = {
        PhyId(1): TurnUsage(managers=2, waiting=1, turn_since_us=1_700_000_000_250_000),
        PhyId(0): TurnUsage(managers=0, waiting=0, turn_since_us=None),
    }

    found = told(HamiSeen(turns=turns))

    assert of(found, "hami_managers") == {
        'hami_managers{npu="0"}': 0,
        'hami_managers{npu="1"}': 2,
    }
    assert found['hami_turn_queue{npu="1"}'] == 1
    assert of(found, "hami_turn_since_timestamp_seconds") == {
        'hami_turn_since_timestamp_seconds{npu="1"}': 1_700_000_000.25
    }


def test_containers_are_counted_by_their_slice() -> None:
    found = told(HamiSeen(), counted=Counted(slices={"soft": 2, "template": 1}))

    assert of(found, "hami_allocates_total") == {
        'hami_allocates_total{slice="soft"}': 2,
        'hami_allocates_total{slice="template"}': 1,
    }


def test_locks_that_were_given_back_are_counted() -> None:
    assert told(HamiSeen(locks=LockRepairs(released=2)))["hami_locks_released_total"] == 2


def test_files_that_tell_nothing_are_counted_by_reason() -> None:
    found = told(HamiSeen(unread={Unread.IMPLAUSIBLE: 2, Unread.UNREADABLE: 1}))

    assert of(found, "hami_skipped_series") == {
        'hami_skipped_series{reason="implausible"}': 2,
        'hami_skipped_series{reason="no-die"}': 0,
        'hami_skipped_series{reason="unreadable"}': 1,
    }


def test_hamis_own_families_are_on_the_same_page() -> None:
    seen = Seen(inventory=replace(inventory(0), npus=(npu(0),)))

    assert of(told(HamiSeen(), seen=seen), "hami_host_gpu_utilization_ratio")
