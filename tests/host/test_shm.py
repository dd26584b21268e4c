"""What containers write is read as far as it is an account, and never harms the reader."""

import hashlib
import os
import socket
import threading
from collections.abc import Collection
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_agent.host.shm import (
    MOST_BYTES,
    SoftFiles,
    decode_local,
    decode_registry,
)
from ascend_agent.model.ids import PhyId
from ascend_agent.model.metered import SoftReadings, SoftUsage, TurnUsage, Unread
from tests.host.shm_samples import LOCAL_BYTES, OLD_REGISTRY_BYTES, local, registry, vector

FILE = "vnpu_local_shmem"
GIB = 1 << 30


def files(tmp_path: Path) -> SoftFiles:
    return SoftFiles(root=tmp_path / "root", shared_region=tmp_path / "region", deadline_s=60)


def read(tmp_path: Path, *containers: str, npus: Collection[int] = ()) -> SoftReadings:
    """Read those files; all directories that there are, unless some are named."""
    place = tmp_path / "root" / "containers"
    names = containers or [each.name for each in place.iterdir()]
    return files(tmp_path).read(containers=names, npus=[PhyId(npu) for npu in npus])


def place(tmp_path: Path, name: str = "uid_main") -> Path:
    """Return where the container of directory *name* has its file."""
    directory = tmp_path / "root" / "containers" / name
    directory.mkdir(parents=True)
    return directory / FILE


def used(*by_npu: int) -> tuple[int, ...]:
    return (*by_npu, *[0] * (8 - len(by_npu)))


# --- the layout ----------------------------------------------------------------------------


def test_the_known_file_says_what_is_known_of_it() -> None:
    data = vector()
    digest = "3f7f8c579b54f68ed25347d033df08b2a7d127b20c371ad6d8c042b379d10a4b"
    assert hashlib.sha256(data).hexdigest() == digest

    assert decode_local(data) == SoftUsage(
        limit_bytes=30064771072, used_bytes=used(6442450944, 2147483648)
    )


def test_slots_reach_as_far_as_the_file_does() -> None:
    """A file that is being made, or an older library's, has fewer of them."""
    data = local(limit=5, processes={0: (1,), 1: (2,), 63: (4,)})

    assert decode_local(data[:1159]) is None
    assert decode_local(data[:1160]) == SoftUsage(limit_bytes=5, used_bytes=used(1))
    assert decode_local(data[:1239]) == SoftUsage(limit_bytes=5, used_bytes=used(1))
    assert decode_local(data[:1240]) == SoftUsage(limit_bytes=5, used_bytes=used(3))
    assert decode_local(data) == SoftUsage(limit_bytes=5, used_bytes=used(7))


def test_all_eight_npus_are_told() -> None:
    by_npu = tuple(range(1, 9))

    usage = decode_local(local(processes={5: by_npu}))

    assert usage is not None
    assert usage.used_bytes == by_npu


@pytest.mark.parametrize(
    "data",
    [
        local(limit=MOST_BYTES + 1),
        local(limit=2**64 - 1),
        local(processes={0: (2**63, 0), 1: (2**63, 0)}),
        local(processes={0: (MOST_BYTES,), 1: (1,)}),
        b"\xff" * LOCAL_BYTES,
    ],
)
def test_numbers_that_no_machine_has_are_no_account(data: bytes) -> None:
    with pytest.raises(ValueError, match="more memory"):
        decode_local(data)


@given(st.binary(max_size=1200) | st.binary(min_size=2848, max_size=2848))
def test_no_content_breaks_the_reader_or_grows_beyond_bounds(data: bytes) -> None:
    try:
        usage, turn = decode_local(data), decode_registry(data)
    except ValueError:
        return
    assert usage is None or max(usage.limit_bytes, *usage.used_bytes) <= MOST_BYTES
    assert turn is None or (turn.managers <= 64 and turn.waiting <= 64)


@pytest.mark.parametrize("size", [2848, OLD_REGISTRY_BYTES])
def test_both_layouts_of_turns_are_understood(size: int) -> None:
    data = registry(active=(0, 3, 63), owner=3, since_us=1_700_000_000_000_000, size=size)

    assert decode_registry(data) == TurnUsage(
        managers=3, waiting=0, turn_since_us=1_700_000_000_000_000
    )


def test_a_file_of_turns_of_another_size_says_nothing() -> None:
    assert decode_registry(registry() + b"\0") is None
    assert decode_registry(b"") is None


@pytest.mark.parametrize(
    ("head", "tail", "waiting"),
    [(0, 0, 0), (3, 5, 2), (62, 1, 3), (70, 134, 64), (2**32 - 1, 1, 2)],
)
def test_the_queue_is_as_long_as_its_ends_are_apart(head: int, tail: int, waiting: int) -> None:
    """Whether they count on, or go round as places in the ring."""
    turn = decode_registry(registry(queue=(head, tail)))

    assert turn is not None
    assert turn.waiting == waiting


@pytest.mark.parametrize(
    "data",
    [registry(queue=(0, 65)), registry(active=(0,), owner=0, since_us=2**63)],
)
def test_a_queue_or_a_time_that_can_not_be_is_no_account(data: bytes) -> None:
    with pytest.raises(ValueError, match="can't be"):
        decode_registry(data)


@pytest.mark.parametrize(("owner", "since_us"), [(1, 5), (64, 5), (2**32 - 1, 5), (0, 0)])
def test_a_turn_of_nobody_has_no_beginning(owner: int, since_us: int) -> None:
    turn = decode_registry(registry(active=(0,), owner=owner, since_us=since_us))

    assert turn == TurnUsage(managers=1, waiting=0, turn_since_us=None)


# --- the directories -----------------------------------------------------------------------


def test_where_nothing_is_nothing_is_told(tmp_path: Path) -> None:
    assert read(tmp_path, "uid_main", npus=[0]) == SoftReadings()


def test_each_container_and_each_npu_is_told(tmp_path: Path) -> None:
    place(tmp_path, "a-1_main").write_bytes(vector())
    place(tmp_path, "b-2_side_car").write_bytes(local(limit=1))
    place(tmp_path, "starts_now")
    region = tmp_path / "region"
    region.mkdir()
    (region / "12_global_registry").write_bytes(registry(active=(0,)))
    (region / "1_global_registry.tmp").write_bytes(registry(active=(0,)))

    found = read(tmp_path, npus=[0, 1, 12])

    assert set(found.containers) == {"a-1_main", "b-2_side_car"}
    assert found.containers["a-1_main"].limit_bytes == 30064771072
    assert found.turns == {12: TurnUsage(managers=1, waiting=0, turn_since_us=None)}
    assert found.unread == {}


def test_a_file_is_read_to_its_last_slot(tmp_path: Path) -> None:
    place(tmp_path).write_bytes(local(processes={0: (1,), 63: (0, 2)}))

    assert read(tmp_path, "uid_main").containers["uid_main"].used_bytes == used(1, 2)


@pytest.mark.parametrize("name", ["../other/uid_main", "/etc", ".", "..", "", "a\0b", "x" * 256])
def test_a_name_that_no_directory_of_a_container_has_leads_nowhere(
    tmp_path: Path, name: str
) -> None:
    place(tmp_path).write_bytes(vector())
    other = tmp_path / "root" / "other" / "uid_main"
    other.mkdir(parents=True)
    (other / FILE).write_bytes(vector())

    found = read(tmp_path, name, "uid_main")

    assert (set(found.containers), found.unread) == ({"uid_main"}, {})


def test_of_a_huge_file_no_more_is_read_than_its_layout_has(tmp_path: Path) -> None:
    file = place(tmp_path)
    file.write_bytes(vector())
    os.truncate(file, 1 << 40)
    region = tmp_path / "region"
    region.mkdir()
    (region / "0_global_registry").write_bytes(registry())
    os.truncate(region / "0_global_registry", 1 << 40)

    found = read(tmp_path, npus=[0])

    assert found.containers["uid_main"].limit_bytes == 30064771072
    assert found.turns == {}, "it has neither size that is known"


def test_what_is_no_regular_file_is_left_alone(tmp_path: Path) -> None:
    """A pipe would hold us up, a link would lead elsewhere, a socket can't be opened."""
    real = tmp_path / "secret"
    real.write_bytes(vector())
    os.mkfifo(place(tmp_path, "a_pipe"))
    place(tmp_path, "b_link").symlink_to(real)
    place(tmp_path, "c_directory").mkdir()
    ends = socket.socket(socket.AF_UNIX)
    # A path of a socket has 107 bytes at most.
    with ends:
        directory = os.open(place(tmp_path, "d_socket").parent, os.O_RDONLY)
        try:
            ends.bind(f"/proc/self/fd/{directory}/{FILE}")
        finally:
            os.close(directory)
    place(tmp_path, "e_device").symlink_to("/dev/zero")

    found = read(tmp_path)

    assert found.containers == {}
    assert found.unread == {Unread.UNREADABLE: 5}


def test_a_linked_directory_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / FILE).write_bytes(vector())
    place(tmp_path, "a_real").write_bytes(vector())
    (tmp_path / "root" / "containers" / "b_link").symlink_to(elsewhere)

    found = read(tmp_path)

    assert set(found.containers) == {"a_real"}
    assert found.unread == {Unread.UNREADABLE: 1}


def test_an_impossible_account_is_counted_and_the_others_are_told(tmp_path: Path) -> None:
    place(tmp_path, "a_liar").write_bytes(b"\xff" * LOCAL_BYTES)
    place(tmp_path, "b_honest").write_bytes(vector())
    region = tmp_path / "region"
    region.mkdir()
    (region / "0_global_registry").write_bytes(registry(queue=(0, 1000)))

    found = read(tmp_path, npus=[0])

    assert set(found.containers) == {"b_honest"}
    assert found.unread == {Unread.IMPLAUSIBLE: 2}


@pytest.mark.slow  # ten thousand files on whatever disk there is
def test_nothing_that_is_there_besides_keeps_an_account_from_being_told(tmp_path: Path) -> None:
    """Any container may fill the directory of turns, and older plugins left thousands of others."""
    place(tmp_path, "z_mine").write_bytes(vector())
    region = tmp_path / "region"
    region.mkdir()
    for directory, make in (
        (region, partial(os.mknod, mode=0o600)),
        (place(tmp_path).parent, os.mkdir),
    ):
        opened = os.open(directory, os.O_RDONLY)
        try:
            for number in range(5000):
                make(f"a{number}_x", dir_fd=opened)
        finally:
            os.close(opened)
    (region / "7_global_registry").write_bytes(registry(active=(0,)))

    found = read(tmp_path, "z_mine", npus=[7])

    assert (set(found.containers), set(found.turns), found.unread) == ({"z_mine"}, {7}, {})


def test_a_root_that_is_no_directory_is_counted(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "containers").write_text("")

    (tmp_path / "region").symlink_to("region")

    assert read(tmp_path, "uid_main", npus=[0]).unread == {Unread.UNREADABLE: 2}


def test_a_host_that_hangs_is_left_behind_and_asked_again_later(tmp_path: Path) -> None:
    """All that is known of the node is on the same page, and must not wait for this disk."""
    place(tmp_path).write_bytes(vector())
    disk, hung = threading.Event(), threading.Event()
    meter = SoftFiles(root=tmp_path / "root", shared_region=tmp_path / "region", deadline_s=0.02)
    ask = partial(meter.read, containers=["uid_main"], npus=[])

    def hang() -> None:
        hung.set()
        disk.wait()

    caller = threading.Thread(target=partial(meter._threads.call, hang, deadline_s=60))
    caller.start()
    try:
        hung.wait()
        late = [ask() for _ in range(2)]
    finally:
        disk.set()
        caller.join()

    assert late == [SoftReadings(unread={Unread.LATE: 1})] * 2
    while (found := ask()).unread:
        pass  # of a busy machine two hundredths of a second may be too short
    assert found.containers.keys() == {"uid_main"}


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    place(tmp_path, "a_main").write_bytes(vector())
    os.mkfifo(place(tmp_path, "b_pipe"))
    open_before = len(list(Path("/proc/self/fd").iterdir()))

    read(tmp_path)

    assert len(list(Path("/proc/self/fd").iterdir())) == open_before


def test_a_file_that_changes_while_it_is_read_tells_something_that_was_there(
    tmp_path: Path,
) -> None:
    """It is written, cut short and put in place anew all the time; nothing maps it (SIGBUS)."""
    file = place(tmp_path)
    contents = (local(limit=GIB, processes={0: (GIB,)}), local(limit=2 * GIB))
    file.write_bytes(contents[0])
    ended = threading.Event()

    def write() -> None:
        turn = 0
        while not ended.is_set():
            turn += 1
            match turn % 3:
                case 0:
                    os.truncate(file, 700)
                case 1:
                    file.write_bytes(contents[turn % 2])
                case _:
                    other = file.with_name("other")
                    other.write_bytes(contents[turn % 2])
                    other.replace(file)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(300):
            found = read(tmp_path)
            for usage in found.containers.values():
                assert usage.limit_bytes in {0, GIB, 2 * GIB}
                assert usage.used_bytes in {used(), used(GIB)}
            assert found.unread == {}
    finally:
        ended.set()
        writer.join()
