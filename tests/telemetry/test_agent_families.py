from collections.abc import Mapping
from dataclasses import replace

import pytest

from ascend_agent.model.ids import ResourceName
from ascend_agent.model.kubelet import (
    InstancePhase,
    InstanceState,
    ListSent,
    ServingPhase,
    ServingState,
)
from ascend_agent.model.npu import DriverApi, DriverPhase, DriverState
from ascend_agent.model.seen import Seen
from ascend_agent.model.tasks import TaskState
from ascend_agent.telemetry.agent_families import (
    agent_families,
    allocate_families,
    driver_families,
    list_families,
    serving_families,
)
from ascend_agent.telemetry.measured import Counted, Distribution, Measured, Sent, Served
from tests.telemetry.samples import of, samples

NAME = ResourceName("huawei.com/Ascend910")
OTHER = ResourceName("huawei.com/Ascend910B3")
LABEL = f'{{resource="{NAME}"}}'
LAST = ListSent(resource=NAME, generation=4, total=8, healthy=7, sent_ns=0, causes=())
STREAMING = ServingState(resource=NAME, phase=ServingPhase.STREAMING, registrations=2, streams=1)


def test_the_last_list_of_a_resource_is_what_it_offers() -> None:
    counted = Counted(sent={NAME: Sent(lists=5, last=LAST)})

    found = samples(list_families(Seen(serving={NAME: STREAMING}), counted))

    assert found[f"devices{LABEL}"] == 8
    assert found[f"devices_healthy{LABEL}"] == 7
    assert found[f"lists_sent_total{LABEL}"] == 5


@pytest.mark.parametrize(
    "serving",
    [
        {NAME: replace(STREAMING, phase=ServingPhase.WAITING)},
        {OTHER: replace(STREAMING, resource=OTHER)},
    ],
    ids=["waiting", "renamed"],
)
def test_a_resource_that_is_no_longer_served_offers_nothing(
    serving: Mapping[ResourceName, ServingState],
) -> None:
    """Its lists were sent all the same: the counter stays. Under HAMi it may be renamed."""
    counted = Counted(sent={NAME: Sent(lists=5, last=LAST)})

    found = samples(list_families(Seen(serving=serving), counted))

    assert of(found, "devices") == {}
    assert of(found, "devices_healthy") == {}
    assert found[f"lists_sent_total{LABEL}"] == 5


def test_the_ways_of_a_fault_and_of_its_recovery_to_the_kubelet_are_distributions() -> None:
    """A recovery may wait for the driver for seconds, which must not spoil the faults' numbers."""
    fault, recovery = (Distribution().with_value(taken) for taken in (0.0012, 2.0))
    counted = Counted(faults_s=fault, recoveries_s=recovery)

    found = samples(list_families(Seen(), counted))

    assert found['fault_to_kubelet_seconds_bucket{change="fault",le="0.001"}'] == 0
    assert found['fault_to_kubelet_seconds_bucket{change="fault",le="0.0015"}'] == 1
    assert found['fault_to_kubelet_seconds_count{change="fault"}'] == 1
    assert found['fault_to_kubelet_seconds_sum{change="fault"}'] == 0.0012
    assert found['fault_to_kubelet_seconds_sum{change="recovery"}'] == 2.0


def test_a_resource_says_where_it_stands() -> None:
    found = samples(serving_families(Seen(serving={NAME: STREAMING})))

    assert found[f"registrations_total{LABEL}"] == 2
    assert found[f"streams{LABEL}"] == 1
    assert of(found, "serving_phase") == {
        f'serving_phase{{resource="{NAME}",phase="waiting"}}': 0,
        f'serving_phase{{resource="{NAME}",phase="serving"}}': 0,
        f'serving_phase{{resource="{NAME}",phase="registered"}}': 0,
        f'serving_phase{{resource="{NAME}",phase="streaming"}}': 1,
    }


def test_allocates_are_counted_by_outcome() -> None:
    served = Served(granted=3, refused=1, took_s=Distribution().with_value(0.0007))

    found = samples(allocate_families(Counted(served={NAME: served})))

    assert of(found, "allocates_total") == {
        f'allocates_total{{resource="{NAME}",outcome="granted"}}': 3,
        f'allocates_total{{resource="{NAME}",outcome="refused"}}': 1,
    }
    assert found[f"allocate_duration_seconds_sum{LABEL}"] == 0.0007


def test_the_driver_says_what_it_is_and_how_it_fares() -> None:
    state = DriverState(
        phase=DriverPhase.READY,
        api=DriverApi.V1,
        library="/usr/local/dcmi/libdcmi.so",
        dcmi_version="1.2",
        driver_version="24.1.0",
        callbacks=True,
        starts=3,
        parked_lanes=(4,),
    )

    assert samples(driver_families(state)) == {
        'driver_info{api="v1",library="/usr/local/dcmi/libdcmi.so",dcmi_version="1.2",'
        'driver_version="24.1.0"}': 1,
        'driver_phase{phase="starting"}': 0,
        'driver_phase{phase="ready"}': 1,
        'driver_phase{phase="unavailable"}': 0,
        "driver_restarts_total": 2,
        "driver_lanes_parked": 1,
        "driver_callbacks": 1,
    }


def test_a_driver_that_never_started_restarted_never() -> None:
    found = samples(driver_families(DriverState(phase=DriverPhase.UNAVAILABLE)))

    assert found["driver_restarts_total"] == 0
    assert 'driver_info{api="",library="",dcmi_version="",driver_version=""}' in found
    assert "driver_callbacks" not in found
    assert samples(driver_families(None)) == {}


@pytest.mark.parametrize(
    ("phase", "value"), [(InstancePhase.HOLDING, 1), (InstancePhase.WAITING, 0)]
)
def test_the_agent_says_how_its_own_parts_fare(phase: InstancePhase, value: int) -> None:
    measured = Measured(
        version="1",
        seen=Seen(
            instance=InstanceState(phase=phase),
            tasks=(
                TaskState(name="fold-health", running=True, restarts=0),
                TaskState(name="http", running=False, restarts=4, failure="port taken"),
            ),
        ),
        log_lines_dropped=17,
    )

    assert samples(agent_families(measured)) == {
        "node_lock_held": value,
        'task_running{task="fold-health"}': 1,
        'task_running{task="http"}': 0,
        'task_restarts_total{task="fold-health"}': 0,
        'task_restarts_total{task="http"}': 4,
        "log_lines_dropped_total": 17,
    }


def test_a_lock_nobody_asked_for_yet_is_neither_held_nor_free() -> None:
    assert "node_lock_held" not in samples(agent_families(Measured(version="1")))
