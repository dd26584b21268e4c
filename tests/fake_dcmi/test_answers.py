"""What chips answer: identity by preset, full-size writes, lists and their traps."""

import ctypes

import pytest

from ascend_agent.driver.dcmi.library import structure, text
from tests.fake_dcmi.conftest import LoadFake

GUARD = 0xA5


@pytest.mark.parametrize(
    ("preset", "chip_name", "npu_name", "product"),
    [
        ("310", "310", "310", "Atlas 300I Model 3010"),
        ("310B4", "310B4", "310B4", "Atlas 200I A2"),
        ("310P3", "310P3", "310P3", "Atlas 300I Pro"),
        ("310P3-duo", "310P3", "310P3", "Atlas 300I Duo"),
        ("910A", "910A", "910A", None),
        ("910B1", "910B1", "910B1", None),
        ("910B4", "910B4", "910B4", None),
        ("910C", "Ascend910", "9391", None),
    ],
)
def test_a_chip_calls_itself_as_its_generation_does(
    load_fake: LoadFake, preset: str, chip_name: str, npu_name: str, product: str | None
) -> None:
    """Product names exist outside the 910 family only."""
    fake = load_fake(f"preset {preset}")
    fake.call("dcmi_init")
    info, name = structure("dcmi_chip_info_v2")(), ctypes.create_string_buffer(65)

    assert fake.call("dcmi_get_device_chip_info_v2", 0, 0, ctypes.byref(info)) == 0
    assert (text(info.chip_name), text(info.npu_name)) == (chip_name, npu_name)
    assert fake.call("dcmi_get_product_type", 0, 0, name, 65) == (0 if product else -8255)
    assert text(name) == (product or "")


@pytest.mark.parametrize(
    ("preset", "hbm", "ddr"),
    [("310P3", -8255, 0), ("910A", 0, 0), ("910B3", 0, -8255), ("910C", 0, -8255)],
)
def test_a_chip_has_the_memory_of_its_generation(
    load_fake: LoadFake, preset: str, hbm: int, ddr: int
) -> None:
    fake = load_fake(f"preset {preset}")
    fake.call("dcmi_init")

    high = structure("dcmi_hbm_info")()
    plain = structure("dcmi_get_memory_info_stru")()

    assert fake.call("dcmi_get_device_hbm_info", 0, 0, ctypes.byref(high)) == hbm
    assert fake.call("dcmi_get_device_memory_info_v3", 0, 0, ctypes.byref(plain)) == ddr


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("dcmi_get_device_chip_info_v2", "dcmi_chip_info_v2"),
        ("dcmi_get_device_chip_info", "dcmi_chip_info"),
        ("dcmi_get_device_board_info", "dcmi_board_info"),
        ("dcmi_get_device_pcie_info_v2", "dcmi_pcie_info_all"),
        ("dcmi_get_device_hbm_info", "dcmi_hbm_info"),
        ("dcmi_get_device_memory_info_v3", "dcmi_get_memory_info_stru"),
        ("dcmi_get_device_multi_utilization_rate", "dcmi_multi_utilization_info"),
    ],
)
def test_a_structure_is_written_in_full_size_and_not_beyond(
    load_fake: LoadFake, function: str, name: str
) -> None:
    """A caller's buffer that is one byte short must show in a sanitizer's build."""
    made = structure(name)
    size = ctypes.sizeof(made)
    raw = (ctypes.c_ubyte * (size + 16))(*[GUARD] * (size + 16))
    fake = load_fake("preset 910A" if "memory" in function else "preset 910B3")
    fake.call("dcmi_init")

    assert fake.call(function, 0, 0, ctypes.byref(made.from_buffer(raw))) == 0

    assert raw[size - 1] != GUARD
    assert bytes(raw[size:]) == bytes([GUARD] * 16)


def test_an_affinity_text_fills_32_bytes(load_fake: LoadFake) -> None:
    """The library is not told the buffer's size."""
    fake = load_fake("preset 910B3")
    fake.call("dcmi_init")
    raw, length = ctypes.create_string_buffer(b"#" * 40, 40), ctypes.c_int()
    name = "dcmi_get_affinity_cpu_info_by_device_id"

    assert fake.call(name, 0, 0, raw, ctypes.byref(length)) == 0
    assert raw.raw == b"0-63,128-191".ljust(32, b"\0") + b"#" * 8
    assert length.value == 12


@pytest.mark.parametrize(
    ("preset", "code"), [("310P3", -8255), ("910C", -8255), ("910C-x86", 0), ("910B3", 0)]
)
def test_affinity_is_known_on_few_boards(load_fake: LoadFake, preset: str, code: int) -> None:
    fake = load_fake(f"preset {preset}")
    fake.call("dcmi_init")
    raw, length = ctypes.create_string_buffer(64), ctypes.c_int()
    name = "dcmi_get_affinity_cpu_info_by_device_id"

    assert fake.call(name, 0, 0, raw, ctypes.byref(length)) == code


def test_entries_behind_the_count_of_codes_are_stale(load_fake: LoadFake) -> None:
    """A reader of all 128 entries would find faults that are not there (DCMI defect 8)."""
    fake = load_fake("preset 910B3 1")
    fake.call("dcmi_init")
    fake.host.set_codes(0, [0x80E01801, 0x80C98000])

    rc, count, whole = fake.codes(0, 0)

    assert (rc, count) == (0, 2)
    assert whole[:3] == [0x80E01801, 0x80C98000, 0xDEADBEEF]


def test_more_codes_than_fit_are_refused_and_may_be_claimed(load_fake: LoadFake) -> None:
    fake = load_fake("preset 910B3 1")
    fake.call("dcmi_init")
    fake.host.set_codes(0, range(1, 131))

    assert fake.codes(0, 0)[0] == -8001
    assert fake.codes(0, 0, size=130)[:2] == (0, 130)

    fake.host.set_codes(0, [7])
    fake.host.claim_codes(0, 500)
    assert fake.codes(0, 0)[:2] == (0, 500)


def test_health_follows_from_the_worst_code_unless_set(load_fake: LoadFake) -> None:
    fake = load_fake("preset 910B3 1")
    fake.call("dcmi_init")
    fake.host.inject(0, 0x80E01801, severity=1)
    fake.host.inject(0, 0x80C98000, severity=3)
    assert fake.number("dcmi_get_device_health", 0, 0, signed=False) == (0, 3)

    fake.host.recover(0, 0x80C98000)
    assert fake.number("dcmi_get_device_health", 0, 0, signed=False) == (0, 1)

    fake.host.set_health(0, 4)
    assert fake.number("dcmi_get_device_health", 0, 0, signed=False) == (0, 4)


def test_a_full_process_list_has_64_entries(load_fake: LoadFake) -> None:
    fake = load_fake("preset 910B3 1")
    fake.call("dcmi_init")
    fake.host.set_processes(0, [(1000 + i, i << 30) for i in range(64)])
    found, count = (structure("dcmi_proc_mem_info") * 64)(), ctypes.c_int()

    rc = fake.call("dcmi_get_device_resource_info", 0, 0, found, ctypes.byref(count))

    assert (rc, count.value) == (0, 64)
    assert (found[63].proc_id, found[63].proc_mem_usage) == (1063, 63 << 30)


def test_a_share_flag_is_the_whole_cards(load_fake: LoadFake) -> None:
    """A3: one call switches both dies."""
    fake = load_fake("preset 910C 4")
    fake.call("dcmi_init")

    assert fake.call("dcmi_set_device_share_enable", 0, 1, 2) == -8001
    assert fake.call("dcmi_set_device_share_enable", 0, 1, 1) == 0
    assert [
        fake.number("dcmi_get_device_share_enable", *at) for at in ((0, 0), (0, 1), (1, 0))
    ] == [
        (0, 1),
        (0, 1),
        (0, 0),
    ]


def test_the_info_channel_serves_the_share_flag(load_fake: LoadFake) -> None:
    fake = load_fake("preset 910B3 1")
    fake.call("dcmi_init")
    flag, size = ctypes.c_uint(1), ctypes.c_uint(4)

    assert fake.call("dcmi_set_device_info", 0, 0, 0x8001, 0, ctypes.byref(flag), 4) == 0
    flag.value = 9
    rc = fake.call("dcmi_get_device_info", 0, 0, 0x8001, 0, ctypes.byref(flag), ctypes.byref(size))
    assert (rc, flag.value) == (0, 1)
    rc = fake.call("dcmi_get_device_info", 0, 0, 12, 1, ctypes.byref(flag), ctypes.byref(size))
    assert rc == -8255


@pytest.mark.parametrize(
    ("preset", "one", "other", "kind"),
    [
        ("910B3 16", (0, 0), (7, 0), 3),
        ("910B3 16", (0, 0), (8, 0), 1),
        ("910C", (0, 0), (0, 1), 6),
        ("910C", (0, 0), (1, 0), 7),
    ],
)
def test_topology_tells_how_two_chips_are_linked(
    load_fake: LoadFake, preset: str, one: tuple[int, int], other: tuple[int, int], kind: int
) -> None:
    fake = load_fake(f"preset {preset}")
    fake.call("dcmi_init")

    assert fake.number("dcmi_get_topo_info_by_device_id", *one, *other) == (0, kind)


@pytest.mark.parametrize(
    ("preset", "partner"), [("910C", (0, 6)), ("910C-9000", (0, -1)), ("910B3", (-8255, -77))]
)
def test_partner_cards_exist_on_a3_boards_with_a_shared_port(
    load_fake: LoadFake, preset: str, partner: tuple[int, int]
) -> None:
    fake = load_fake(f"preset {preset}")
    fake.call("dcmi_init")

    assert fake.number("dcmi_get_netdev_brother_device", 2, 0) == partner
