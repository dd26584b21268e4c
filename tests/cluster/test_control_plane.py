"""The control plane of the tests is a real one, and behaves as scenes take for granted."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from tests.cluster.account import in_force
from tests.cluster.api import Api, ApiError, Json
from tests.cluster.control_plane import ControlPlane
from tests.cluster.credentials import BearerToken
from tools import cluster_assets

pytestmark = pytest.mark.cluster

REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


async def user(control_plane: ControlPlane, token: str) -> str:
    """Return whom the server takes the bearer of *token* for."""
    async with control_plane.api(BearerToken(token=token)) as bearer:
        review = await bearer.create(REVIEW, {"metadata": {}})
    name: str = review["status"]["userInfo"]["username"]
    return name


async def end(watch: AsyncIterator[Json]) -> str:
    """Return how the stream of a watch ends: by the protocol, or in the middle."""
    try:
        async for _ in watch:
            pass
    except aiohttp.ClientPayloadError:
        return "cut"
    return "ended"


async def test_the_server_tells_the_pinned_version(api: Api) -> None:
    """A chart's kubeVersion is compared with it, and without the linker's flags it is v0.0.0."""
    go_mod = cluster_assets.MODULES_FOLDER / "kubernetes" / "go.mod"

    version = await api.get("/version")

    assert version["gitVersion"] == cluster_assets.pinned(go_mod, "k8s.io/kubernetes")
    assert f"v{version['major']}.{version['minor']}." in version["gitVersion"]


def test_the_scenes_that_may_take_longest_come_first(request: pytest.FixtureRequest) -> None:
    """One that came last would be waited for while the other process has nothing to do."""
    scenes = [item for item in request.session.items if item.get_closest_marker("cluster")]
    markers = [scene.get_closest_marker("timeout") for scene in scenes]
    limits = [marker.args[0] for marker in markers if marker]

    assert limits == sorted(limits, reverse=True)


async def test_what_is_not_granted_is_refused(
    api: Api, control_plane: ControlPlane, own_namespace: str
) -> None:
    """RBAC is what the proof of least privilege rests on."""
    token = await control_plane.token("default", own_namespace)

    async with control_plane.api(BearerToken(token=token)) as ungranted:
        with pytest.raises(ApiError) as refusal:
            await ungranted.list("/api/v1/nodes")

    assert refusal.value.code == 403


async def test_a_grant_is_enough(api: Api, control_plane: ControlPlane, own_namespace: str) -> None:
    rule = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": own_namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": own_namespace}
    named = {"metadata": {"name": own_namespace}}
    await api.create(f"{rbac}/clusterroles", {**named, "rules": [rule]})
    await api.create(
        f"{rbac}/clusterrolebindings", {**named, "roleRef": role, "subjects": [subject]}
    )
    account = f"system:serviceaccount:{own_namespace}:default"
    await in_force(api, account, [("list", "nodes", "", "")])
    token = await control_plane.token("default", own_namespace)

    async with control_plane.api(BearerToken(token=token)) as granted:
        assert await granted.list("/api/v1/nodes") is not None
        with pytest.raises(ApiError):
            await granted.list("/api/v1/pods")


@pytest.mark.parametrize("graceful", [True, False])
async def test_a_server_that_was_restarted_has_its_address_and_its_data(
    control_plane: ControlPlane, own_namespace: str, *, graceful: bool
) -> None:
    before, first = control_plane.url, control_plane.server.pid

    await control_plane.restart_server(graceful=graceful)

    assert control_plane.url == before
    assert control_plane.server.pid != first
    async with control_plane.api() as again:
        assert await again.get(f"/api/v1/namespaces/{own_namespace}")


@pytest.mark.parametrize(("graceful", "how"), [(True, "ended"), (False, "cut")])
async def test_a_watch_ends_with_the_server(
    api: Api, control_plane: ControlPlane, *, graceful: bool, how: str
) -> None:
    """An upgrade ends the stream, a crash cuts it: a client has to live with both."""
    watch = api.watch("/api/v1/namespaces")
    await anext(watch)

    await control_plane.stop_server(graceful=graceful)

    assert await end(watch) == how


async def test_a_version_from_before_a_restart_is_gone(
    api: Api, control_plane: ControlPlane, own_namespace: str
) -> None:
    """What a client resumes from after the server's restart is too old, and 410 says so."""
    path = f"/api/v1/namespaces/{own_namespace}"
    version = (await api.get("/api/v1/namespaces"))["metadata"]["resourceVersion"]
    await api.patch(path, {"metadata": {"labels": {"newer": "yes"}}})
    await control_plane.restart_server()

    async with control_plane.api() as again:
        with pytest.raises(ApiError) as gone:
            await anext(again.watch("/api/v1/namespaces", resourceVersion=version))

    assert gone.value.code == 410


async def test_an_etcd_that_was_restarted_has_its_data(
    api: Api, control_plane: ControlPlane, own_namespace: str
) -> None:
    """While it is away the server runs on, and keeps a write waiting until it gives up."""
    path = f"/api/v1/namespaces/{own_namespace}"
    await control_plane.stop_etcd()
    with pytest.raises((ApiError, TimeoutError)):
        async with asyncio.timeout(1):
            await api.patch(path, {"metadata": {"labels": {"never": "stored"}}})

    await control_plane.start_etcd()

    assert "never" not in (await api.get(path))["metadata"]["labels"]


async def test_a_server_whose_etcd_hangs_is_not_ready(control_plane: ControlPlane) -> None:
    """It says it is, for seconds; a scene that went on then would wait for its first read."""
    control_plane.halt(control_plane.etcd)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await control_plane.until_ready()

    await control_plane.revive()

    async with control_plane.api() as api:
        assert await api.get("/api/v1/namespaces/default")


async def test_a_server_that_ends_by_itself_is_named_with_its_log() -> None:
    plane = ControlPlane(server_options=("--no-such-option",))

    with pytest.raises(Exception, match=r"(?s)kube-apiserver ended with code 1.*no-such-option"):
        await plane.__aenter__()

    assert not plane.etcd.running


async def test_every_decision_is_in_the_audit_log(
    control_plane: ControlPlane, own_namespace: str
) -> None:
    """Both the refused and the granted are, with the user's name: least privilege reads them."""
    since = control_plane.audit.position()
    token = await control_plane.token("default", own_namespace)
    async with control_plane.api(BearerToken(token=token)) as ungranted:
        with pytest.raises(ApiError):
            await ungranted.list("/api/v1/nodes")
    name = f"system:serviceaccount:{own_namespace}:default"

    event = await control_plane.audit.event(
        lambda event: event["user"]["username"] == name, since=since
    )

    assert event["verb"] == "list"
    assert event["objectRef"]["resource"] == "nodes"
    assert event["responseStatus"]["code"] == 403
    assert event["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert event in control_plane.audit_events(since=since)


async def test_a_token_of_the_server_says_who_bears_it(
    control_plane: ControlPlane, own_namespace: str
) -> None:
    """What the kubelet projects into a pod comes by the same request; each is another one."""
    first = await control_plane.token("default", own_namespace, seconds=600)
    second = await control_plane.token("default", own_namespace, seconds=600)

    assert first != second
    name = f"system:serviceaccount:{own_namespace}:default"
    assert [await user(control_plane, token) for token in (first, second)] == [name, name]


async def test_a_token_ends(control_plane: ControlPlane, own_namespace: str) -> None:
    """One made here is taken while it lasts, so it is refused for its end and nothing else."""
    fresh = await control_plane.token_ending("default", own_namespace, lasts_s=60)
    ended = await control_plane.token_ending("default", own_namespace, lasts_s=-120)

    assert (await user(control_plane, fresh)).endswith(":default")
    with pytest.raises(ApiError) as refusal:
        await user(control_plane, ended)
    assert refusal.value.code == 401


async def test_a_kubeconfig_names_authority_server_and_credential(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    bearer = BearerToken(token="abc")  # noqa: S106 -- opens nothing
    written = control_plane.kubeconfig(
        tmp_path / "config", bearer, server="https://127.0.0.1:1"
    ).read_text()

    assert str(control_plane.authority) in written
    assert "https://127.0.0.1:1" in written
    assert "token: abc" in written


async def test_a_watch_outlives_a_server_that_was_away(
    api: Api, control_plane: ControlPlane, own_namespace: str
) -> None:
    """Scenes that stop the server wait through it."""
    path = f"/api/v1/namespaces/{own_namespace}"
    looked = asyncio.Event()

    def seen(state: Json | None) -> object:
        looked.set()
        return state and state["metadata"]["labels"].get("seen")

    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(api.until(path, seen))
        await looked.wait()
        await control_plane.restart_server()
        async with control_plane.api() as again:
            await again.patch(path, {"metadata": {"labels": {"seen": "yes"}}})

    assert seen(waiting.result()) == "yes"


async def test_waiting_in_vain_shows_the_last_state(api: Api, own_namespace: str) -> None:
    path = f"/api/v1/namespaces/{own_namespace}"

    with pytest.raises(TimeoutError, match=own_namespace):
        await api.until(path, lambda state: state is None, limit_s=0.2)


async def test_a_server_that_is_stopped_still_ends(control_plane: ControlPlane) -> None:
    """SIGSTOP makes a server that hangs: connections stay open and nothing is answered."""
    control_plane.halt(control_plane.server)

    await control_plane.stop_server()

    assert not control_plane.server.running
