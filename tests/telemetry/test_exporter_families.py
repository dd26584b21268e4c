"""HAMi's own families: names and labels to the letter, and no page that a scraper refuses."""

from collections import Counter
from dataclasses import replace

import pytest

from ascend_agent.dialects.hami.attribution import attribute
from ascend_agent.host.shm import decode_local
from ascend_agent.model.hami import HamiChip
from ascend_agent.model.ids import DieId, PhyId, PodUid, ResourceName
from ascend_agent.model.metered import ContainerDevice, HamiSeen, SoftReadings
from ascend_agent.model.npu import Npu, NpuUsage
from ascend_agent.model.pods import ContainerKind, PodContainer
from ascend_agent.model.seen import Seen
from ascend_agent.telemetry.exporter_families import exporter_families
from tests.fakes.cluster import pod
from tests.fakes.npus import inventory, npu, without_address
from tests.host.shm_samples import vector
from tests.telemetry.samples import Samples, of, samples

GIB = 1 << 30
D0 = DieId("0A1B2C3D-4E5F6071-8293A4B5-C6D7E8F9-00000000")
D1 = DieId("0A1B2C3D-4E5F6071-8293A4B5-C6D7E8F9-00000001")


def usage(*, used_mib: int | None = 1024, percent: int | None = 30) -> NpuUsage:
    return NpuUsage(
        memory_mib=65536,
        memory_used_mib=used_mib,
        ai_core_percent=percent,
        vector_percent=None,
        npu_percent=None,
    )


def node(*npus: Npu, **usages: NpuUsage) -> Seen:
    """Return a node of those NPUs; ``npu0=...`` is how busy one is."""
    return Seen(
        inventory=replace(inventory(0), npus=npus),
        usage={PhyId(int(name.removeprefix("npu"))): each for name, each in usages.items()},
    )


def with_die(phy: int, die: DieId | None, *, product: str | None = None) -> Npu:
    known = npu(phy)
    chip = replace(known.identity.chip, product=product)
    return replace(known, identity=replace(known.identity, die=die, chip=chip))


def soft(
    phy: int = 0, *, die: DieId = D0, used: int | None = GIB, name: str = "p", place: int = 0
) -> ContainerDevice:
    return ContainerDevice(
        namespace="ml",
        pod=name,
        container="main",
        place=place,
        npu=PhyId(phy),
        die=die,
        granted_mib=1,
        granted_core_percent=1,
        used_bytes=used,
        limit_bytes=None if used is None else 2 * GIB,
    )


def told(
    seen: Seen, *devices: ContainerDevice, host_sum: bool = True
) -> tuple[Samples, Counter[str]]:
    skipped: Counter[str] = Counter()
    hami = HamiSeen(devices=devices, host_sum=host_sum)
    found = samples(exporter_families(seen, hami, skipped))
    return found, +skipped


def test_the_known_pod_is_told_as_dashboards_expect_it() -> None:
    """HAMi F1, F2: a slot ``U1:U0``, and the account of the container that has it."""
    account = decode_local(vector())
    assert account is not None
    resource = ResourceName("huawei.com/Ascend910B3")
    main = PodContainer(name="vllm", kind=ContainerKind.APP, limits={resource: 2})
    p7 = replace(
        pod("p7"),
        uid=PodUid("u7"),
        containers=(main,),
        annotations={
            "hami.io/Ascend910B3-devices-allocated": f"{D1},Ascend910B3,28672,40:"
            f"{D0},Ascend910B3,28672,40:;"
        },
    )
    chip = HamiChip(
        chip_name="910B3",
        word="Ascend910B3",
        resource=resource,
        memory_resource="",
        allocatable_mib=65536,
        capacity_mib=65536,
    )
    npus = (with_die(0, D0), with_die(1, D1))
    readings = SoftReadings(containers={"u7_vllm": account})
    devices = attribute([p7], replace(inventory(), npus=npus), readings, chip=chip)

    found, skipped = told(node(*npus), *devices)

    first = (
        'namespace="default",pod="p7",container="vllm",vdevice_index="0",device_uuid='
        '"0A1B2C3D-4E5F6071-8293A4B5-C6D7E8F9-00000000"'
    )
    second = (
        'namespace="default",pod="p7",container="vllm",vdevice_index="1",device_uuid='
        '"0A1B2C3D-4E5F6071-8293A4B5-C6D7E8F9-00000001"'
    )
    assert of(found, "hami_vgpu_memory_used_bytes") == {
        f"hami_vgpu_memory_used_bytes{{{first}}}": 6442450944,
        f"hami_vgpu_memory_used_bytes{{{second}}}": 2147483648,
    }
    assert of(found, "hami_vgpu_memory_limit_bytes") == {
        f"hami_vgpu_memory_limit_bytes{{{first}}}": 30064771072,
        f"hami_vgpu_memory_limit_bytes{{{second}}}": 30064771072,
    }
    assert not skipped


def test_an_npu_is_told_by_logic_id_die_and_product() -> None:
    board = replace(with_die(4, D0, product="910B3"), address=replace(npu(2).identity.address))

    found, _ = told(node(board, npu4=usage()))

    labels = f'device_index="2",device_uuid="{D0}",device_type="Ascend-910B3"'
    assert found == {
        f"hami_host_gpu_memory_used_bytes{{{labels}}}": GIB,
        f"hami_host_gpu_utilization_ratio{{{labels}}}": 30,
    }


@pytest.mark.parametrize(
    ("product", "told_as"),
    [
        ("Atlas 300I Pro", "Ascend-Atlas 300I Pro"),
        ("Ascend-910B", "Ascend-910B"),
        ("NVIDIA-A", "NVIDIA-A"),
        ("Ascend910", "Ascend-Ascend910"),
        (None, "Ascend-910B3"),
        ("odd\udcff", "Ascend-odd?"),
    ],
)
def test_the_type_of_an_npu_starts_with_its_vendor(product: str | None, told_as: str) -> None:
    found, _ = told(node(with_die(0, D0, product=product)))

    assert all(f'device_type="{told_as}"' in series for series in found)


@pytest.mark.parametrize("unread", [None, usage(used_mib=None, percent=None)])
def test_what_the_driver_does_not_tell_is_zero(unread: NpuUsage | None) -> None:
    seen = node(with_die(0, D0), **({"npu0": unread} if unread else {}))

    found, _ = told(seen, soft(used=0))

    assert set(found.values()) == {0, 2 * GIB}


def test_the_containers_sum_stands_for_the_npu_where_they_use_something() -> None:
    """HAMi F7: as its exporter has it, unless it is switched off."""
    seen = node(with_die(0, D0), with_die(1, D1), npu0=usage(used_mib=3000), npu1=usage(used_mib=5))
    devices = (soft(), soft(name="q", used=3 * GIB), soft(1, die=D1, used=0))

    summed, _ = told(seen, *devices)
    driver, _ = told(seen, *devices, host_sum=False)

    assert list(of(summed, "hami_host_gpu_memory_used_bytes").values()) == [4 * GIB, 5 << 20]
    assert list(of(driver, "hami_host_gpu_memory_used_bytes").values()) == [3000 << 20, 5 << 20]


def test_a_container_has_all_of_hamis_series() -> None:
    found, _ = told(node(with_die(0, D0), npu0=usage(percent=77)), soft())

    labels = f'namespace="ml",pod="p",container="main",vdevice_index="0",device_uuid="{D0}"'
    assert {name: value for name, value in found.items() if labels in name} == {
        f"hami_vgpu_memory_used_bytes{{{labels}}}": GIB,
        f"hami_vgpu_memory_limit_bytes{{{labels}}}": 2 * GIB,
        f"hami_container_device_utilization_ratio{{{labels}}}": 77,
        f"hami_vgpu_memory_context_bytes{{{labels}}}": 0,
        f"hami_vgpu_memory_module_bytes{{{labels}}}": 0,
        f"hami_vgpu_memory_buffer_bytes{{{labels}}}": 0,
    }


def test_npus_are_told_in_every_mode_and_containers_only_with_an_account() -> None:
    """HAMi F8: without soft mode there was no exporter at all."""
    found, _ = told(node(with_die(0, D0), npu0=usage()), soft(used=None))

    assert {name.partition("{")[0] for name in found} == {
        "hami_host_gpu_memory_used_bytes",
        "hami_host_gpu_utilization_ratio",
    }


def test_a_series_that_would_be_told_twice_is_told_once_and_counted() -> None:
    """HAMi F9: the whole page failed, with every other number on it."""
    found, skipped = told(node(with_die(0, D0)), soft(used=5), soft(used=7))

    assert list(of(found, "hami_vgpu_memory_used_bytes").values()) == [5]
    assert list(of(found, "hami_host_gpu_memory_used_bytes").values()) == [5]
    assert skipped == {"duplicate": 1}


def test_an_npu_that_is_gone_or_has_no_die_id_is_no_series() -> None:
    """An empty id would be the same for all of them."""
    gone, nameless = without_address(with_die(0, D0)), with_die(1, None)

    found, skipped = told(node(gone, nameless))

    assert found == {}
    assert skipped == {"no-die": 1}


def test_a_container_of_an_npu_that_is_gone_keeps_its_account() -> None:
    found, _ = told(node(without_address(with_die(0, D0)), npu0=usage()), soft())

    assert list(of(found, "hami_vgpu_memory_used_bytes").values()) == [GIB]
    assert list(of(found, "hami_container_device_utilization_ratio").values()) == [0]


def test_before_the_driver_answered_nothing_is_told() -> None:
    assert told(Seen()) == ({}, {})
