"""The whole agent, as a pod's process, on a real API server with the chart's own account.

What is refused to the agent, and what it asks for at all, is in the server's own audit log.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.agent.scene import AgentProcess, Node, node, npu, running_agent
from tests.chart.account import ChartAccount, chart_account
from tests.cluster.account import make_node
from tests.cluster.api import Api, Json, node_path
from tests.cluster.control_plane import ControlPlane
from tests.cluster.waiting import eventually

pytestmark = pytest.mark.cluster

FOUR = "preset 910B3 4"
READS = {(verb, of, "", "") for verb in ("list", "watch") for of in ("nodes", "pods")}
CHIP = "node.kubernetes.io/npu.chip.name"
UNWRITTEN = "settings.nodeLabels=false,settings.nodeAnnotations=false"
NOT_WRITTEN = ("--node-labels=false", "--node-annotations=false")
"""The Node is left alone: what the chart is told, and what the agent is."""

LASTING = 0x80818C00
"""A code that takes an NPU out of service, and that no rule about how often or how long names."""

TOO_OFTEN = 0x80E18005
"""Three times a day, and people must look at the chip."""

SEPARATED = "ascend-agent.io/manually-separated"
REASONS = "ascend-agent.io/upgrade-fault-reason"

_QUIET_S = 10
"""Long enough for what would repeat itself; a steady state has no event to wait for."""


@pytest.fixture
async def account(
    control_plane: ControlPlane, api: Api, own_namespace: str, tmp_path: Path
) -> AsyncIterator[ChartAccount]:
    """Return the account that the chart makes with its default values."""
    async with chart_account(
        control_plane, api, tmp_path / "account", namespace=own_namespace, options=()
    ) as one:
        yield one


@asynccontextmanager
async def in_pod(
    there: Node, account: ChartAccount, *options: str, name: str, healthy: int = 4
) -> AsyncIterator[AgentProcess]:
    """Run an agent that finds the API server as a process in a pod does."""
    environment = {
        "ASCEND_DOCKER_RUNTIME": "True",
        **account.environment(name),
        **there.host.environment,
    }
    async with running_agent(there.command(*account.options, *options), environment) as agent:
        await there.kubelet.event("list", healthy=healthy)
        yield agent


async def described(api: Api, name: str) -> list[Json]:
    """Return the Events that ``kubectl describe node`` shows."""
    selector = f"involvedObject.kind=Node,involvedObject.name={name}"
    found = await api.list("/api/v1/events", fieldSelector=selector)
    return sorted(found, key=lambda event: str(event["reason"]))


async def events_of(api: Api, name: str, **counts: int) -> list[Json]:
    """Wait until these are the node's Events, by reason, with these counts; return them."""

    async def told() -> list[Json] | None:
        found = await described(api, name)
        shown = [(event["reason"], event["count"]) for event in found]
        return found if shown == sorted(counts.items()) else None

    return await eventually(told, what=f"Events {counts}", limit_s=60)


async def event_of(api: Api, name: str, reason: str) -> Json:
    """Wait until the node has an Event of that reason, and return it."""

    async def told() -> Json | None:
        found = await described(api, name)
        return next((event for event in found if event["reason"] == reason), None)

    return await eventually(told, what=f"an Event {reason}", limit_s=60)


async def patched(account: ChartAccount, *, since: int) -> None:
    """Wait until the server has logged a change by the agent."""
    await account.control_plane.audit.event(
        lambda event: event["verb"] == "patch" and event["user"]["username"] == account.user,
        since=since,
    )


def annotations(found: Json | None) -> dict[str, str]:
    assert found is not None
    held: dict[str, str] = found["metadata"].get("annotations", {})
    return held


def labels(found: Json | None) -> dict[str, str]:
    assert found is not None
    held: dict[str, str] = found["metadata"].get("labels", {})
    return held


async def test_labels_are_kept_with_two_watches_and_a_patch_a_change(
    control_plane: ControlPlane,
    api: Api,
    account: ChartAccount,
    own_namespace: str,
    fake_dcmi: Path,
) -> None:
    """SC-1, AP-8, least privilege: nothing that the chart does not grant, and all that it does.

    A fault costs one request, and so does each further time.
    """
    name = f"node-{own_namespace}"
    await make_node(api, name)
    since = control_plane.audit.position()
    async with (
        node(fake_dcmi, FOUR) as there,
        in_pod(there, account, name=name) as agent,
    ):
        await api.until(node_path(name), lambda now: CHIP in labels(now))
        await agent.until(lambda status: status["api"]["phase"] == "ready")
        await patched(account, since=since)
        middle = control_plane.audit.position()
        theirs = {"metadata": {"labels": {CHIP: "theirs"}}}
        await api.patch(node_path(name), theirs)
        await agent.logged("value of ours changed by others", key=CHIP)
        found = await api.until(node_path(name), lambda now: labels(now)[CHIP] == "910B3")
        await patched(account, since=middle)
        there.host.inject(1, LASTING)
        await events_of(api, name, Occur=1)
        there.host.recover(1, LASTING)
        await events_of(api, name, Occur=1, Recovery=1)
        there.host.inject(1, LASTING)
        await events_of(api, name, Occur=2, Recovery=1)
        before = control_plane.audit.position()
        await asyncio.sleep(_QUIET_S)
        quiet = account.asked(since=before)
        status = await agent.status()

    # The server writes down what it answered a moment later.
    assert [event for event in quiet if event["objectRef"]["resource"] != "events"] == []
    assert labels(found)["servertype"] == "Ascend910B-20"
    assert status["api"]["node"]["name"] == name
    assert status["api"]["credentials"]
    events = account.asked()
    assert {event["responseStatus"]["code"] for event in events} == {200, 201}
    # A watch is logged when it begins and when it ends.
    begun = [event for event in events if event["stage"] == "ResponseStarted"]
    ended = [event for event in events if event["verb"] != "watch"]
    counts = Counter((event["verb"], event["objectRef"]["resource"]) for event in begun + ended)
    assert counts == {
        ("list", "nodes"): 1,
        ("list", "pods"): 1,
        ("watch", "nodes"): 1,
        ("watch", "pods"): 1,
        ("patch", "nodes"): 2,
        ("create", "events"): 2,
        ("patch", "events"): 1,
    }
    assert account.used() == account.granted


async def test_an_agent_that_may_write_nothing_asks_for_nothing_that_writes(
    control_plane: ControlPlane, api: Api, own_namespace: str, fake_dcmi: Path, tmp_path: Path
) -> None:
    """Without labels, annotations and Events the chart grants no patch, and none is missed."""
    name = f"node-{own_namespace}"
    await make_node(api, name)
    async with (
        chart_account(
            control_plane,
            api,
            tmp_path / "account",
            namespace=own_namespace,
            options=("--set", f"{UNWRITTEN},settings.kubernetesEvents=false"),
        ) as account,
        node(fake_dcmi, FOUR) as there,
        in_pod(there, account, *NOT_WRITTEN, "--kubernetes-events=false", name=name) as agent,
    ):
        await agent.until(lambda status: status["api"]["phase"] == "ready")
        await eventually(lambda: _used_all(account), what="a request for each rule that is granted")
        there.host.inject(1, LASTING)
        await there.kubelet.event("list", healthy=3)

        assert account.granted == account.used() == READS
        assert account.refused() == []


async def _used_all(account: ChartAccount) -> bool | None:
    return account.used() >= account.granted or None


async def test_an_api_server_that_is_restarted_finds_the_labels_kept(
    control_plane: ControlPlane,
    api: Api,
    account: ChartAccount,
    own_namespace: str,
    fake_dcmi: Path,
) -> None:
    """What somebody changed while nobody could watch is put right afterwards."""
    name = f"node-{own_namespace}"
    await make_node(api, name)
    async with (
        node(fake_dcmi, FOUR) as there,
        in_pod(there, account, name=name) as agent,
    ):
        await api.until(node_path(name), lambda now: CHIP in labels(now))
        await control_plane.stop_server()
        await agent.logged("api server unreachable")
        there.host.inject(1, LASTING)
        await there.kubelet.event("list", healthy=3)
        assert (await agent.get("/readyz"))[0] == 200
        there.host.recover(1, LASTING)
        await there.kubelet.event("list", healthy=4)
        await control_plane.start_server()
        await api.patch(node_path(name), {"metadata": {"labels": None}})
        await api.until(node_path(name), lambda now: labels(now).get(CHIP) == "910B3")
        await agent.until(lambda status: status["api"]["phase"] == "ready")
        occurred, recovered = await events_of(api, name, Occur=1, Recovery=1)

    assert occurred["firstTimestamp"] <= recovered["firstTimestamp"]


async def test_ten_flaps_of_a_fault_are_one_event_with_count_ten(
    api: Api, account: ChartAccount, own_namespace: str, fake_dcmi: Path
) -> None:
    """Issue point 8: from the library's callback to what ``kubectl describe node`` shows."""
    name = f"node-{own_namespace}"
    await make_node(api, name)
    async with (
        node(fake_dcmi, FOUR) as there,
        in_pod(there, account, name=name),
    ):
        for _ in range(10):
            there.host.inject(2, LASTING)
            await there.kubelet.event("list", healthy=3)
            there.host.recover(2, LASTING)
            await there.kubelet.event("list", healthy=4)
        occurred, recovered = await events_of(api, name, Occur=10, Recovery=10)

    assert account.refused() == []
    assert occurred["type"] == "Warning"
    assert occurred["action"] == "SeparateNPU"
    assert "assertion:Occur, cardID:2, deviceID:0, faultCodes:80818C00" in occurred["message"]
    assert recovered["type"] == "Normal"
    assert occurred["lastTimestamp"] >= occurred["firstTimestamp"]


async def test_fault_rules_come_from_a_config_map_and_bad_ones_change_nothing(
    control_plane: ControlPlane, api: Api, own_namespace: str, fake_dcmi: Path, tmp_path: Path
) -> None:
    """Faults D31: seen by the watch, refused with an Event, and the old ones stay in force."""
    name = f"node-{own_namespace}"
    await make_node(api, name)
    maps = f"/api/v1/namespaces/{own_namespace}/configmaps"
    chosen = f"{own_namespace}/rules"
    async with (
        chart_account(
            control_plane,
            api,
            tmp_path / "account",
            namespace=own_namespace,
            options=("--set", f"settings.faultConfigMap={chosen},{UNWRITTEN}"),
        ) as account,
        node(fake_dcmi, FOUR) as there,
        in_pod(there, account, *NOT_WRITTEN, "--fault-config-map", chosen, name=name) as agent,
    ):
        host, kubelet = there.host, there.kubelet
        host.inject(1, LASTING)
        await kubelet.event("list", healthy=3)
        harmless = {"faultCode.json": '{"NotHandleFaultCodes": ["80818C00"]}'}
        await api.create(maps, {"metadata": {"name": "rules"}, "data": harmless})
        await kubelet.event("list", healthy=4)
        await api.patch(f"{maps}/rules", {"data": {"faultCode.json": "{}"}})
        refused = await event_of(api, name, "FaultConfigRefused")
        host.inject(2, LASTING)
        status = await agent.until(lambda now: npu(now, 2)["faults"])
        await api.delete(f"{maps}/rules")
        await kubelet.event("list", healthy=2)
        taken = await event_of(api, name, "FaultConfigTaken")

    assert [npu(status, number)["state"] for number in range(4)] == ["healthy"] * 4
    assert (refused["type"], taken["type"]) == ("Warning", "Normal")
    assert "faultCode.json" in refused["message"]
    assert account.refused() == []
    assert account.granted - account.used() == {("patch", "events", "default", "")}


async def _remembers(there: Node, separated: str) -> bool | None:
    file = there.home / "state" / "isolation.json"
    return (file.exists() and f'"separated":"{separated}"' in file.read_text()) or None


async def test_an_isolated_npu_stays_out_over_a_restart_until_people_take_it_off_the_list(
    api: Api, account: ChartAccount, own_namespace: str, fake_dcmi: Path
) -> None:
    """W8 and W11 on a real API server: by the watch of the Node, with the chart's own rights."""
    name = f"node-{own_namespace}"
    await make_node(api, name)
    async with node(fake_dcmi, FOUR) as there:
        async with in_pod(there, account, name=name):
            for phy in (1, 1, 1, 2, 2, 2):
                there.host.notify(phy, TOO_OFTEN, assertion=2)
            both = "Ascend910-1,Ascend910-2"
            await api.until(node_path(name), lambda now: annotations(now).get(SEPARATED) == both)
            # Only what the agent has seen there can be missed later.
            await eventually(lambda: _remembers(there, both), what=f"{both} in the state file")
        there.kubelet.forget()
        theirs = {"metadata": {"annotations": {SEPARATED: "Ascend910-2"}}}
        await api.patch(node_path(name), theirs)
        async with in_pod(there, account, name=name, healthy=2) as agent:
            await there.kubelet.event("list", healthy=3)
            released = await agent.logged("npus released by hand")
            await api.patch(node_path(name), {"metadata": {"annotations": {SEPARATED: None}}})
            await there.kubelet.event("list", healthy=4)
            left = await api.until(
                node_path(name),
                lambda now: not any("ascend-agent.io" in key for key in annotations(now)),
            )

    assert released["npus"] == [1]
    assert "accelerator" in labels(left)
    assert account.refused() == []
