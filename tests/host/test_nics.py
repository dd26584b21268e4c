"""Real files and links, real rtnetlink; only the polls run on virtual time."""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from looptime import LoopTimeProxy

from ascend_agent.host.netlink import LinkEvents
from ascend_agent.host.nics import SysfsNics
from ascend_agent.model.nics import Nic, NicLook
from tests.host.namespaces import Namespace, network_namespace
from tests.host.sysfs import Sysfs


@pytest.fixture
def sysfs(tmp_path: Path) -> Sysfs:
    return Sysfs(tmp_path / "sys")


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    try:
        with network_namespace() as made:
            yield made
    except PermissionError:
        pytest.skip("this user may not make a network namespace")


def refused() -> LinkEvents:
    raise PermissionError(1, "Operation not permitted")


def watcher(sysfs: Sysfs, connect: Callable[[], LinkEvents] = refused) -> SysfsNics:
    return SysfsNics(root=sysfs.root, connect=connect)


async def first(nics: SysfsNics) -> NicLook:
    looks = nics.looks()
    look = await anext(looks)
    await looks.aclose()
    return look


def states(look: NicLook) -> dict[str, str]:
    return {nic.name: nic.operstate for nic in look.nics}


# --- what is read -------------------------------------------------------------------------


async def test_a_card_is_read_through_the_links_of_sysfs(sysfs: Sysfs) -> None:
    """D16: the peer refuses links, and everything in sysfs is one."""
    sysfs.add_nic("enps1", slot="2", operstate="lowerlayerdown", index=5)
    sysfs.add_nic("enps0", place="pci0000:00/0000:00:01.0", index=4)

    assert (await first(watcher(sysfs))).nics == (
        Nic(
            name="enps0",
            path="devices/pci0000:00/0000:00:01.0/net/enps0",
            vendor_id="0x10b5",
            device_id="0x1825",
            slot="1",
            operstate="up",
            index=4,
        ),
        Nic(
            name="enps1",
            path="devices/ub0/enps1/net/enps1",
            vendor_id="0x10b5",
            device_id="0x1825",
            slot="2",
            operstate="lowerlayerdown",  # 14 characters: the peer reads 10 of them (D20)
            index=5,
        ),
    )


@pytest.mark.parametrize(
    ("operstate", "carrier", "told"),
    [("unknown", "1", True), ("unknown", "0", False), ("unknown", None, None), ("up", "1", None)],
)
async def test_the_carrier_is_asked_where_the_state_is_unknown(
    sysfs: Sysfs,
    operstate: str,
    carrier: str | None,
    told: bool | None,  # noqa: FBT001 -- a column
) -> None:
    path = sysfs.add_nic("enps0", operstate=operstate)
    if carrier is not None:
        (path / "carrier").write_text(carrier)

    assert [nic.carrier for nic in (await first(watcher(sysfs))).nics] == [told]


async def test_interfaces_without_a_device_are_left_out(sysfs: Sysfs) -> None:
    sysfs.add_nic("enps0")
    sysfs.add_virtual("veth1")
    (sysfs.root / "class" / "net" / "bonding_masters").write_text("")

    assert states(await first(watcher(sysfs))) == {"enps0": "up"}


async def test_a_name_that_is_no_text_is_shown_as_one(sysfs: Sysfs, namespace: Namespace) -> None:
    """The kernel takes any bytes; this name could neither be asked for nor logged."""
    sysfs.add_nic(os.fsdecode(b"enp\xff"))

    [nic] = (await first(watcher(sysfs, connect=namespace.events))).nics
    assert nic.name == "enp\ufffd"
    assert nic.operstate == "up"


async def test_what_leads_out_of_the_devices_is_not_read(sysfs: Sysfs, tmp_path: Path) -> None:
    """Topology 5.9.1."""
    path = sysfs.add_nic("enps0")
    (tmp_path / "secret").write_text("0x10b5")
    (path / "operstate").unlink()
    (path / "operstate").symlink_to(tmp_path / "secret")
    (path / "device").unlink()
    (path / "device").symlink_to(tmp_path)
    (tmp_path / "vendor").write_text("0x10b5")
    (sysfs.root / "class" / "net" / "evil").symlink_to(tmp_path)

    [nic] = (await first(watcher(sysfs))).nics
    assert (nic.name, nic.operstate, nic.vendor_id) == ("enps0", "", "")


async def test_what_can_not_be_read_is_empty(sysfs: Sysfs) -> None:
    path = sysfs.add_nic("enps0")
    for name in ("operstate", "ifindex"):
        (path / name).unlink()
    (path / "operstate").mkdir()
    (path / "device" / "vendor").write_bytes(b"\xff\0")
    (path / "device" / "slot_id").unlink()
    os.mkfifo(path / "device" / "slot_id")

    [nic] = (await first(watcher(sysfs))).nics
    assert (nic.operstate, nic.index, nic.slot, nic.vendor_id) == ("", None, "", "\ufffd")


async def test_a_device_file_without_end_is_cut(sysfs: Sysfs) -> None:
    path = sysfs.add_nic("enps0")
    (path / "operstate").write_text("x" * 4096)

    assert states(await first(watcher(sysfs))) == {"enps0": "x" * 32}


async def test_a_host_without_sysfs_is_told_with_the_remedy(tmp_path: Path) -> None:
    look = await first(watcher(Sysfs(tmp_path / "none")))

    assert look == NicLook(
        trouble=f"network cards in {tmp_path}/none: can't be listed (No such file or directory); "
        "mount the host's /sys there"
    )


async def test_the_place_of_a_pci_device_is_found_whatever_the_case_of_its_address(
    sysfs: Sysfs, tmp_path: Path
) -> None:
    """D17: the driver writes C1, sysfs c1; and no address leads elsewhere."""
    sysfs.add_device("pci0000:c0/0000:c0:01.0/0000:c1:00.0")
    devices = sysfs.root / "bus" / "pci" / "devices"
    devices.mkdir(parents=True)
    (devices / "0000:c1:00.0").symlink_to("../../../devices/pci0000:c0/0000:c0:01.0/0000:c1:00.0")
    (devices / "0000:c2:00.0").symlink_to("../../../devices/pci0000:c0/gone")
    (devices / "0000:c3:00.0").symlink_to(tmp_path)
    asked = [
        "0000:C1:00.0",
        "0000:C2:00.0",
        "0000:C3:00.0",
        "0000:C4:00.0",
        "../../../devices/pci0000:c0",
        "",
    ]

    assert await watcher(sysfs).pci_paths(asked) == {
        "0000:C1:00.0": "devices/pci0000:c0/0000:c0:01.0/0000:c1:00.0"
    }


async def test_a_sysfs_that_hangs_costs_a_deadline_and_no_more(sysfs: Sysfs) -> None:
    """A driver that does not answer holds up a thread, never the agent."""
    sysfs.add_nic("enps0")
    nics = SysfsNics(root=sysfs.root, connect=refused, deadline_s=0)

    assert "did not answer within 0 s" in (await first(nics)).trouble
    assert await nics.pci_paths(["0000:C1:00.0"]) == {}


# --- when it is read ----------------------------------------------------------------------


async def test_a_change_is_seen_by_event(
    sysfs: Sysfs, namespace: Namespace, looptime: LoopTimeProxy
) -> None:
    """Topology 5.9.8: within a second; and the poll would have come after five."""
    sysfs.add_nic("lo")
    looks = watcher(sysfs, namespace.events).looks()
    assert states(await anext(looks)) == {"lo": "up"}

    sysfs.set_operstate("lo", "down")
    namespace.turn(up=True)
    assert states(await anext(looks)) == {"lo": "down"}
    sysfs.set_operstate("lo", "up")
    namespace.turn(up=False)
    assert states(await anext(looks)) == {"lo": "up"}
    assert looptime < 1
    await looks.aclose()


async def test_a_card_that_appears_is_seen_by_event(
    sysfs: Sysfs, namespace: Namespace, looptime: LoopTimeProxy
) -> None:
    (sysfs.root / "class" / "net").mkdir(parents=True)
    (sysfs.root / "devices").mkdir(parents=True)
    looks = watcher(sysfs, namespace.events).looks()
    assert states(await anext(looks)) == {}

    sysfs.add_nic("lo")
    namespace.turn(up=True)
    assert states(await anext(looks)) == {"lo": "up"}
    sysfs.remove("lo")
    namespace.turn(up=False)
    assert states(await anext(looks)) == {}
    assert looptime < 1
    await looks.aclose()


async def test_events_of_interfaces_without_a_device_are_passed_over(
    sysfs: Sysfs, namespace: Namespace, looptime: LoopTimeProxy
) -> None:
    """Pods come and go by the dozen on a node, each with an interface of its own."""
    sysfs.add_virtual("lo")
    sysfs.add_device("ub0", operstate="up")
    looks = watcher(sysfs, namespace.events).looks()
    await anext(looks)

    sysfs.add_nic("enps0", index=2)
    namespace.turn(up=True)
    assert states(await anext(looks)) == {"enps0": "up"}
    assert looptime == 5  # by the poll
    await looks.aclose()


async def test_what_no_event_told_is_found_by_the_poll(
    sysfs: Sysfs, namespace: Namespace, looptime: LoopTimeProxy
) -> None:
    sysfs.add_nic("lo")
    looks = watcher(sysfs, namespace.events).looks()
    await anext(looks)

    sysfs.set_operstate("lo", "down")
    assert states(await anext(looks)) == {"lo": "down"}
    assert looptime == 5
    await looks.aclose()


async def test_without_events_the_poll_is_faster_and_that_is_told_once(
    sysfs: Sysfs, looptime: LoopTimeProxy, caplog: pytest.LogCaptureFixture
) -> None:
    """A change is to be known within a second, whatever this process may hear."""
    sysfs.add_nic("enps0")
    looks = watcher(sysfs).looks()
    for state in ("up", "down", "up"):
        sysfs.set_operstate("enps0", state)
        assert states(await anext(looks)) == {"enps0": state}
    assert looptime == 2
    await looks.aclose()

    assert [(r.getMessage(), vars(r)["why"]) for r in caplog.records] == [
        ("link events unavailable", "rtnetlink: Operation not permitted")
    ]


async def test_events_of_another_namespace_are_no_events(
    sysfs: Sysfs,
    namespace: Namespace,
    looptime: LoopTimeProxy,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A pod without hostNetwork hears of its own interfaces, while /sys may be the host's."""
    caplog.set_level(logging.INFO)
    sysfs.add_nic("enps0", index=4)
    looks = watcher(sysfs, namespace.events).looks()
    await anext(looks)

    sysfs.set_operstate("enps0", "down")
    assert states(await anext(looks)) == {"enps0": "down"}
    assert looptime == 1
    sysfs.remove("enps0")
    assert states(await anext(looks)) == {}
    await looks.aclose()

    assert [r.getMessage() for r in caplog.records] == [
        "link events unavailable",
        "link events available again",
    ]
    assert "hostNetwork: true" in vars(caplog.records[0])["why"]


async def test_a_card_of_the_same_name_in_another_namespace_is_another(
    sysfs: Sysfs, namespace: Namespace, caplog: pytest.LogCaptureFixture
) -> None:
    sysfs.add_nic("lo", index=12)

    await first(watcher(sysfs, namespace.events))

    assert [r.getMessage() for r in caplog.records] == ["link events unavailable"]


async def test_a_socket_that_fails_is_replaced(
    sysfs: Sysfs, namespace: Namespace, looptime: LoopTimeProxy
) -> None:
    """What happened between the two is found, since a look follows the new one."""
    sysfs.add_nic("lo")
    sockets = iter([failing, lambda: namespace.ears])
    looks = watcher(sysfs, lambda: LinkEvents(connect=next(sockets))).looks()
    await anext(looks)

    sysfs.set_operstate("lo", "down")
    assert states(await anext(looks)) == {"lo": "down"}
    assert looptime == 0
    sysfs.set_operstate("lo", "up")
    namespace.turn(up=True)
    assert states(await anext(looks)) == {"lo": "up"}
    assert looptime < 1
    await looks.aclose()


async def test_nothing_is_said_while_nothing_changes(
    sysfs: Sysfs, namespace: Namespace, looptime: LoopTimeProxy
) -> None:
    sysfs.add_nic("lo")
    looks = watcher(sysfs, namespace.events).looks()
    await anext(looks)
    namespace.turn(up=True)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(60):
            await anext(looks)
    assert looptime == 60


async def test_after_events_were_lost_everything_is_looked_at(
    sysfs: Sysfs, namespace: Namespace, looptime: LoopTimeProxy
) -> None:
    """The links they were about are not known; those of no device are no exception."""
    sysfs.add_virtual("lo")
    sysfs.add_device("ub0", operstate="up")
    namespace.ears.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    looks = watcher(sysfs, namespace.events).looks()
    await anext(looks)

    sysfs.add_nic("enps0", index=2)
    for _ in range(20):
        namespace.turn(up=True)
        namespace.turn(up=False)
    assert states(await anext(looks)) == {"enps0": "up"}
    assert looptime < 1
    await looks.aclose()


async def test_nothing_is_left_open(sysfs: Sysfs, namespace: Namespace) -> None:
    sysfs.add_nic("lo")

    await first(watcher(sysfs, namespace.events))

    assert namespace.ears.fileno() == -1


def failing() -> socket.socket:
    """Return a socket whose next reading is an error: nobody is where it sends to."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as gone:
        gone.bind(("127.0.0.1", 0))
        place = gone.getsockname()
    found = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    found.connect(place)
    found.send(b"x")
    return found
