import dataclasses

import pytest

from ascend_agent.injection.resolve import (
    checked_paths,
    merge,
    paths,
    resolve,
    resolve_mounts,
)
from ascend_agent.model.allocation import (
    ContainerGrant,
    DeviceNode,
    DirectoryWant,
    HostMount,
    InjectionWants,
    MountWant,
    NodeWant,
    PathKind,
    RefusalReason,
    Refused,
    SlicePlan,
    mandatory_node,
    optional_nodes,
)
from ascend_agent.model.ids import PhyId

WANTS = InjectionWants(
    envs={"A": "1"},
    nodes=(
        mandatory_node("/dev/manager", alternative="/dev/manager_docker"),
        *optional_nodes("/dev/hdc", "/dev/svm"),
        mandatory_node("/dev/davinci0"),
    ),
    directories=(DirectoryWant(path="/dev/uburma"),),
    mounts=(MountWant(path="/opt/driver"), MountWant(path="/opt/other")),
    cdi_devices=("x/y=0",),
)
PLAIN = frozenset({"/dev/manager", "/dev/davinci0"})


def node(path: str, host: str | None = None) -> DeviceNode:
    return DeviceNode(host_path=host or path, container_path=path, permissions="rw")


def granted(
    existing: frozenset[str], entries: dict[str, tuple[str, ...]] | None = None
) -> ContainerGrant:
    grant = resolve(WANTS, existing=existing, entries=entries or {}, npus=[PhyId(0)])
    assert isinstance(grant, ContainerGrant), grant
    return grant


def test_every_path_is_asked_for_once() -> None:
    wants = InjectionWants(nodes=(*WANTS.nodes, mandatory_node("/dev/hdc")), mounts=WANTS.mounts)

    assert paths(wants) == (
        "/dev/manager",
        "/dev/manager_docker",
        "/dev/hdc",
        "/dev/svm",
        "/dev/davinci0",
        "/opt/driver",
        "/opt/other",
    )


def test_nothing_is_asked_for_where_nothing_is_wanted() -> None:
    assert paths(InjectionWants(envs={"A": "1"})) == ()


@pytest.mark.parametrize(
    ("existing", "nodes", "mounts"),
    [
        pytest.param(
            PLAIN, [node("/dev/manager"), node("/dev/davinci0")], [], id="only what must be"
        ),
        pytest.param(
            PLAIN | {"/dev/svm", "/opt/other"},
            [node("/dev/manager"), node("/dev/svm"), node("/dev/davinci0")],
            ["/opt/other"],
            id="what else there is",
        ),
        pytest.param(
            PLAIN | {"/dev/manager_docker"},
            [node("/dev/manager", "/dev/manager_docker"), node("/dev/davinci0")],
            [],
            id="the alternative comes first",
        ),
        pytest.param(
            frozenset({"/dev/manager_docker", "/dev/davinci0"}),
            [node("/dev/manager", "/dev/manager_docker"), node("/dev/davinci0")],
            [],
            id="the alternative is enough",
        ),
    ],
)
def test_a_container_gets_what_exists_now(
    existing: frozenset[str], nodes: list[DeviceNode], mounts: list[str]
) -> None:
    """IM-6: asked at each Allocate, not once at start."""
    grant = granted(existing)

    assert list(grant.nodes) == nodes
    assert [mount.host_path for mount in grant.mounts] == mounts


@pytest.mark.parametrize("existing", [set(), {"/dev/a"}, {"/dev/a2"}, {"/dev/b"}])
def test_a_needed_node_is_asked_for_and_not_handed_in(existing: set[str]) -> None:
    wants = InjectionWants(needs=(mandatory_node("/dev/a", alternative="/dev/a2"),))
    result = resolve(wants, existing=frozenset(existing), entries={}, npus=[])

    assert paths(wants) == ("/dev/a", "/dev/a2")
    if existing & {"/dev/a", "/dev/a2"}:
        assert result == ContainerGrant()
    else:
        assert isinstance(result, Refused)
        assert "/dev/a nor /dev/a2" in result.detail


def test_what_needs_no_file_is_handed_on() -> None:
    grant = granted(PLAIN)

    assert (grant.envs, grant.cdi_devices, grant.npus) == ({"A": "1"}, ("x/y=0",), (0,))


def test_mounts_are_read_only_under_their_host_name() -> None:
    assert granted(PLAIN | {"/opt/driver"}).mounts == (
        HostMount(host_path="/opt/driver", container_path="/opt/driver", read_only=True),
    )


def test_every_node_in_a_directory_is_handed_in_sorted() -> None:
    grant = granted(PLAIN, {"/dev/uburma": ("/dev/uburma/b", "/dev/uburma/a")})

    assert list(grant.nodes)[2:] == [node("/dev/uburma/a"), node("/dev/uburma/b")]


def test_a_node_wanted_twice_is_given_once() -> None:
    """Two specs in one container, or a node that also lies in a wanted directory."""
    wants = InjectionWants(
        nodes=(
            *optional_nodes("/dev/a"),
            NodeWant(host_path="/dev/b", container_path="/dev/a", mandatory=False),
        ),
        directories=(DirectoryWant(path="/dev"),),
    )
    grant = resolve(
        wants,
        existing=frozenset({"/dev/a", "/dev/b"}),
        entries={"/dev": ("/dev/a",)},
        npus=[],
    )

    assert isinstance(grant, ContainerGrant)
    assert list(grant.nodes) == [node("/dev/a")]


@pytest.mark.parametrize(
    ("existing", "texts"),
    [
        ({"/dev/manager"}, ["/dev/davinci0"]),
        ({"/dev/davinci0"}, ["/dev/manager ", "/dev/manager_docker"]),
    ],
)
def test_a_missing_mandatory_node_refuses_with_its_name(
    existing: set[str], texts: list[str]
) -> None:
    """IM-6: the pod's event says what to look for."""
    refused = resolve(WANTS, existing=frozenset(existing), entries={}, npus=[PhyId(0)])

    assert isinstance(refused, Refused)
    assert refused.reason is RefusalReason.MISSING_DEVICE_NODE
    assert not [text for text in texts if text not in refused.detail]
    assert "check that" in refused.detail


# --- mounts ---------------------------------------------------------------------------------

TOOL = MountWant(
    path="/bin/tool", container_path="/tool", alternatives=("/sbin/tool",), kind=PathKind.FILE
)
LIBRARY = MountWant(path="/opt/lib", read_only=False, mandatory=True, kind=PathKind.DIRECTORY)


def mounted(*wants: MountWant, kinds: dict[str, PathKind]) -> tuple[HostMount, ...] | Refused:
    return resolve_mounts(wants, existing=frozenset(kinds), kinds=kinds)


def test_what_a_slice_adds_comes_after_what_the_way_in_wants() -> None:
    plan = SlicePlan(envs={"B": "2"}, mounts=(LIBRARY,))
    merged = merge(WANTS, plan)

    assert list(merged.envs.items()) == [("A", "1"), ("B", "2")]
    assert merged.mounts == (*WANTS.mounts, LIBRARY)
    assert (merged.nodes, merged.cdi_devices) == (WANTS.nodes, WANTS.cdi_devices)


def test_alternatives_are_asked_for_as_well() -> None:
    assert paths(InjectionWants(mounts=(TOOL,))) == ("/bin/tool", "/sbin/tool")


def test_kinds_are_asked_for_only_where_they_matter() -> None:
    anything = MountWant(path="/must", mandatory=True)

    full = dataclasses.replace(LIBRARY, holds=("lib.so",))

    assert checked_paths((*WANTS.mounts, TOOL, anything, TOOL, full)) == (
        "/bin/tool",
        "/sbin/tool",
        "/must",
        "/opt/lib",
        "/opt/lib/lib.so",
    )


@pytest.mark.parametrize(
    ("kinds", "host_path"),
    [
        ({"/bin/tool": PathKind.FILE, "/sbin/tool": PathKind.FILE}, "/bin/tool"),
        ({"/sbin/tool": PathKind.FILE}, "/sbin/tool"),
        ({"/bin/tool": PathKind.DIRECTORY, "/sbin/tool": PathKind.FILE}, "/sbin/tool"),
    ],
)
def test_the_first_place_that_fits_is_mounted(kinds: dict[str, PathKind], host_path: str) -> None:
    """HAMi E1: a runtime left an empty directory where a tool was missing; that is no tool."""
    assert mounted(TOOL, kinds=kinds) == (
        HostMount(host_path=host_path, container_path="/tool", read_only=True),
    )


@pytest.mark.parametrize("kinds", [{}, {"/bin/tool": PathKind.DIRECTORY}])
def test_one_that_may_be_missing_is_left_out(kinds: dict[str, PathKind]) -> None:
    assert mounted(TOOL, kinds=kinds) == ()


def test_a_mandatory_one_is_mounted_as_wanted() -> None:
    assert mounted(LIBRARY, kinds={"/opt/lib": PathKind.DIRECTORY}) == (
        HostMount(host_path="/opt/lib", container_path="/opt/lib", read_only=False),
    )


@pytest.mark.parametrize(
    ("held", "state"),
    [
        (None, "/opt/lib/lib.so is missing"),
        (PathKind.DIRECTORY, "/opt/lib/lib.so is a directory, not a file"),
        (PathKind.FILE, ""),
    ],
)
def test_a_directory_must_hold_what_it_is_mounted_for(held: PathKind | None, state: str) -> None:
    """IM-7: the loader can't load what is not there, and the container runs without limits."""
    kinds = {"/opt/lib": PathKind.DIRECTORY} | ({"/opt/lib/lib.so": held} if held else {})

    found = mounted(dataclasses.replace(LIBRARY, holds=("lib.so",)), kinds=kinds)

    if state:
        assert isinstance(found, Refused)
        assert state in found.detail
    else:
        assert found == mounted(LIBRARY, kinds=kinds)


@pytest.mark.parametrize(
    ("kinds", "state"),
    [
        ({}, "/opt/lib is missing"),
        ({"/opt/lib": PathKind.FILE}, "/opt/lib is a file, not a directory"),
    ],
)
def test_a_mandatory_one_that_can_not_be_refuses_with_its_name(
    kinds: dict[str, PathKind], state: str
) -> None:
    """HAMi E1, IM-7: a container without its library would run without any limit."""
    wants = InjectionWants(mounts=(TOOL, LIBRARY))
    refused = resolve(wants, existing=frozenset(kinds), kinds=kinds, entries={}, npus=[])

    assert isinstance(refused, Refused)
    assert refused.reason is RefusalReason.MISSING_MOUNT
    assert refused.detail.startswith(state)
    assert "see the agent's log" in refused.detail


def test_of_a_mandatory_one_of_any_kind_only_its_absence_matters() -> None:
    anything = MountWant(path="/must", mandatory=True)

    assert isinstance(mounted(anything, kinds={}), Refused)
    assert isinstance(mounted(anything, kinds={"/must": PathKind.OTHER}), tuple)
