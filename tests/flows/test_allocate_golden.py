"""The worked cases of HAMi's protocol, over HTTP: answer, patches and lock, byte for byte."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from ascend_agent.errors import AllocationError
from ascend_agent.model.hami import HamiState
from ascend_agent.model.pods import ContainerKind, Pod
from tests.fakes.hami import (
    CHIP_310P,
    CHIP_910C,
    container,
    device,
    info,
    pod,
    state,
)
from tests.fakes.hami_scene import OWNERLESS, PATHS, SOFT, HamiScene, hami_scene, mounts, of

SLICE, LARGE = "vir05_1c_16g", "vir10_3c_32g"


@dataclass(frozen=True, kw_only=True)
class Call:
    """One Allocate: the kubelet's ids, and what must come of it."""

    ids: Sequence[tuple[int, int]]
    envs: Mapping[str, str]
    patch: Mapping[str, str]
    soft: str | None = None
    lock_stays: bool = False


@dataclass(frozen=True, kw_only=True)
class Case:
    """A pod as the scheduler left it, and its calls."""

    pod: Pod
    calls: Sequence[Call]
    lock: str | None = None
    hami: HamiState | None = None


def visible(ids: str, **more: str) -> dict[str, str]:
    """Return the environment of an answer."""
    return {"ASCEND_VISIBLE_DEVICES": ids, **more}


def limited(ids: str, memory: int, core: int, registry: int) -> dict[str, str]:
    """Return the environment of a soft slice."""
    quota = {"NPU_MEM_QUOTA": str(memory)} if memory else {}
    priority = {"NPU_PRIORITY": str(core)} if core else {}
    return visible(
        ids,
        **quota,
        **priority,
        NPU_GLOBAL_SHM_PATH=f"/hami-shared-region/{registry}_global_registry",
        NPU_LOCAL_SHM_PATH="/hami-vnpu-shmem/vnpu_local_shmem",
    )


def left(slots: str, *, word: str = "Ascend910B3", done: bool = True) -> dict[str, str]:
    """Return the annotations of the one patch of a pod."""
    phase = {"hami.io/bind-phase": "success"} if done else {}
    return {f"hami.io/{word}-devices-to-allocate": slots, **phase}


X, Y = device(0, 16384), device(1, 32768)
FOUR = "".join(device(each, 65536) for each in (7, 6, 5, 4))
PAIR = "".join(device(each, 65536, word="Ascend910C") for each in (5, 4))

CASES = {
    "1 a template": Case(
        pod=pod("p1", f"{X};", runtime=info((0, {"temp": SLICE}))),
        lock=of("p1"),
        calls=[
            Call(ids=[(5, 2)], envs=visible("0", ASCEND_VNPU_SPECS=SLICE), patch=left(";")),
        ],
    ),
    "2 a whole card": Case(
        pod=pod("p2", f"{device(2, 65536)};", runtime=info((2, {}))),
        lock=of("p2"),
        calls=[Call(ids=[(0, 0)], envs=visible("2"), patch=left(";"))],
    ),
    "3 four whole cards": Case(
        pod=pod("p3", f"{FOUR};", runtime=info(*((each, {}) for each in (7, 6, 5, 4)))),
        lock=of("p3"),
        calls=[
            Call(ids=[(0, 0), (0, 1), (1, 3), (6, 2)], envs=visible("4,5,6,7"), patch=left(";"))
        ],
    ),
    "4 a template of a 310P": Case(
        pod=pod(
            "p4",
            f"{device(1, 6144, word='Ascend310P')};",
            runtime=info((1, {"temp": "vir02"})),
            chip=CHIP_310P,
        ),
        hami=state(CHIP_310P),
        lock=of("p4"),
        calls=[
            Call(
                ids=[(1, 6)],
                envs=visible("1", ASCEND_VNPU_SPECS="vir02"),
                patch=left(";", word="Ascend310P"),
            )
        ],
    ),
    "5 a soft slice": Case(
        pod=pod(
            "p5",
            f"{device(3, 28672, 40)};",
            runtime=info((3, {"memory": 28672, "core": 40})),
            annotations=SOFT,
            containers=[container("npu-ctr")],
        ),
        hami=state(soft=True),
        lock=of("p5"),
        calls=[
            Call(ids=[(0, 1)], envs=limited("3", 28672, 40, 3), patch=left(";"), soft="npu-ctr")
        ],
    ),
    "6 a soft slice without cores": Case(
        pod=pod(
            "p6",
            f"{device(3, 8192)};",
            runtime=info((3, {"memory": 8192})),
            annotations=SOFT,
        ),
        hami=state(soft=True),
        lock=of("p6"),
        calls=[Call(ids=[(3, 0)], envs=limited("3", 8192, 0, 3), patch=left(";"), soft="main")],
    ),
    "7 a soft slice of two": Case(
        pod=pod(
            "p7",
            f"{device(1, 32768, 50)}{device(0, 32768, 50)};",
            runtime=info(*((each, {"memory": 32768, "core": 50}) for each in (1, 0))),
            annotations=SOFT,
            containers=[container("vllm", asks=2)],
        ),
        hami=state(soft=True),
        lock=of("p7"),
        calls=[
            Call(
                ids=[(0, 0), (1, 0)],
                envs=limited("0,1", 32768, 50, 1),
                patch=left(";"),
                soft="vllm",
            )
        ],
    ),
    "8 two containers": Case(
        pod=pod(
            "p8",
            f"{X};{Y};",
            runtime=info((0, {"temp": SLICE}), (1, {"temp": LARGE})),
            containers=[container("a"), container("b")],
        ),
        lock=of("p8"),
        calls=[
            Call(
                ids=[(0, 0)],
                envs=visible("0", ASCEND_VNPU_SPECS=SLICE),
                patch=left(f";{Y};", done=False),
                lock_stays=True,
            ),
            Call(ids=[(0, 1)], envs=visible("1", ASCEND_VNPU_SPECS=LARGE), patch=left(";;")),
        ],
    ),
    "9 an init container and one without NPU": Case(
        pod=pod(
            "p9",
            f"{X};;{X};",
            runtime=info((0, {"temp": SLICE}), (0, {"temp": SLICE})),
            containers=[
                container("init-a", kind=ContainerKind.INIT),
                container("web", asks=0),
                container("main"),
            ],
        ),
        lock=of("p9"),
        calls=[
            Call(
                ids=[(0, 0)],
                envs=visible("0", ASCEND_VNPU_SPECS=SLICE),
                patch=left(f";;{X};", done=False),
                lock_stays=True,
            ),
            Call(ids=[(0, 0)], envs=visible("0", ASCEND_VNPU_SPECS=SLICE), patch=left(";;;")),
        ],
    ),
    "10 two soft containers on one device": Case(
        pod=pod(
            "p10",
            f"{device(0, 4096, 20)};{device(0, 8192, 30)};",
            runtime=info((0, {"memory": 4096, "core": 20}), (0, {"memory": 8192, "core": 30})),
            annotations=SOFT,
            containers=[container("a"), container("b")],
        ),
        hami=state(soft=True),
        lock=of("p10"),
        calls=[
            Call(
                ids=[(0, 0)],
                envs=limited("0", 4096, 20, 0),
                patch=left(f";{device(0, 8192, 30)};", done=False),
                soft="a",
                lock_stays=True,
            ),
            Call(ids=[(0, 1)], envs=limited("0", 8192, 30, 0), patch=left(";;"), soft="b"),
        ],
    ),
    "11 no mode on a soft node": Case(
        pod=pod(
            "p11",
            f"{device(4, 16384)};",
            runtime=info((4, {"temp": SLICE, "memory": 16384})),
        ),
        hami=state(soft=True),
        lock=of("p11"),
        calls=[Call(ids=[(0, 0)], envs=limited("4", 16384, 0, 4), patch=left(";"), soft="main")],
    ),
    "12 Volcano": Case(
        pod=pod(
            "p12",
            f"{device(6, 8192, 25)};",
            runtime=info((6, {"memory": 8192, "core": 25})),
            annotations=SOFT,
            containers=[container("proxy", asks=0), container("train")],
            namespace="ml",
        ),
        hami=state(soft=True),
        lock=OWNERLESS,
        calls=[Call(ids=[(0, 0)], envs=limited("6", 8192, 25, 6), patch=left(";"), soft="train")],
    ),
    "15 a lock of a pod that is gone": Case(
        pod=pod("p15", f"{X};", runtime=info((0, {"temp": SLICE}))),
        lock=of("gone"),
        calls=[Call(ids=[(0, 0)], envs=visible("0", ASCEND_VNPU_SPECS=SLICE), patch=left(";"))],
    ),
    "16 a module pair": Case(
        pod=pod(
            "p16",
            f"{PAIR};",
            runtime=info((5, {"memory": 65536}), (4, {"memory": 65536})),
            chip=CHIP_910C,
        ),
        hami=state(CHIP_910C),
        lock=of("p16"),
        calls=[
            Call(
                ids=[(0, 0), (1, 0)],
                envs=visible("4,5"),
                patch=left(";", word="Ascend910C"),
            )
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_a_worked_case_comes_out_to_the_letter(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    async with hami_scene(tmp_path, case.pod, lock=case.lock, hami=case.hami) as scene:
        for call in case.calls:
            scene.since_now()
            grant = await scene.ask(*call.ids)
            await scene.settled()

            assert grant.envs == call.envs
            assert (grant.nodes, grant.cdi_devices) == ((), ())
            assert mounts(grant) == _mounts(scene, call.soft)
            assert _pod_patches(scene) == [call.patch]
            assert scene.lock == (case.lock if call.lock_stays else None)
            await scene.seen()


async def test_a_warm_cache_costs_one_patch_of_the_pod_and_one_of_the_node(tmp_path: Path) -> None:
    case = CASES["1 a template"]
    async with hami_scene(tmp_path, case.pod, lock=case.lock) as scene:
        await scene.ask((5, 2))
        asked = list(scene.requests)
        await scene.settled()

        assert asked == ["PATCH /api/v1/namespaces/default/pods/p1"]
        assert scene.requests == [*asked, "PATCH /api/v1/nodes/node-a"]


async def test_a_request_of_another_size_fails_the_owner_of_the_lock_alone(tmp_path: Path) -> None:
    """The thirteenth case; HAMi A5, A6."""
    two = pod("p13", f"{device(0, 65536)}{device(1, 65536)};", runtime=info((0, {}), (1, {})))
    other = pod("p1", f"{device(2, 65536)}{device(3, 65536)};")
    async with hami_scene(tmp_path, two, other, lock=of("p13")) as scene:
        with pytest.raises(AllocationError, match=r"asks for 1 device.*default/p13.*chose 2"):
            await scene.ask((0, 0))
        await scene.settled()

        assert _pod_patches(scene) == [{"hami.io/bind-phase": "failed"}]
        assert scene.annotations(two)["hami.io/bind-phase"] == "failed"
        assert scene.annotations(two)["hami.io/Ascend910B3-devices-to-allocate"] != ";"
        assert scene.annotations(other)["hami.io/bind-phase"] == "allocating"
        assert scene.lock is None


async def test_a_request_of_another_size_fails_nobody_without_a_lock(tmp_path: Path) -> None:
    two = pod("p13", f"{device(0, 65536)}{device(1, 65536)};")
    async with hami_scene(tmp_path, two) as scene:
        with pytest.raises(AllocationError, match="nobody knows"):
            await scene.ask((0, 0))
        await scene.settled()

        assert scene.patches == []


async def test_a_device_of_another_node_fails_its_pod_and_frees_the_lock(tmp_path: Path) -> None:
    """The fourteenth case; AL-4."""
    far = pod("p14", f"{device(0xFFFFFFFF, 16384)};", runtime=info((0xFFFFFFFF, {"temp": SLICE})))
    async with hami_scene(tmp_path, far, lock=of("p14")) as scene:
        with pytest.raises(AllocationError, match="does not offer"):
            await scene.ask((0, 0))
        await scene.settled()

        assert _pod_patches(scene) == [{"hami.io/bind-phase": "failed"}]
        key = "hami.io/Ascend910B3-devices-to-allocate"
        assert scene.annotations(far)[key] == far.annotations[key]
        assert scene.lock is None


def _pod_patches(scene: HamiScene) -> list[object]:
    """Return the annotations that each patch of a pod sets: it sets nothing else.

    Whose and what it must be before is there besides, its UID in each.
    """
    return [_set_by(body) for path, body in scene.patches if "/pods/" in path]


def _set_by(body: object) -> dict[str, str]:
    if isinstance(body, dict):
        assert set(body) == {"metadata"}
        assert set(body["metadata"]) == {"uid", "annotations"}
        annotations: dict[str, str] = body["metadata"]["annotations"]
        return annotations
    assert isinstance(body, list)
    assert body[0]["path"] == "/metadata/uid"
    assert {step["op"] for step in body} == {"test", "add"}
    root = "/metadata/annotations/"
    changes = [step for step in body if step["op"] == "add"]
    assert all(step["path"].startswith(root) for step in changes)
    return {step["path"].removeprefix(root).replace("~1", "/"): step["value"] for step in changes}


def _mounts(scene: HamiScene, soft: str | None) -> list[tuple[str, str, bool]]:
    if soft is None:
        return []
    known = scene.bus.pods.value
    assert known is not None
    own = f"{PATHS.root}/containers/{known.pods[0].uid}_{soft}"
    return [
        *((path, path, True) for path in _SAME_PATH),
        (PATHS.root, "/hami-vnpu-core", True),
        (f"{PATHS.root}/ld.so.preload", "/etc/ld.so.preload", True),
        (PATHS.region, "/hami-shared-region", False),
        (own, "/hami-vnpu-shmem", False),
    ]


_SAME_PATH = (
    "/usr/local/bin/npu-smi",
    "/etc/ascend_install.info",
    "/usr/local/Ascend/driver/lib64/driver",
    "/usr/local/Ascend/driver/version.info",
)
