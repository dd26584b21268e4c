"""What the doctor learns of the real API server, with a service account's own token."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from ascend_agent.doctor.answers import ClusterAnswer, ClusterFacts, ClusterTrouble, OwnNode
from ascend_agent.doctor.ask_cluster import ask_cluster
from ascend_agent.doctor.rules import required
from ascend_agent.settings import Settings
from tests.cluster.account import account, bound_pod, grant, make_node
from tests.cluster.api import Api, Json, pods_path
from tests.cluster.connected import service_account
from tests.cluster.control_plane import ControlPlane
from tests.cluster.waiting import eventually

pytestmark = pytest.mark.cluster


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """An account of a namespace of its own, and the doctor that asks with it."""

    plane: ControlPlane
    api: Api
    namespace: str
    folder: Path

    async def ask(self, **more: object) -> ClusterAnswer:
        """Return what the doctor is told."""
        given = {
            "node_name": f"node-{self.namespace}",
            "api_server": self.plane.url,
            "service_account_dir": self.folder,
        }
        return await ask_cluster(Settings.model_validate(given | more), deadline_s=20)

    async def facts(self, **more: object) -> ClusterFacts:
        """Return the same where it must be an answer."""
        answer = await self.ask(**more)
        assert isinstance(answer, ClusterFacts), answer
        return answer

    async def needed(self, *but: str) -> None:
        """Grant what the doctor's table says is needed, less the rules named."""
        rules: list[Json] = [
            {"apiGroups": [""], "resources": [rule.resource], "verbs": [rule.verb]}
            for rule in required(Settings())
            if rule.text not in but
        ]
        await grant(self.api, namespace=self.namespace, rules=rules)


@pytest.fixture
async def visitor(
    control_plane: ControlPlane, api: Api, own_namespace: str, tmp_path: Path
) -> Visitor:
    folder = await account(control_plane, tmp_path / "account", namespace=own_namespace)
    await make_node(api, f"node-{own_namespace}")
    return Visitor(plane=control_plane, api=api, namespace=own_namespace, folder=folder)


async def test_an_account_with_the_needed_rules_lacks_none(visitor: Visitor) -> None:
    await visitor.needed()

    facts = await visitor.facts()

    assert facts.version.startswith("v1.")
    assert set(facts.allowed.values()) == {True}
    assert isinstance(facts.node, OwnNode)
    assert facts.ahead_s is not None
    assert abs(facts.ahead_s) < 5  # both are this machine; the header has whole seconds
    assert facts.token_left_s is not None
    assert facts.token_left_s > 0


async def test_the_nodes_pods_are_named_by_uid(visitor: Visitor) -> None:
    await visitor.needed()
    node = f"node-{visitor.namespace}"
    made = await visitor.api.create(
        pods_path(visitor.namespace), bound_pod("on-the-node", node=node)
    )

    facts = await visitor.facts()

    assert facts.pods == {made["metadata"]["uid"]: f"{visitor.namespace}/on-the-node"}


async def test_each_rule_that_is_not_granted_is_found(visitor: Visitor) -> None:
    """Any account may ask what it may do, without a rule for that."""
    await visitor.needed("patch nodes", "watch pods")

    facts = await visitor.facts()

    denied = [text for text, allowed in facts.allowed.items() if not allowed]
    assert denied == ["patch nodes", "watch pods"]


async def test_the_rule_for_one_config_map_is_asked_for_by_its_name(visitor: Visitor) -> None:
    """A rule that names another one is none."""
    named = {"resources": ["configmaps"], "verbs": ["list", "watch"], "resourceNames": ["rules"]}
    await grant(visitor.api, namespace=visitor.namespace, rules=[{"apiGroups": [""], **named}])

    async def may(name: str) -> set[bool | None]:
        facts = await visitor.facts(fault_config_map=f"{visitor.namespace}/{name}")
        rule = f"configmaps/{name} -n {visitor.namespace}"
        return {facts.allowed[f"{verb} {rule}"] for verb in ("list", "watch")}

    async def granted() -> bool | None:
        return await may("rules") == {True} or None

    assert await eventually(granted, what="the rule in force")
    assert await may("other") == {False}


async def test_an_account_without_any_rule_is_told_the_rule_for_its_node(visitor: Visitor) -> None:
    facts = await visitor.facts()

    assert set(facts.allowed.values()) == {False}
    assert isinstance(facts.node, str)
    assert "grant list on nodes" in facts.node


async def test_a_node_of_another_cluster_is_not_there(visitor: Visitor) -> None:
    await visitor.needed()

    assert (await visitor.facts(node_name="moved-away")).node == (
        "the cluster has no node 'moved-away'"
    )


async def test_a_token_of_another_cluster_is_refused(visitor: Visitor) -> None:
    service_account(visitor.folder, "not.a.token", visitor.plane.authority)

    answer = await visitor.ask()

    assert isinstance(answer, ClusterTrouble)
    assert "401" in answer.why


async def test_a_certificate_of_another_cluster_is_refused(visitor: Visitor) -> None:
    """Without the CA the system's own decide, and they don't know the cluster."""
    (visitor.folder / "ca.crt").unlink()

    answer = await visitor.ask()

    assert isinstance(answer, ClusterTrouble)
    assert "certificate" in answer.why.lower()


async def test_a_kubeconfig_is_taken_when_told_to(visitor: Visitor, tmp_path: Path) -> None:
    kubeconfig = visitor.plane.kubeconfig(tmp_path / "kubeconfig")

    facts = await visitor.facts(kubeconfig=kubeconfig)

    assert facts.credentials == f"kubeconfig {kubeconfig}"
    assert set(facts.allowed.values()) == {True}
