"""Messages as the kernel writes them, then the kernel itself in a namespace of the test's own."""

import asyncio
import socket
import struct
from collections.abc import Iterator

import pytest

from ascend_agent.host.netlink import LinkEvents, changed_links, open_link_socket
from tests.host.namespaces import Namespace, network_namespace

NEW, DELETED, ADDRESS, OVERRUN, DONE = 16, 17, 20, 4, 3
NAME, MTU, QDISC = 3, 4, 6
LO = frozenset({"lo"})


def attribute(kind: int, value: bytes) -> bytes:
    length = 4 + len(value)
    return struct.pack("=HH", length, kind) + value + bytes(-length % 4)


def message(kind: int, *attributes: bytes, index: int = 7) -> bytes:
    body = struct.pack("=BxHiII", 0, 1, index, 1, 0) + b"".join(attributes)
    return struct.pack("=IHHII", 16 + len(body), kind, 0, 0, 0) + body


def named(kind: int, name: str) -> bytes:
    before = attribute(MTU, bytes(4)), attribute(QDISC, b"mq\0")
    return message(kind, *before, attribute(NAME, name.encode() + b"\0"))


@pytest.fixture
def namespace() -> Iterator[Namespace]:
    try:
        with network_namespace() as made:
            yield made
    except PermissionError:
        pytest.skip("this user may not make a network namespace")


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (named(NEW, "enps0"), {"enps0"}),
        (named(DELETED, "enps0"), {"enps0"}),
        (named(NEW, "enps0") + named(NEW, "en1") + named(NEW, "enps0"), {"enps0", "en1"}),
        (named(ADDRESS, "enps0"), set()),
        (message(DONE) + named(NEW, "b"), {"b"}),
        (message(NEW), set()),
        (message(NEW, attribute(NAME | 0x8000, b"x\0")), {"x"}),
        (b"", set()),
        (named(NEW, "a")[:-9], set()),
        (named(NEW, "a") + b"\x05\0\0\0" + bytes(12), {"a"}),
        (named(NEW, "a") + b"\xff" * 20, {"a"}),
        (bytes(32), set()),
        (struct.pack("=IHHII", 17, DONE, 0, 0, 0) + bytes(4) + named(NEW, "a"), {"a"}),
        (message(NEW, b"\x02\0\x03\0"), set()),
        (message(NEW, b"\xff\xff\x03\0abc\0"), set()),
        (message(NEW, attribute(NAME, b"\xff\xfe")), {"\ufffd\ufffd"}),
        (struct.pack("=IHHII", 16, NEW, 0, 0, 0), set()),
    ],
)
def test_the_links_a_message_is_about(data: bytes, names: set[str]) -> None:
    """The last ones are no messages of any kernel: they are read as far as they make sense."""
    assert changed_links(data) == frozenset(names)


def test_a_message_that_tells_of_losses_is_about_everything() -> None:
    assert changed_links(named(NEW, "a") + message(OVERRUN)) is None


async def test_a_link_that_turns_is_named_at_once(namespace: Namespace) -> None:
    """The kernel, not a clock, says when to look."""
    events = namespace.events()

    namespace.turn(up=True)
    assert await events.next() == LO
    events.drain()
    namespace.turn(up=False)
    assert await events.next() == LO


async def test_several_changes_are_taken_together(namespace: Namespace) -> None:
    events = namespace.events()
    namespace.turn(up=True)
    namespace.turn(up=False)

    assert events.drain() == LO


async def test_a_wait_that_was_given_up_loses_nothing(namespace: Namespace) -> None:
    events = namespace.events()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(5):
            await events.next()
    namespace.turn(up=True)

    assert await events.next() == LO


@pytest.mark.parametrize("way", ["next", "drain"])
async def test_changes_that_were_too_many_to_keep_are_told_as_such(
    namespace: Namespace, way: str
) -> None:
    """ENOBUFS: the kernel dropped messages, and nobody knows about which links."""
    namespace.ears.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    events = namespace.events()
    for _ in range(20):
        namespace.turn(up=True)
        namespace.turn(up=False)

    assert (await events.next() if way == "next" else events.drain()) is None
    namespace.turn(up=True)
    assert events.drain() != frozenset()


async def test_nobody_but_the_kernel_is_heard(namespace: Namespace) -> None:
    """Any process that may send such messages could else keep the agent busy."""
    events = namespace.events()
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as stranger:
        stranger.bind((0, 0))
        ours = open_link_socket()
        stranger.sendmsg([named(NEW, "enps0")], [], 0, ours.getsockname())
        told = LinkEvents(connect=lambda: ours)

        assert await told.next() == frozenset()
        told.close()
    events.close()


async def test_a_link_has_the_number_it_has_in_its_namespace(namespace: Namespace) -> None:
    """How an agent in a namespace of its own finds out that it does not hear of the host's."""
    events = namespace.events()

    assert events.index_of("lo") == 1
    assert events.index_of("eth0") is None
    assert events.index_of("enps0") is None


async def test_a_socket_that_is_closed_is_an_error_and_not_a_change() -> None:
    events = LinkEvents()
    events.close()

    with pytest.raises(OSError, match="Bad file descriptor"):
        events.drain()


class Telling(socket.socket):
    """A socket on which the kernel says the same again and again."""

    def __init__(self, said: bytes) -> None:
        super().__init__(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._said = said

    def recvfrom(self, bufsize: int, flags: int = 0, /) -> tuple[bytes, tuple[int, int]]:
        return self._said, (0, 0)


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(named(NEW, "lo"), id="changes without end"),
        pytest.param(message(OVERRUN), id="some were lost"),
    ],
)
def test_what_can_not_be_taken_together_is_about_any_link(said: bytes) -> None:
    """A storm must not hold the loop up for ever."""
    events = LinkEvents(connect=lambda: Telling(said))

    assert events.drain() is None
    events.close()
