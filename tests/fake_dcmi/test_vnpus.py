"""vNPUs of the fake library: what is told of them, and what destroying leaves."""

import ctypes

import pytest

from ascend_agent.driver.dcmi.library import structure, text
from tests.fake_dcmi.conftest import Loaded, LoadFake

_MAIN = 52
_EACH, _TOTAL, _ACTIVITY, _FREE = 0, 1, 5, 2


def _total(fake: Loaded, *, card: int = 0) -> tuple[int, list[int], int]:
    """Return code, ids and claimed number."""
    out = structure("dcmi_soc_total_resource")()
    size = ctypes.c_uint(ctypes.sizeof(out))
    rc = fake.call(
        "dcmi_get_device_info", card, 0, _MAIN, _TOTAL, ctypes.byref(out), ctypes.byref(size)
    )
    return rc, [each for each in out.vdev_id if each not in {0, 0xDEADBEEF}], out.vdev_num


def _describe(fake: Loaded, vnpu: int, *, sub: int = _EACH) -> tuple[int, str, int, int]:
    out = structure("dcmi_vdev_query_stru")()
    out.vdev_id = vnpu
    size = ctypes.c_uint(ctypes.sizeof(out))
    rc = fake.call("dcmi_get_device_info", 0, 0, _MAIN, sub, ctypes.byref(out), ctypes.byref(size))
    info = out.query_info
    return rc, text(info.name), info.is_container_used, info.container_id


@pytest.fixture
def fake(load_fake: LoadFake) -> Loaded:
    """Return a library with one chip and three vNPUs on it."""
    loaded = load_fake("preset 910B3 1")
    loaded.call("dcmi_init")
    loaded.host.set_vnpu(0, 100, "vir05_1c_16g", used=1, container=7)
    loaded.host.set_vnpu(0, 101, "vir10_3c_32g")
    loaded.host.set_vnpu(0, 102, "vir05_1c_16g")
    return loaded


def test_each_vnpu_is_listed_and_described(fake: Loaded) -> None:
    assert _total(fake) == (0, [100, 101, 102], 3)
    assert _describe(fake, 100) == (0, "vir05_1c_16g", 1, 7)
    assert _describe(fake, 101, sub=_ACTIVITY) == (0, "vir10_3c_32g", 0, 0)
    assert _describe(fake, 103)[0] == -8001
    assert _describe(fake, 100, sub=_FREE)[0] == -8255


def test_a_vnpu_changes_and_goes_as_scripted(fake: Loaded) -> None:
    fake.host.set_vnpu(0, 101, "vir10_3c_32g", used=1)
    fake.host.run("vnpu 0 100 gone", "vnpu 0 100 gone")

    assert _describe(fake, 101) == (0, "vir10_3c_32g", 1, 0)
    assert _total(fake) == (0, [101, 102], 2)


def test_one_vnpu_is_destroyed_and_the_host_remembers(fake: Loaded) -> None:
    assert fake.call("dcmi_set_destroy_vdevice", 0, 0, 101) == 0
    assert fake.call("dcmi_set_destroy_vdevice", 0, 0, 101) == -8001

    fake.host.run()
    assert _total(fake) == (0, [100, 102], 2)
    assert "vnpu 0 101 gone" in (fake.host.directory / "script").read_text()


def test_one_number_destroys_every_vnpu_of_the_chip(fake: Loaded) -> None:
    """The trap for an id that nobody checked."""
    assert fake.call("dcmi_set_destroy_vdevice", 0, 0, 0xFFFF) == 0
    assert _total(fake) == (0, [], 0)


def test_more_than_fit_are_claimed_but_never_made(fake: Loaded) -> None:
    for vnpu in range(103, 132):
        fake.host.set_vnpu(0, vnpu, "vir05_1c_16g")
    fake.host.run("vnpus 0 33")

    assert _total(fake)[2] == 33
    with pytest.raises(RuntimeError, match="can't be done: vnpu 0 132"):
        fake.host.set_vnpu(0, 132, "vir05_1c_16g")


@pytest.mark.parametrize("preset", ["310", "310B4", "910C", "950"])
def test_some_chips_can_not_be_cut(load_fake: LoadFake, preset: str) -> None:
    fake = load_fake(f"preset {preset}")
    second = preset == "950"
    fake.call("dcmiv2_init" if second else "dcmi_init")
    out = structure("dcmi_soc_total_resource")()
    size = ctypes.c_uint(ctypes.sizeof(out))
    name, place = ("dcmiv2_get_device_info", (0,)) if second else ("dcmi_get_device_info", (0, 0))

    rc = fake.call(name, *place, _MAIN, _TOTAL, ctypes.byref(out), ctypes.byref(size))

    assert (rc, fake.call("dcmi_set_destroy_vdevice", 0, 0, 100)) == (-8255, -8255)


def test_a_card_on_which_something_runs_keeps_its_share_flag(load_fake: LoadFake) -> None:
    fake = load_fake("preset 910C 4")
    fake.call("dcmi_init")
    fake.host.set_processes(1, [(4711, 1 << 20)])

    refused = [fake.call("dcmi_set_device_share_enable", 0, slot, 1) for slot in (0, 1)]
    same = fake.call("dcmi_set_device_share_enable", 0, 0, 0)
    other = fake.call("dcmi_set_device_share_enable", 1, 0, 1)

    assert (refused, same, other) == ([-8020, -8020], 0, 0)
