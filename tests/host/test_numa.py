from pathlib import Path

import pytest

from ascend_agent.host.numa import SysfsNuma, parse_cpulist
from ascend_agent.model.ids import LogicId, PhyId
from ascend_agent.model.npu import ChipIdentity, NpuAddress, NpuIdentity

BUS = "0000:C1:00.0"
TWO = {0: "0-47", 1: "48-95"}
FOUR = {0: "0-23", 1: "24-47", 2: "48-71", 3: "72-95"}


def npu(*, bus: str | None = None, affinity: str | None = None) -> NpuIdentity:
    return NpuIdentity(
        phy=PhyId(3),
        address=NpuAddress(card=None, slot=None, logic=LogicId(3), lane=3),
        chip=ChipIdentity(
            chip_type="Ascend",
            chip_name="910B3",
            npu_name="910B3",
            chip_version="V1",
            board_id=None,
            mainboard_id=None,
            product=None,
        ),
        die=None,
        bus=bus,
        memory_mib=None,
        ai_cores=None,
        affinity=affinity,
    )


def sysfs(root: Path, *, nodes: dict[int, str], pci: str | None = None) -> SysfsNuma:
    """Write a sysfs with these cpulists a node and, for ``BUS``, this ``numa_node``."""
    for node, cpulist in nodes.items():
        place = root / "devices" / "system" / "node" / f"node{node}"
        place.mkdir(parents=True)
        (place / "cpulist").write_text(f"{cpulist}\n")
    (root / "devices" / "system" / "node" / "nodelist").mkdir(parents=True)
    if pci is not None:
        place = root / "bus" / "pci" / "devices" / BUS.lower()
        place.mkdir(parents=True)
        (place / "numa_node").write_text(f"{pci}\n")
    return SysfsNuma(root=root)


@pytest.mark.parametrize(
    ("nodes", "pci", "affinity", "expected"),
    [
        pytest.param(TWO, None, "48-95", 1, id="affinity alone"),
        pytest.param(TWO, "1", "0-95", 1, id="pci, where the affinity covers everything"),
        pytest.param(TWO, "-1", "0-95", None, id="neither tells one node"),
        pytest.param(FOUR, "2", "48-95", 2, id="pci, where the affinity covers two nodes"),
        pytest.param(FOUR, "-1", "48-95", None, id="two nodes are not one"),
        pytest.param(TWO, "1", "48-95\n", 1, id="trailing newline"),
        pytest.param({}, "-1", "0-7", None, id="a machine without nodes"),
        pytest.param({}, "0", "0-7", None, id="a node the kubelet would not know"),
        pytest.param(TWO, "0", "48-95", 0, id="pci before affinity"),
        pytest.param(TWO, "7", "48-95", 1, id="pci names a node this machine has not"),
        pytest.param(TWO, "junk", "0-47", 0, id="unreadable pci value"),
        pytest.param({0: "0-3,8"}, None, "0-3,8-8", 0, id="one set, two spellings"),
        pytest.param({0: "0-47", 1: ""}, None, "", None, id="memory-only node, empty affinity"),
        pytest.param({0: "", 1: "0-47"}, None, "0-47", 1, id="memory-only node is no match"),
        pytest.param(TWO, None, "48-60", 1, id="some of a node's CPUs"),
        pytest.param({0: "0-95"}, None, "0-95", 0, id="one node is near whatever it is"),
        pytest.param(TWO, None, "48-95\0\0", 1, id="padded by the driver"),
        pytest.param(TWO, None, "48-", None, id="malformed affinity"),
        pytest.param(TWO, None, None, None, id="the chip tells nothing"),
    ],
)
def test_the_node_of_an_npu(
    tmp_path: Path, nodes: dict[int, str], pci: str | None, affinity: str | None, expected: int
) -> None:
    numa = sysfs(tmp_path, nodes=nodes, pci=pci)

    assert numa.read_numa(npu(bus=BUS, affinity=affinity)) == expected


def test_a_bus_address_can_not_lead_elsewhere(tmp_path: Path) -> None:
    """It comes from the vendor's library, and a path is made of it."""
    numa = sysfs(tmp_path, nodes=TWO)
    (tmp_path / "bus" / "pci" / "devices").mkdir(parents=True)
    (tmp_path / "numa_node").write_text("1")

    assert numa.read_numa(npu(bus="../../..", affinity=None)) is None


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0", {0}),
        ("0-2", {0, 1, 2}),
        (" 0-1 , 4\n", {0, 1, 4}),
        ("", set()),
        ("3-1", set()),
        ("1,,2", set()),
        ("0x3", set()),
        ("0-99999999999", set()),
        ("٣", set()),
    ],
)
def test_a_cpulist_is_read_as_the_kernel_writes_it(text: str, cpus: set[int]) -> None:
    """The last but one would fill the memory, if it were taken at its word."""
    assert parse_cpulist(text) == cpus
