"""What goes wrong between the agent and the real API server, and what comes of it.

After each fault the agent shows what the server holds, and each edit was made exactly once.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ascend_agent.cluster.connection import ClusterConnection
from ascend_agent.errors import ConflictError, ForbiddenError
from ascend_agent.model.cluster import ApiPhase, NodeAnnotationRemoval, NodeEdit, PodEdit
from ascend_agent.model.ids import NodeName, PodUid
from ascend_agent.model.pods import PodKey
from tests.cluster.account import account, bound_pod, grant, make_node
from tests.cluster.api import Api, ApiError, Json, node_path, pod_path, pods_path
from tests.cluster.connected import connection, running, service_account, until
from tests.cluster.control_plane import ControlPlane
from tests.cluster.credentials import BearerToken
from tests.cluster.proxy import FaultProxy
from tests.cluster.waiting import eventually

pytestmark = pytest.mark.cluster

WATCH, PATCH = "watch=true", "PATCH"
SILENCE_S = 3.0
_REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_UNAUTHORIZED = 401


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A node with one pod, the agent's connection to it, and a proxy between the two."""

    api: Api
    namespace: str
    node: str
    proxy: FaultProxy
    cluster: ClusterConnection

    async def change(self, value: str) -> None:
        """Change the node, a pod's annotation, and which pods there are, as others would."""
        annotations = {"metadata": {"annotations": {"theirs": value}}}
        await self.api.patch(node_path(self.node), annotations)
        await self.api.patch(pod_path(self.namespace, "stays"), annotations)
        await self.api.create(pods_path(self.namespace), bound_pod(f"p{value}", node=self.node))

    async def edit(self, value: str) -> None:
        """Write to the node, as the agent would."""
        async with asyncio.timeout(30):
            await self.cluster.apply(NodeEdit(labels={"ours": value}, annotations={}))

    async def agreed(self) -> None:
        """Wait until the agent shows what the server holds."""
        own = await self.api.get(node_path(self.node))
        pods = await self.api.list(pods_path(self.namespace))
        wanted = {one["metadata"]["name"]: one["metadata"].get("annotations", {}) for one in pods}
        async with asyncio.timeout(30):
            await until(
                self.cluster.nodes(),
                lambda node: (
                    node.live
                    and node.labels == own["metadata"].get("labels", {})
                    and node.annotations == own["metadata"].get("annotations", {})
                ),
            )
            await until(
                self.cluster.pods(),
                lambda shown: (
                    shown.live
                    and {pod.key.name: dict(pod.annotations) for pod in shown.pods} == wanted
                ),
            )

    async def pod_edit(self, value: str) -> PodEdit:
        """Return an edit of the pod that stays."""
        pod = await self.api.get(pod_path(self.namespace, "stays"))
        return PodEdit(
            pod=PodKey(namespace=self.namespace, name="stays"),
            uid=PodUid(pod["metadata"]["uid"]),
            labels={},
            annotations={"given": value},
        )


@pytest.fixture
async def scene(
    api: Api, control_plane: ControlPlane, own_namespace: str, tmp_path: Path
) -> AsyncIterator[Scene]:
    node = f"node-{own_namespace}"
    await make_node(api, node)
    await grant(api, namespace=own_namespace)
    await api.create(pods_path(own_namespace), bound_pod("stays", node=node))
    folder = await account(control_plane, tmp_path / "sa", namespace=own_namespace)
    async with FaultProxy(control_plane).running() as proxy:
        one = connection(folder=folder, url=proxy.url, node=NodeName(node), silence_s=SILENCE_S)
        async with running(one):
            scene = Scene(api=api, namespace=own_namespace, node=node, proxy=proxy, cluster=one)
            await scene.agreed()
            await scene.edit("0")
            yield scene
    await api.delete(node_path(node))


async def test_streams_that_are_cut_are_resumed(scene: Scene) -> None:
    """AP-5: from the last version seen, without a list."""
    lists = scene.cluster.counts.lists
    for value in range(5):
        scene.proxy.cut()
        await scene.change(str(value))
        await scene.edit(f"e{value}")

    await scene.agreed()
    assert scene.cluster.counts.lists == lists
    assert scene.cluster.counts.broken_streams >= 5


async def test_a_half_open_peer_is_noticed(scene: Scene) -> None:
    """AP-3: nothing arrives and nothing is refused; only the silence tells."""
    scene.proxy.stall()
    await scene.change("1")
    async with asyncio.TaskGroup() as group:
        group.create_task(scene.edit("waits"))
        await until(scene.cluster.nodes(), lambda node: not node.live)
        scene.proxy.flow()

    await scene.agreed()
    own = await scene.api.get(node_path(scene.node))
    assert own["metadata"]["labels"] == {"ours": "waits"}


async def test_an_expired_version_is_answered_by_a_list(
    scene: Scene, control_plane: ControlPlane
) -> None:
    """AP-1: the view stays meanwhile. A server that has just started knows no old versions."""
    await control_plane.restart_server()
    await scene.agreed()
    before = scene.cluster.counts
    shown: set[int] = set()

    async def look() -> None:
        async for pods in scene.cluster.pods():
            shown.add(len(pods.pods))

    async with asyncio.TaskGroup() as group:
        looking = group.create_task(look())
        scene.proxy.age(times=2)
        scene.proxy.cut()
        await scene.change("1")
        await scene.agreed()
        looking.cancel()

    # What the restart itself left may still expire, for a stream is open before it is told so.
    after = scene.cluster.counts
    assert after.expired >= before.expired + 2
    assert after.lists - before.lists == after.expired - before.expired
    assert min(shown) >= 1


@pytest.mark.parametrize("code", [429, 500, 503])
async def test_a_server_that_can_not_is_asked_again(scene: Scene, code: int) -> None:
    scene.proxy.refuse(code, times=3, of=PATCH)
    scene.proxy.refuse(code, times=3, of=WATCH)
    scene.proxy.cut()

    await scene.change("1")
    await scene.edit("1")

    await scene.agreed()
    assert scene.cluster.counts.errors >= 6


async def test_retry_after_is_honoured(scene: Scene) -> None:
    """SC-1: the second attempt comes no earlier than the server asked for."""
    await asyncio.sleep(1)  # the turn after the first edit
    scene.proxy.refuse(429, times=1, of=PATCH, retry_after="2")
    started = asyncio.get_running_loop().time()

    await scene.edit("1")

    assert asyncio.get_running_loop().time() - started >= 2
    assert scene.cluster.counts.throttled == 1


async def test_an_edit_that_meets_another_is_compared_again_and_sent(scene: Scene) -> None:
    """AP-7: neither rests on a version of the object; a pod's rests on its UID alone."""
    scene.proxy.refuse(409, times=2, of=PATCH)
    await scene.edit("1")
    scene.proxy.refuse(409, times=2, of=PATCH)
    await scene.cluster.apply(await scene.pod_edit("1"))

    await scene.agreed()
    pod = await scene.api.get(pod_path(scene.namespace, "stays"))
    assert pod["metadata"]["annotations"] == {"given": "1"}


async def test_an_edit_whose_answer_is_lost_is_made_once(scene: Scene) -> None:
    """The server has it; the second attempt changes nothing, and it is nobody else's edit."""
    foreign = aiter(scene.cluster.foreign_edits())
    scene.proxy.lose_answers(2, of=PATCH)
    await scene.cluster.apply(await scene.pod_edit("1"))
    await scene.edit("1")
    before = await scene.api.get(pod_path(scene.namespace, "stays"))
    await scene.agreed()

    own = await scene.api.get(node_path(scene.node))
    assert before["metadata"]["annotations"] == {"given": "1"}
    assert own["metadata"]["labels"] == {"ours": "1"}
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await anext(foreign)


async def test_a_removal_whose_answer_is_lost_is_done(scene: Scene) -> None:
    path, lock = node_path(scene.node), {"hami.io/mutex.lock": "t,ns,p1"}
    await scene.api.patch(path, {"metadata": {"annotations": lock}})
    scene.proxy.lose_answers(1, of=PATCH)

    removal = NodeAnnotationRemoval(key="hami.io/mutex.lock", expected="t,ns,p1")
    await scene.cluster.apply(removal)
    await scene.api.patch(path, {"metadata": {"annotations": {"hami.io/mutex.lock": "t,ns,p2"}}})
    with pytest.raises(ConflictError):
        await scene.cluster.apply(removal)

    await scene.agreed()
    own = await scene.api.get(path)
    assert own["metadata"]["annotations"] == {"hami.io/mutex.lock": "t,ns,p2"}


async def test_a_slow_server_is_waited_for(scene: Scene) -> None:
    scene.proxy.delay_s = 1.0
    scene.proxy.cut()

    await scene.change("1")
    await scene.edit("1")

    await scene.agreed()


async def test_a_server_that_is_restarted_is_found_again(
    scene: Scene, control_plane: ControlPlane
) -> None:
    await control_plane.stop_server()
    down = await until(scene.cluster.states(), lambda state: state.phase is ApiPhase.UNREACHABLE)
    async with asyncio.TaskGroup() as group:
        group.create_task(scene.edit("1"))
        await control_plane.start_server()
    await scene.change("1")

    await scene.agreed()
    assert down.detail
    await until(scene.cluster.states(), lambda state: state.phase is ApiPhase.READY)


async def test_a_pod_of_the_same_name_takes_the_first_ones_place(scene: Scene) -> None:
    old = await scene.pod_edit("1")
    await scene.api.delete(pod_path(scene.namespace, "stays"), grace_s=0)
    await scene.api.create(pods_path(scene.namespace), bound_pod("stays", node=scene.node))

    with pytest.raises(ConflictError):
        await scene.cluster.apply(old)
    await scene.agreed()


async def test_a_rotated_token_is_taken_at_once(
    scene: Scene, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """AP-2: the old one is refused long before the file would be read again."""
    bad, good = "no.such.token", await control_plane.token("default", scene.namespace)
    folder = service_account(tmp_path / "other", bad, control_plane.authority)
    one = connection(folder=folder, url=scene.proxy.url, node=NodeName(scene.node))
    async with running(one):
        async with asyncio.TaskGroup() as group:  # either takes several refusals to be told
            looking = group.create_task(
                until(one.states(), lambda state: state.phase is ApiPhase.FORBIDDEN)
            )
            with pytest.raises(ForbiddenError):
                await one.apply(NodeEdit(labels={"ours": "x"}, annotations={}))
        refused = looking.result()
        (folder / "token").write_text(good + "\n")
        await one.apply(NodeEdit(labels={"ours": "y"}, annotations={}))

    assert "token" in refused.detail
    assert bad not in refused.detail
    await scene.agreed()


async def test_a_new_authority_is_taken_at_once(
    scene: Scene, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """AP-2: the file may change a moment after the server's certificate did."""
    token = await control_plane.token("default", scene.namespace)
    folder = service_account(tmp_path / "other", token)
    one = connection(folder=folder, url=scene.proxy.url, node=NodeName(scene.node))
    async with running(one):
        wrong = await until(one.states(), lambda state: state.phase is ApiPhase.UNREACHABLE)
        (folder / "ca.crt").write_bytes(control_plane.authority.read_bytes())
        async with asyncio.timeout(30):
            await until(one.states(), lambda state: state.phase is ApiPhase.READY)

    assert "certificate" in wrong.detail.lower()


async def test_a_token_that_has_ended_is_replaced_in_a_running_watch(
    scene: Scene, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """It ends with the object it is bound to, so at the test's word and not by the clock."""
    secrets = f"/api/v1/namespaces/{scene.namespace}/secrets"
    secret = await scene.api.create(secrets, {"metadata": {"name": "lasts"}})
    bound = {"kind": "Secret", "apiVersion": "v1", **_named(secret)}
    ended = await control_plane.token("default", scene.namespace, bound_to=bound)
    folder = service_account(tmp_path / "other", ended, control_plane.authority)
    one = connection(folder=folder, url=scene.proxy.url, node=NodeName(scene.node))
    async with running(one):
        await until(one.states(), lambda state: state.phase is ApiPhase.READY)
        good = await control_plane.token("default", scene.namespace)
        await scene.api.delete(f"{secrets}/lasts")
        await eventually(lambda: _refused(control_plane, ended), what="the end of the token")
        (folder / "token").write_text(good)
        scene.proxy.cut()
        await scene.change("1")
        await one.apply(NodeEdit(labels={"ours": "z"}, annotations={}))
        own = await until(one.nodes(), lambda node: node.annotations.get("theirs") == "1")

    assert own.labels["ours"] == "z"


def _named(made: Json) -> Json:
    return {key: made["metadata"][key] for key in ("name", "uid")}


async def _refused(control_plane: ControlPlane, token: str) -> bool | None:
    """Return whether the server takes *token* for nobody's: it remembers its bearer for seconds."""
    async with control_plane.api(BearerToken(token=token)) as bearer:
        try:
            await bearer.create(_REVIEW, {"metadata": {}})
        except ApiError as error:
            return error.code == _UNAUTHORIZED or None
    return None
