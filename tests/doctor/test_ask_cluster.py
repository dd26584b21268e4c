"""One visit to the API server, as the agent's own account and without a trace."""

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator
from email.utils import formatdate
from pathlib import Path

import pytest
from aiohttp import web

from ascend_agent.cluster.lean import load_library
from ascend_agent.doctor.answers import ClusterFacts, ClusterOff, ClusterTrouble, OwnNode
from ascend_agent.doctor.ask_cluster import ahead_s, ask_cluster, token_left_s
from ascend_agent.settings import Settings
from ascend_agent.sim.cluster import FakeApiServer, pod
from tests.cluster.connected import service_account
from tests.doctor.scene import ASCEND

NODE = {
    "metadata": {"name": "n1", "labels": {"a": "b"}, "annotations": {"c": "d"}},
    "status": {
        "capacity": {ASCEND: "8"},
        "allocatable": {ASCEND: "7"},
        "nodeInfo": {"kubeletVersion": "v1.36.3", "containerRuntimeVersion": "containerd://2.3.7"},
    },
}


class Cluster:
    """A fake API server that also knows its version, the time, and what we may do."""

    def __init__(self, server: FakeApiServer, folder: Path) -> None:
        self.server = server
        self.denied: set[str] = set()
        self.server.troubles.append(self._answer)
        self._folder = service_account(folder / "account")

    def settings(self, **more: object) -> Settings:
        given = {
            "node_name": "n1",
            "api_server": self.server.url,
            "service_account_dir": self._folder,
        }
        return Settings.model_validate(given | more)

    async def _answer(self, request: web.Request) -> web.StreamResponse | None:
        if request.path == "/version":
            return web.json_response({"gitVersion": "v1.36.3"})
        if not request.path.endswith("/selfsubjectaccessreviews"):
            return None
        asked = (await request.json())["spec"]["resourceAttributes"]
        allowed = f"{asked['verb']} {asked['resource']}" not in self.denied
        return web.json_response({"status": {"allowed": allowed}}, status=201)


@pytest.fixture(autouse=True, scope="module")
def _imported() -> None:
    """Import the client before any test's time counts."""
    load_library(kubeconfig=True)


@pytest.fixture(name="cluster")
async def _cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    async with FakeApiServer().running() as server:
        server.store.create(("nodes", None, "n1"), NODE)
        yield Cluster(server, tmp_path)


async def facts(cluster: Cluster, **more: object) -> ClusterFacts:
    answer = await ask_cluster(cluster.settings(**more), deadline_s=5)
    assert isinstance(answer, ClusterFacts), answer
    return answer


async def test_everything_comes_from_one_visit(cluster: Cluster) -> None:
    found = await facts(cluster)

    assert (found.server, found.version) == (cluster.server.url, "v1.36.3")
    assert found.credentials.startswith("service account in ")
    assert found.node == OwnNode(
        labels={"a": "b"},
        annotations={"c": "d"},
        capacity={ASCEND: "8"},
        allocatable={ASCEND: "7"},
        kubelet="v1.36.3",
        runtime="containerd://2.3.7",
    )
    assert set(found.allowed.values()) == {True}
    assert found.ahead_s is not None


async def test_the_nodes_own_pods_are_named_by_uid(cluster: Cluster) -> None:
    uids = [
        cluster.server.store.create(*pod(name, on=node))["metadata"]["uid"]
        for name, node in (("a", "n1"), ("b", "n2"))
    ]

    assert (await facts(cluster)).pods == {uids[0]: "default/a"}


async def test_pods_that_may_not_be_listed_are_no_failure_here(cluster: Cluster) -> None:
    cluster.server.store.create(*pod("a", on="n1"))
    cluster.server.refuse(403, of="/pods")
    cluster.server.troubles.reverse()

    assert (await facts(cluster)).pods == {}


async def test_nothing_is_written(cluster: Cluster) -> None:
    """A review is asked for with POST and leaves no object."""
    before = cluster.server.store.version

    await facts(cluster)

    assert cluster.server.store.version == before
    assert {method for method, _, _ in cluster.server.asked} == {"GET", "POST"}


async def test_each_rule_is_asked_for_by_itself(cluster: Cluster) -> None:
    cluster.denied = {"watch pods"}

    found = await facts(cluster)

    assert [text for text, allowed in found.allowed.items() if not allowed] == ["watch pods"]


async def test_a_rule_that_is_not_needed_is_not_asked_for(cluster: Cluster) -> None:
    found = await facts(cluster, node_labels=False, node_annotations=False)

    assert "patch nodes" not in found.allowed


async def test_a_patch_is_asked_for_on_the_own_node_alone(cluster: Cluster) -> None:
    """A rule may be granted for one name only; the others have no name to ask for."""
    await facts(cluster)

    asked = [
        body["spec"]["resourceAttributes"]
        for body in cluster.server.bodies
        if isinstance(body, dict)
    ]
    assert {one["verb"]: one.get("name") for one in asked if one["resource"] == "nodes"} == {
        "list": None,
        "watch": None,
        "patch": "n1",
    }


async def test_a_kubeconfig_is_used_when_told_to(cluster: Cluster, tmp_path: Path) -> None:
    """Never because it lies around (CF-10)."""
    path = tmp_path / "kubeconfig"
    path.write_text(
        "{apiVersion: v1, kind: Config, current-context: c, users: [{name: u, user: {token: t}}],"
        " contexts: [{name: c, context: {cluster: k, user: u}}],"
        f" clusters: [{{name: k, cluster: {{server: '{cluster.server.url}'}}}}]}}"
    )

    found = await facts(cluster, kubeconfig=path, api_server=None)

    assert found.credentials == f"kubeconfig {path}"


async def test_a_server_that_does_not_review_leaves_the_rules_unknown(cluster: Cluster) -> None:
    cluster.server.refuse(403, times=99, of="selfsubjectaccessreviews")
    cluster.server.troubles.reverse()

    assert set((await facts(cluster)).allowed.values()) == {None}


async def test_a_node_that_is_not_there_is_said(cluster: Cluster) -> None:
    """The component talked to a cluster that the node had left long ago (CF-10)."""
    assert (await facts(cluster, node_name="n9")).node == "the cluster has no node 'n9'"


async def test_a_node_that_may_not_be_read_is_said(cluster: Cluster) -> None:
    cluster.server.refuse(403, of="/nodes")
    cluster.server.troubles.reverse()

    node = (await facts(cluster)).node

    assert isinstance(node, str)
    assert "grant list on nodes" in node


async def test_credentials_that_are_refused_are_a_trouble(cluster: Cluster) -> None:
    cluster.server.refuse(401, times=9)
    cluster.server.troubles.reverse()

    answer = await ask_cluster(cluster.settings(), deadline_s=5)

    assert isinstance(answer, ClusterTrouble)
    assert "401" in answer.why
    assert "token" in answer.remedy


async def test_a_server_that_is_gone_is_a_trouble(cluster: Cluster) -> None:
    await cluster.server.stop()

    answer = await ask_cluster(cluster.settings(), deadline_s=5)

    assert isinstance(answer, ClusterTrouble)
    assert answer.server == cluster.server.url


async def test_a_server_that_says_nothing_costs_the_deadline(cluster: Cluster) -> None:
    async def silent(_: web.Request) -> web.StreamResponse | None:
        await asyncio.Event().wait()
        return None

    cluster.server.troubles.insert(0, silent)

    answer = await ask_cluster(cluster.settings(), deadline_s=5)

    assert isinstance(answer, ClusterTrouble)
    assert "within 5 s" in answer.why or "in time" in answer.why


async def test_a_missing_token_is_a_trouble_that_names_it(cluster: Cluster, tmp_path: Path) -> None:
    answer = await ask_cluster(
        cluster.settings(service_account_dir=tmp_path / "none"), deadline_s=5
    )

    assert isinstance(answer, ClusterTrouble)
    assert str(tmp_path / "none") in answer.why


async def test_without_a_node_name_nobody_is_asked() -> None:
    answer = await ask_cluster(Settings(), deadline_s=5)

    assert isinstance(answer, ClusterOff)
    assert "NODE_NAME" in answer.why


def test_the_clock_is_compared_with_the_date_of_an_answer() -> None:
    date = formatdate(1_000_000, usegmt=True)

    assert ahead_s({"date": date}, now=1_000_030) == 30
    assert ahead_s({"Date": "soon"}, now=0) is None
    assert ahead_s({"Date": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"}, now=0) is None
    assert ahead_s({}, now=0) is None


def token(claims: object) -> str:
    """Return the authorization of a token that says so, unsigned."""
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"Bearer head.{body}.c2lnbmVk"


@pytest.mark.parametrize(
    ("authorization", "left_s"),
    [
        (token({"exp": 1100}), 100.0),
        (token({"exp": 900}), -100.0),
        (token({}), None),
        (token([]), None),
        (token({"exp": 10**400}), None),
        ("Bearer opaque", None),
        ("Bearer a.b!.c", None),
        (None, None),
    ],
)
def test_a_token_says_itself_how_long_it_is_good(
    authorization: str | None, left_s: float | None
) -> None:
    assert token_left_s(authorization, now=1000) == left_s


@pytest.mark.parametrize("odd", [None, 7, "text", [], [7], {"a": 1}, [[]], [{"metadata": 7}]])
async def test_answers_of_another_form_are_answers_all_the_same(
    cluster: Cluster, odd: object
) -> None:
    """Something in between may answer in the API server's place."""

    async def answer(request: web.Request) -> web.StreamResponse | None:
        if request.path == "/version":
            return None
        return web.json_response({"items": odd, "status": odd, "metadata": odd})

    cluster.server.troubles.insert(0, answer)

    found = await facts(cluster)

    assert set(found.allowed.values()) == {None}
    assert isinstance(found.node, str) or found.node == OwnNode()


async def test_a_kubeconfig_that_is_a_pipe_holds_nobody_up(
    cluster: Cluster, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")

    answer = await ask_cluster(
        cluster.settings(kubeconfig=tmp_path / "pipe", api_server=None), deadline_s=5
    )

    assert isinstance(answer, ClusterTrouble)
    assert "no regular file" in answer.why
